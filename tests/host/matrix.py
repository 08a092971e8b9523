"""Hard cases for every operator, small enough for the simulator. New variants meet them with no change here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpubench.dtypes import DTYPES
from gpubench.errors import ParameterError, UnsupportedError
from gpubench.model import Case
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.functions import FUNCTIONS
from tests.operators.cases import make_case

Shape = tuple[int, ...]

TRANSPOSED = {"permute": (1, 0)}


class Hard(NamedTuple):
    """Parameters of a case, and the distribution of its inputs."""

    params: dict[str, Any]
    distribution: str = "normal"


def _cumsum() -> Iterator[Hard]:
    flat: tuple[Shape, ...] = ((), (0,), (1,), (31,), (33,), (1009,), (2049,), (3, 0, 4), (1, 1, 1))
    for shape in flat:
        yield Hard({"shape": shape})
    wanted: tuple[tuple[Shape, Shape], ...] = (
        ((65, 131), (0, 1)),
        ((3, 1, 257), (0, 1, 2)),
        ((5, 33, 7), (0, 1, 2)),
        ((2, 1500), (1,)),
        ((1500, 2), (0,)),
    )
    for shape, dims in wanted:
        for dim in dims:
            yield Hard({"shape": shape, "dim": dim})
    for layout in (TRANSPOSED, {"step": 2}, {"offset": 1}, {"offset": 3}, {"expand": (0,)}, {"expand": (1,)}):
        for dim in (0, 1):
            yield Hard({"shape": (37, 66), "dim": dim, "layout": layout})
    yield Hard({"shape": (9, 300), "dim": 1}, "with_nonfinite")
    yield Hard({"shape": (300, 9), "dim": 0}, "with_nonfinite")
    yield Hard({"shape": (4000,)}, "integers")


def _sum() -> Iterator[Hard]:
    flat: tuple[Shape, ...] = ((), (0,), (1,), (31,), (1009,), (5000,), (4, 0, 3))
    for shape in flat:
        yield Hard({"shape": shape})
    wanted: tuple[tuple[Shape, tuple[Shape, ...]], ...] = (
        ((4, 0, 3), ((0,), (1,), (2,), (1, 2))),
        ((65, 131), ((0,), (1,))),
        ((2, 3, 4, 5), ((1,), (0, 2), (1, 3), (0, 2, 3))),
        ((7, 16, 9), ((0, 2), (1,), ())),
        ((1, 1, 3000), ((2,), (0,))),
        ((3000, 1, 2), ((0,),)),
        ((2, 2, 2, 2, 2, 2), ((0, 2, 4), (1, 3, 5))),
    )
    for shape, dims in wanted:
        for dim in dims:
            yield Hard({"shape": shape, "dim": dim, "keepdim": len(dim) == 2})
    for layout in (TRANSPOSED, {"step": 3}, {"offset": 1}, {"offset": 5}, {"expand": (0,)}, {"expand": (1,)}):
        yield Hard({"shape": (37, 66), "dim": 0, "layout": layout})
        yield Hard({"shape": (37, 66), "dim": 1, "layout": layout})
    yield Hard({"shape": (9, 300), "dim": 1}, "with_nonfinite")
    yield Hard({"shape": (4000,)}, "integers")


def _elementwise() -> Iterator[Hard]:
    for function in FUNCTIONS:
        yield Hard({"function": function, "shape": (257,)})
    for shape in ((), (0,), (1,), (1009,), (3, 0, 4)):
        yield Hard({"function": "add", "shape": shape})
    for layout in (TRANSPOSED, {"step": 2}, {"offset": 1}, {"expand": (0,)}, {"expand": (0, 1)}):
        yield Hard({"function": "mul", "inputs": ({"shape": (37, 66), "layout": layout}, {"shape": (37, 66)})})
    for shapes in (((5, 1, 7), (3, 1)), ((66,), (37, 1)), ((1,), (33, 5)), ((4, 1, 3, 1, 2), (1, 5, 1, 6, 2))):
        yield Hard({"function": "sub", "inputs": tuple({"shape": shape} for shape in shapes)})
    for target in ("uint8", "int32", "float16", "bfloat16", "float64", "complex64"):
        yield Hard({"function": "copy", "shape": (259,), "out_dtype": target})
    yield Hard({"function": "add", "inputs": ({"shape": (100,)}, {"shape": (100,), "dtype": "float32"})})
    yield Hard({"function": "maximum", "shape": (501,)}, "with_nonfinite")


def _index_add() -> Iterator[Hard]:
    patterns = ("uniform", "zipf", "sorted", "same", {"below": 3}, {"duplicates": 4})
    for number, pattern in enumerate(patterns):
        yield Hard(
            {"shape": (61, 17), "indices": 150, "pattern": pattern, "index_dtype": ("int64", "int32")[number % 2]}
        )
    for shape, dim, indices in (
        ((1,), 0, 1),
        ((1000,), 0, 3),
        ((1009, 3), 0, 500),
        ((10, 4), 0, 0),
        ((7, 33, 5), 1, 40),
        ((2, 129), 1, 15),
        ((2, 129), 1, 17),
        ((3, 0, 4), 0, 5),
        ((300, 64), 0, 16),
    ):
        yield Hard({"shape": shape, "dim": dim, "indices": indices, "alpha": -1.0})
    yield Hard({"shape": (33, 20), "indices": 64, "layout": TRANSPOSED})
    yield Hard({"shape": (33, 20), "indices": 64, "layout": {"offset": 1}, "source_layout": {"step": 2, "offset": 3}})
    yield Hard({"shape": (33, 20), "dim": 1, "indices": 64, "alpha": 2.0, "source_layout": {"permute": (1, 0)}})


HARD = {"cumsum": _cumsum, "sum": _sum, "elementwise": _elementwise, "index_add": _index_add}


def hard_cases(operator: str, dtype: str) -> list[Case]:
    """Return the cases of an operator that have a meaning for a dtype."""
    cases = []
    for number, hard in enumerate(HARD[operator]()):
        distribution = hard.distribution
        if distribution == "with_nonfinite" and DTYPES[dtype].kind == "integer":
            distribution = "normal"
        try:
            case = make_case(operator, dtype, distribution, seed=number + 1, **hard.params)
            OPERATORS[operator].problem(case)
        except (UnsupportedError, ParameterError):  # no meaning in this dtype, or a constant that it does not hold
            continue
        cases.append(case)
    return cases
