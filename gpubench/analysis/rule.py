"""The rule that turns a change into a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import Change

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

RESOLUTION_US = 0.032
"""The step in which the clock behind CUDA events counts on recent GPUs: no change below it is ever called."""

DIRECTIONS = ("FASTER", "SAME", "SLOWER")


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as a change. `threshold`: least relative change (0.01 is 1 %); `alpha`: the level of significance;
    `trust_same_code`: identical machine code in an identical environment is the same, whatever was measured.
    """

    threshold: float = 0.01
    alpha: float = 0.01
    trust_same_code: bool = True


def thresholds(rule: Rule, floor: Array, typical_us: Array) -> Array:
    """Return the least relative change that counts, (pairs,): the largest of the rule's, the pair's own noise floor,
    and one step of the clock.
    """
    return np.maximum(np.maximum(rule.threshold, floor), RESOLUTION_US / typical_us)


def judge(change: Change, q: Array, threshold: Array, alpha: float) -> Array:
    """Return -1 (faster), 0 (same), 1 (slower) or 2 (undecided) for each pair.

    Slower: the 95 % interval lies wholly above 1 + threshold and q is under alpha. Faster: wholly below its inverse.
    Same: the interval lies wholly between. Everything else is undecided.
    """
    band = np.log1p(threshold)
    low, high = change.log_ratio - change.half, change.log_ratio + change.half
    known = change.freedom > 0
    significant = known & (q < alpha)
    verdict = np.full(len(q), 2)
    verdict[known & (low >= -band) & (high <= band)] = 0
    verdict[significant & (low > band)] = 1
    verdict[significant & (high < -band)] = -1
    return verdict
