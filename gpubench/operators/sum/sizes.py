"""The names that a suite may use for a sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.operators.sizes import Size, product


def _shape(problem: Problem[Any]) -> tuple[int, ...]:
    return problem.operand("x").view.shape


def _dims(problem: Problem[Any]) -> tuple[int, ...]:
    dims: tuple[int, ...] = problem.params.dim
    return dims


def _row_size(problem: Problem[Any]) -> int:
    return product(tuple(_shape(problem)[dim] for dim in _dims(problem)))


def _inner(problem: Problem[Any]) -> int:
    return product(_shape(problem)[_dims(problem)[-1] + 1 :]) if _dims(problem) else 1


def _outer(problem: Problem[Any]) -> int:
    return product(_shape(problem)[: _dims(problem)[0]]) if _dims(problem) else problem.operand("x").view.size


def _adjacent(problem: Problem[Any]) -> int:
    dims = _dims(problem)
    return int(not dims or dims == tuple(range(dims[0], dims[-1] + 1)))


SIZES: Mapping[str, Size] = {
    "n": Size("elements of x", lambda problem: problem.operand("x").view.size),
    "row_size": Size("elements that one sum adds", _row_size),
    "rows": Size("sums: elements of y", lambda problem: problem.operand("y").view.size),
    "outer": Size("product of the sizes before the first dim that is summed", _outer),
    "inner": Size("product of the sizes behind the last dim that is summed; 1: rows lie side by side", _inner),
    "adjacent": Size("1 where the dims that are summed are neighbours (n == outer * row_size * inner)", _adjacent),
}
