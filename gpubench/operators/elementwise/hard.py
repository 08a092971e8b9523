"""The hard cases of `elementwise`; a new function meets them by its row in the table."""

from __future__ import annotations

from collections.abc import Iterator

from gpubench.model import Json
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.hard import SHAPES, TRANSPOSED, Hard, Shape, with_layouts


def small() -> Iterator[Hard]:
    """Yield cases small enough for the simulator: every function, shapes, layouts, broadcasts, casts."""
    for function in FUNCTIONS:
        yield Hard({"function": function, "shape": (257,)})
    flat: tuple[Shape, ...] = ((), (0,), (1,), (1009,), (3, 0, 4))
    for shape in flat:
        yield Hard({"function": "add", "shape": shape})
    for layout in (TRANSPOSED, {"step": 2}, {"offset": 1}, {"expand": (0,)}, {"expand": (0, 1)}):
        yield Hard({"function": "mul", "inputs": ({"shape": (37, 66), "layout": layout}, {"shape": (37, 66)})})
    pairs: tuple[tuple[Shape, Shape], ...] = (
        ((5, 1, 7), (3, 1)),
        ((66,), (37, 1)),
        ((1,), (33, 5)),
        ((4, 1, 3, 1, 2), (1, 5, 1, 6, 2)),
    )
    for pair in pairs:
        yield Hard({"function": "sub", "inputs": [{"shape": shape} for shape in pair]})
    for target in ("uint8", "int32", "float16", "bfloat16", "float64", "complex64"):
        yield Hard({"function": "copy", "shape": (259,), "out_dtype": target})
    for function in ("neg", "abs"):  # of the least integer, which stays what it is in a wider dtype
        yield Hard({"function": function, "shape": (257,), "out_dtype": "int32"}, "with_nonfinite")
    yield Hard({"function": "add", "inputs": ({"shape": (100,)}, {"shape": (100,), "dtype": "float32"})})
    yield Hard({"function": "maximum", "shape": (501,)}, "with_nonfinite")


def large() -> Iterator[Hard]:
    """Yield every function on the plain case; every layout, broadcast and hard shape on some; all with NaN, too."""
    wishes: list[dict[str, Json]] = [{"function": name, "shape": [1009]} for name in FUNCTIONS]
    for name in ("neg", "add", "addcmul"):
        wishes += [{"function": name, "shape": shape} for shape in SHAPES]
    for shape, layout, _ in with_layouts():
        one = {"shape": shape, "layout": layout}
        wishes += [{"function": "add", "inputs": [one, {"shape": shape}]}, {"function": "copy", "inputs": [one]}]
    pairs: tuple[tuple[str, Shape, Shape], ...] = (
        ("add", (17, 129), (129,)),
        ("mul", (17, 1), (1, 129)),
        ("sub", (17, 129), ()),
    )
    wishes += [{"function": name, "inputs": [{"shape": a}, {"shape": b}]} for name, a, b in pairs]
    wishes += [
        {"function": "copy", "shape": [1009], "out_dtype": out} for out in ("float16", "bfloat16", "int32", "float64")
    ]
    for wish in wishes:
        yield Hard(wish)
        yield Hard(wish, "with_nonfinite")
