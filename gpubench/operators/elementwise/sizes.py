"""The names that a suite may use for an elementwise function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.sizes import Size

SCALARS = tuple(dict.fromkeys(name for function in FUNCTIONS.values() for name in function.scalars))


def _scalar(name: str) -> Callable[[Problem[Any]], float]:
    return lambda problem: float(problem.params.scalars.get(name, 0.0))


def _is_flat(problem: Problem[Any]) -> int:
    shape = problem.operand("y").view.shape
    return int(all(operand.view.shape == shape and operand.view.is_contiguous for operand in problem.operands))


SIZES: Mapping[str, Size] = {
    "n": Size("elements of y", lambda problem: problem.operand("y").view.size),
    "inputs": Size("operands that are read: a, b, c", lambda problem: len(problem.operands) - 1),
    "function": Size("the function, a word: function == add", lambda problem: str(problem.params.function)),
    "flat": Size("1 where no operand is broadcast and all are contiguous", _is_flat),
    **{name: Size("the function's constant of this name, 0 where it has none", _scalar(name)) for name in SCALARS},
}
