"""The matrix of hard cases, and one run of a variant on the GPU outside the engine: no timing, only the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpubench.engine.buffers import Operands, Pristine
from gpubench.errors import ParameterError, UnsupportedError
from gpubench.layout import Layout
from gpubench.measure.check import check
from gpubench.model import Case, Check, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant
from tests.operators.cases import make_case

if TYPE_CHECKING:
    from gpubench.devices.base import Device

SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (1,),
    (5,),
    (1009,),
    (4, 0, 3),
    (1, 7, 1),
    (17, 129, 9),
    (3, 2053),
    (65, 64),
)
"""Empty, 0-d, one element, primes, size-1 dims, rows and columns longer and shorter than a warp and a block."""

MORE_SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    # columns long enough for blocks to share, two of them and a strip's worth; rows for several tiles of one block
    "cumsum": ((2000, 2), (3001, 64), (3, 70_001)),
}
"""What some variants of an operator need before they take a case."""


def layouts(shape: tuple[int, ...]) -> Iterator[Layout]:
    """Yield the layouts that every operand meets: contiguous, reversed dims, gaps, a broadcast dim, misaligned."""
    yield Layout()
    yield Layout(offset=1)
    if len(shape) > 1:
        yield Layout(permute=tuple(reversed(range(len(shape)))))
        yield Layout(expand=(0,))
        yield Layout(permute=tuple(reversed(range(len(shape)))), step=2, offset=3)
    if shape:
        yield Layout(step=3)


def cases(operator: str, dtype: str) -> Iterator[Case]:
    """Every hard case of an operator for a dtype; combinations that have no meaning are left out."""
    for shape in (*SHAPES, *MORE_SHAPES.get(operator, ())):
        for layout in layouts(shape):
            for params in _params(operator, shape, layout):
                for distribution in ("normal", "with_nonfinite") if layout == Layout() else ("normal",):
                    try:
                        case = make_case(operator, dtype, distribution, **params)
                        OPERATORS[operator].problem(case)
                    except UnsupportedError:
                        continue
                    yield case


def _wish(layout: Layout) -> dict[str, Any]:
    return {**asdict(layout), "permute": layout.permute and list(layout.permute), "expand": list(layout.expand)}


def _params(operator: str, shape: tuple[int, ...], layout: Layout) -> Iterator[dict[str, Any]]:
    wish = _wish(layout)
    dims = range(len(shape)) or (0,)
    if operator == "cumsum":
        yield from ({"shape": list(shape), "dim": dim, "layout": wish} for dim in dims)
    elif operator == "sum":
        yield {"shape": list(shape), "dim": "all", "layout": wish}
        yield from ({"shape": list(shape), "dim": [dim], "keepdim": dim == 0, "layout": wish} for dim in dims)
        if len(shape) == 3:
            yield {"shape": list(shape), "dim": [0, 2], "layout": wish}
    elif operator == "index_add":
        for dim in dims:
            for count, pattern in ((0, "uniform"), (7, "same"), (40, "uniform"), (33, "sorted")):
                if shape and shape[dim] and not layout.expand:
                    yield {"shape": list(shape), "dim": dim, "indices": count, "pattern": pattern, "layout": wish}


FUNCTIONS = ("copy", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "sin", "tanh", "sigmoid", "relu", "gelu", "silu")
PAIRS = ("add", "sub", "mul", "div", "maximum", "minimum", "pow")
TRIPLES = ("addcmul", "where", "lerp", "clamp")


def elementwise_cases(dtype: str) -> Iterator[Case]:
    """Every function on the plain case; every layout, broadcast and hard shape on one function of each arity."""
    wishes: list[dict[str, Any]] = [{"function": name, "shape": [1009]} for name in (*FUNCTIONS, *PAIRS, *TRIPLES)]
    for name in ("neg", "add", "addcmul"):
        wishes += [{"function": name, "shape": list(shape)} for shape in SHAPES]
    for shape in SHAPES:
        for layout in layouts(shape):
            one = {"shape": list(shape), "layout": _wish(layout)}
            wishes.append({"function": "add", "inputs": [one, {"shape": list(shape)}]})
            wishes.append({"function": "copy", "inputs": [one]})
    wishes += [
        {"function": "add", "inputs": [{"shape": [17, 129]}, {"shape": [129]}]},
        {"function": "mul", "inputs": [{"shape": [17, 1]}, {"shape": [1, 129]}]},
        {"function": "sub", "inputs": [{"shape": [17, 129]}, {"shape": []}]},
    ]
    wishes += [
        {"function": "copy", "shape": [1009], "out_dtype": out} for out in ("float16", "bfloat16", "int32", "float64")
    ]
    for wish in wishes:
        for distribution in ("normal", "with_nonfinite"):
            try:
                case = make_case("elementwise", dtype, distribution, **wish)
                OPERATORS["elementwise"].problem(case)
            except (ParameterError, UnsupportedError):
                continue
            yield case


def answer(device: Device, case: Case, variant: Variant) -> Check | str:
    """Run a variant once on a case and check what it wrote; the reason when it does not take the case."""
    operator = OPERATORS[case.operator]
    problem = operator.problem(case)
    plan = variant.plan(problem, device.info)
    if isinstance(plan, Refused):
        return plan.reason
    inputs = operator.inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=False)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    device.bind(plan, operands.addresses, operands.workspace).run()
    device.synchronize()
    return check(problem, operator.reference(problem, inputs), plan.accuracy, operands.output())
