"""The names that a suite may use for index_add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.operators.sizes import Size, product


def _shape(problem: Problem[Any]) -> tuple[int, ...]:
    return problem.operand("destination").view.shape or (1,)


def _dim(problem: Problem[Any]) -> int:
    dim: int = problem.params.dim
    return dim


SIZES: Mapping[str, Size] = {
    "n": Size("elements of the destination", lambda problem: problem.operand("destination").view.size),
    "indices": Size("elements of index", lambda problem: problem.operand("index").view.size),
    "dim_size": Size("places along the dim that is indexed", lambda problem: _shape(problem)[_dim(problem)]),
    "outer": Size("product of the sizes before that dim", lambda problem: product(_shape(problem)[: _dim(problem)])),
    "inner": Size("product of the sizes behind it", lambda problem: product(_shape(problem)[_dim(problem) + 1 :])),
    "alpha": Size("the factor, a fraction perhaps: float32(alpha)", lambda problem: float(problem.params.alpha)),
    "index_dtype": Size("int64 or int32, a word", lambda problem: str(problem.params.index_dtype)),
}
