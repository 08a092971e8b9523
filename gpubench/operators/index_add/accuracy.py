"""What index_adds promise: bounds on their errors; of atomics in the dtype, for floats, not the same bits each time.

Complex numbers need no factor. alpha is real, so each part is a sum of its own, off by at most gamma times the sum of
its terms' magnitudes; and the modulus of those two sums is at most the sum of the terms' moduli.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import is_exact
from gpubench.model import Accuracy, Json, Launch, Memset, Plan, Problem
from gpubench.operators.index_add.indices import most_duplicates


def atomic_accuracy(problem: Problem[Any]) -> Accuracy:
    """Every addition to one place rounds in the dtype, and so does the product with alpha."""
    return _accuracy(problem, 2, problem.case.dtype)


def grouped_accuracy(problem: Problem[Any], more: int) -> Accuracy:
    """Return the bound on sums formed in the accumulator: a place's rows, `more` additions of parts, one rounding."""
    return _accuracy(problem, more + 2, dtypes.dtype(problem.case.dtype).accumulator)


def _accuracy(problem: Problem[Any], more: int, accumulator: str) -> Accuracy:
    """Return the bound on the additions to the place with most indices and `more`.

    A source that is broadcast along the dim brings the same row for each index. Equal terms make equal errors while
    the sum stays between two powers of two, and those add up as in the worst case: 1800 times the same float64 are off
    by up to 445 u, and 4 * sqrt(1802) is 170. So do those of as many additions as the accumulator counts: a sum of
    float16 that has come to 1024 stays there, whatever of up to a half is added.
    """
    params = problem.params
    places = params.shape[params.dim] if params.shape else 1
    view = problem.operand("source").view
    equal = bool(view.shape) and view.shape[params.dim] > 1 and view.strides[params.dim] == 0
    additions = most_duplicates(params.pattern, places, params.indices) + more
    stays = additions * dtypes.dtype(accumulator).roundoff >= 1
    return Accuracy(additions, accumulator, "linear" if equal or stays else "sqrt")


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
