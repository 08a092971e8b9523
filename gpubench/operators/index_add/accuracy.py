"""The bound on index_add whose atomics add in the dtype itself."""

from __future__ import annotations

from typing import Any

from gpubench.model import Accuracy, Problem
from gpubench.operators.index_add.indices import most_duplicates


def atomic_accuracy(problem: Problem[Any]) -> Accuracy:
    """Every addition to one place rounds in the dtype, and so does the product with alpha."""
    params = problem.params
    places = params.shape[params.dim] if params.shape else 1
    return Accuracy(most_duplicates(params.pattern, places, params.indices) + 2, problem.case.dtype)
