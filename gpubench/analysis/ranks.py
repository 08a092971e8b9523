"""Rank tests over pooled samples, and the correction for many pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def least_p(old: int, new: int) -> float:
    """Return the smallest two-sided p that the exact Mann-Whitney test can reach with samples of these sizes."""
    if old < 1 or new < 1:
        return 1.0
    if old + new > 1000 and min(old, new) > 3:
        return 0.0  # far below any level, and the binomial would be a number of hundreds of digits
    return min(1.0, 2.0 / math.comb(old + new, old))


def mann_whitney(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> Array:
    """Return the two-sided p of each pair of samples, shape (pairs,). Exact for small samples without ties, otherwise
    the normal approximation with its corrections for ties and continuity; 1 where all samples are equal.

    Pairs of the same sizes are worked out together.
    """
    from scipy.stats import mannwhitneyu

    p = np.ones(len(old))
    sizes: dict[tuple[int, int], list[int]] = {}
    for number, (a, b) in enumerate(zip(old, new, strict=True)):
        if len(a) and len(b):
            sizes.setdefault((len(a), len(b)), []).append(number)
    for members in sizes.values():
        before = np.asarray([old[number] for number in members], dtype=np.float64)
        after = np.asarray([new[number] for number in members], dtype=np.float64)
        varied = np.ptp(np.concatenate((before, after), axis=1), axis=1) > 0
        if varied.any():
            chosen = np.asarray(members)[varied]
            p[chosen] = mannwhitneyu(before[varied], after[varied], axis=1, alternative="two-sided").pvalue
    return p


def benjamini_hochberg(p: Array) -> Array:
    """Return q, shape (pairs,): among the pairs with q under alpha, at most that share is expected to be wrong."""
    if len(p) == 0:
        return p
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="bh"))
