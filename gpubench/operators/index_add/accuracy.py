"""What index_add by atomics in the dtype itself promises: a bound, and for floats not the same bits each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.dtypes import is_exact
from gpubench.model import Accuracy, Json, Launch, Memset, Plan, Problem
from gpubench.operators.index_add.indices import most_duplicates


def atomic_accuracy(problem: Problem[Any]) -> Accuracy:
    """Every addition to one place rounds in the dtype, and so does the product with alpha."""
    params = problem.params
    places = params.shape[params.dim] if params.shape else 1
    return Accuracy(most_duplicates(params.pattern, places, params.indices) + 2, problem.case.dtype)


def atomic_plan(
    variant: str,
    steps: tuple[Launch | Memset, ...],
    problem: Problem[Any],
    workspace_bytes: int = 0,
    *,
    workspace_zeroed: bool = False,
    notes: Mapping[str, Json] | None = None,
) -> Plan:
    """Return the plan of steps that add by atomics: repeatable for integers only, since nothing orders them."""
    return Plan(
        variant,
        steps,
        atomic_accuracy(problem),
        workspace_bytes,
        workspace_zeroed,
        notes or {},
        repeatable=is_exact(problem.case.dtype),
    )
