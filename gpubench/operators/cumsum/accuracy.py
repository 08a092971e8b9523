"""How far an answer of cumsum may lie from the right one."""

from __future__ import annotations

from typing import Any

from gpubench import dtypes
from gpubench.model import Accuracy, Problem


def bound(problem: Problem[Any], additions: int | None = None) -> Accuracy:
    """Return the bound for so many additions on the longest path; None, or more than the line has: one after the other.

    Errors of equal terms (a dim that is broadcast) do not cancel, so there the worst case is allowed.
    """
    x, dim = problem.operand("x").view, problem.params.dim
    length = x.shape[dim] if x.shape else 1
    path = length if additions is None else min(additions, length)
    equal = bool(x.shape) and x.strides[dim] == 0
    accumulator = dtypes.dtype(problem.operand("y").dtype).accumulator
    return Accuracy(max(path, 1), accumulator, "linear" if equal else "sqrt")
