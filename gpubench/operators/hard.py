"""Hard cases: what an operator gives the tests to hold its variants to, on the simulator and on a GPU.

Each operator has its own (`Operator.hard`); here is what they share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpubench.errors import ParameterError, UnsupportedError
from gpubench.model import Case, Distribution, Json
from gpubench.operators.base import Hard as Hard
from gpubench.operators.base import Operator
from gpubench.operators.parameters import to_json

Shape = tuple[int, ...]
TRANSPOSED: dict[str, Json] = {"permute": [1, 0]}

SHAPES: tuple[Shape, ...] = ((), (0,), (1,), (5,), (1009,), (4, 0, 3), (1, 7, 1), (17, 129, 9), (3, 2053), (65, 64))
"""Empty, 0-d, one element, primes, size-1 dims, rows and columns longer and shorter than a warp and a block."""


def layouts(shape: Shape) -> list[dict[str, Json]]:
    """Return layouts that fit a shape: contiguous (the first), misaligned, reversed dims, a broadcast dim, gaps."""
    found: list[dict[str, Json]] = [{}, {"offset": 1}]
    if len(shape) > 1:
        reversed_dims = list(reversed(range(len(shape))))
        found += [{"permute": reversed_dims}, {"expand": [0]}, {"permute": reversed_dims, "step": 2, "offset": 3}]
    return [*found, {"step": 3}] if shape else found


def with_layouts(*more: Shape) -> Iterator[tuple[Shape, dict[str, Json], tuple[Distribution, ...]]]:
    """Yield each of SHAPES and `more` in each of its layouts; contiguous ones also with NaN and infinity."""
    for shape in (*SHAPES, *more):
        for layout in layouts(shape):
            yield shape, layout, ("normal",) if layout else ("normal", "with_nonfinite")


def hard_cases(operator: Operator[Any], dtype: str, *, large: bool = False) -> list[Case]:
    """Return the operator's hard cases that have a meaning for the dtype. large: those for a GPU."""
    cases = []
    for number, (params, distribution) in enumerate(operator.hard(large), 1):
        try:
            case = make_case(operator, dtype, params, distribution, number)
            operator.problem(case)
        except (UnsupportedError, ParameterError):  # no meaning in this dtype, or a constant that it does not hold
            continue
        cases.append(case)
    return cases


def make_case(
    operator: Operator[Any],
    dtype: str,
    params: Mapping[str, Json],
    distribution: Distribution = "normal",
    seed: int = 1,
) -> Case:
    """Return the case of these params, normalised as the suite's reader does it. ParameterError, UnsupportedError."""
    normal = operator.normalise(operator.parse(params), dtype)
    return Case(operator.label(normal, dtype), operator.name, dtype, to_json(normal), distribution, seed)
