"""The names that a suite may use for a running sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.operators.sizes import Size, product


def _shape(problem: Problem[Any]) -> tuple[int, ...]:
    return problem.operand("x").view.shape or (1,)


def _dim(problem: Problem[Any]) -> int:
    dim: int = problem.params.dim
    return dim


def _row_size(problem: Problem[Any]) -> int:
    return _shape(problem)[_dim(problem)]


def _outer(problem: Problem[Any]) -> int:
    return product(_shape(problem)[: _dim(problem)])


def _inner(problem: Problem[Any]) -> int:
    return product(_shape(problem)[_dim(problem) + 1 :])


SIZES: Mapping[str, Size] = {
    "n": Size("elements of x", lambda problem: problem.operand("x").view.size),
    "row_size": Size("elements along the dim that is summed", _row_size),
    "rows": Size("lines along that dim: outer * inner", lambda problem: _outer(problem) * _inner(problem)),
    "outer": Size("product of the sizes before that dim", _outer),
    "inner": Size("product of the sizes behind that dim; 1: rows lie side by side", _inner),
}
