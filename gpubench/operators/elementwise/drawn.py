"""Random cases of `elementwise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpubench.model import Json
from gpubench.operators.drawing.numbers import Numbers
from gpubench.operators.drawing.shapes import Shape, draw_layout, draw_shape
from gpubench.operators.drawing.wishes import Wishes
from gpubench.operators.elementwise.functions import FUNCTIONS

NAMES = (
    *("copy", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "tanh", "sigmoid", "relu", "gelu", "silu", "clamp"),
    *("add", "sub", "mul", "div", "maximum", "minimum", "pow", "lerp", "addcmul", "where"),
)
"""What is drawn from where a suite names no function. Written out, for a new function must not change the old cases."""
DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
"""The other dtypes of casts."""


def draw(numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return params: a function, its operands, some broadcast, a cast now and then. What is given stays."""
    function = given.get("function", numbers.of("function").choice(NAMES))
    drawn: dict[str, Json] = {"function": function}
    if "inputs" not in given:
        shape = tuple(given["shape"]) if "shape" in given else draw_shape(numbers.of("shape"), wishes)
        drawn["inputs"] = _operands(numbers, wishes, shape, given.get("layout"), FUNCTIONS[function].arity)
    casts = numbers.of("cast")
    if "out_dtype" not in given and casts.chance(wishes.casts):
        _cast(casts, drawn, FUNCTIONS[function].masks)
    spelt_out = () if "inputs" in given else ("shape", "layout")
    return {**drawn, **{name: value for name, value in given.items() if name not in spelt_out}}


def _operands(numbers: Numbers, wishes: Wishes, shape: Shape, layout: Json, count: int) -> list[dict[str, Json]]:
    """Return the operands: one of them is whole, the others may be broadcast; `layout` is that of every operand."""
    whole = numbers.of("whole").below(count)
    operands = []
    for number in range(count):
        mine = numbers.of(f"operand {number}")
        broadcast = number != whole and mine.chance(wishes.broadcasts)
        sizes = _part(mine, shape) if broadcast else shape
        operands.append({"shape": list(sizes), "layout": layout or draw_layout(mine.of("layout"), wishes, sizes)})
    return operands


def _part(numbers: Numbers, shape: Shape) -> Shape:
    """Return a shape that broadcasts to this one: some dims of size 1, or those in front left out."""
    if not shape:
        return ()
    if numbers.chance(0.5):
        return shape[numbers.between(1, len(shape)) :]
    ones = numbers.sample(range(len(shape)), numbers.between(1, len(shape)))
    return tuple(1 if dim in ones else size for dim, size in enumerate(shape))


def _cast(numbers: Numbers, drawn: dict[str, Json], masks: int) -> None:
    """Give the result another dtype, or one of several operands."""
    operands: Sequence[dict[str, Json]] = drawn.get("inputs", ())
    if len(operands) - masks < 2 or numbers.chance(0.5):
        drawn["out_dtype"] = numbers.choice(DTYPES)
    else:
        operands[numbers.between(masks, len(operands) - 1)]["dtype"] = numbers.choice(DTYPES)
