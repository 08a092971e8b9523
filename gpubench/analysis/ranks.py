"""Rank tests over pooled samples, and the correction for many pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


EXACT = 8
"""Samples on the smaller side up to which scipy's exact test is used, as scipy itself does."""

CHUNK = 2**20
"""Samples worked out at once, about."""


def least_p(old: int, new: int) -> float:
    """Return the smallest two-sided p that the exact Mann-Whitney test can reach with samples of these sizes."""
    if old < 1 or new < 1:
        return 1.0
    if old + new > 1000 and min(old, new) > 3:
        return 0.0  # far below any level, and the binomial would be a number of hundreds of digits
    return min(1.0, 2.0 / math.comb(old + new, old))


def mann_whitney(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> Array:
    """Return the two-sided p of each pair of samples, shape (pairs,); 1 where one side is empty or all are equal.

    Up to 8 samples on a side: scipy's test, exact without ties. Larger: the same normal approximation as scipy's, with
    corrections for ties and continuity, for many pairs at once.
    """
    from scipy.stats import mannwhitneyu

    p = np.ones(len(old))
    large: list[int] = []
    for number, (a, b) in enumerate(zip(old, new, strict=True)):
        if not len(a) or not len(b):
            continue
        if min(len(a), len(b)) > EXACT:
            large.append(number)
        elif min(*a, *b) != max(*a, *b):
            p[number] = mannwhitneyu(a, b, alternative="two-sided").pvalue
    large.sort(key=lambda number: len(old[number]) + len(new[number]))
    while large:
        widest = max(CHUNK // (len(old[large[0]]) + len(new[large[0]])), 1)
        members = large[:widest]
        while len(members) > 1 and len(members) * (len(old[members[-1]]) + len(new[members[-1]])) > 2 * CHUNK:
            members = members[: len(members) // 2]
        p[members] = _normal_p([old[number] for number in members], [new[number] for number in members])
        large = large[len(members) :]
    return p


def _normal_p(old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]) -> Array:
    """Return the normal approximation. Rows are filled up with infinity, which ranks last and is then left out."""
    from scipy.stats import norm, rankdata

    n, m = (np.asarray([len(one) for one in side], dtype=np.float64) for side in (old, new))
    total = n + m
    values = np.full((len(old), int(total.max())), np.inf)
    for row, (a, b) in enumerate(zip(old, new, strict=True)):
        values[row, : len(a)] = a
        values[row, len(a) : len(a) + len(b)] = b
    place = np.arange(values.shape[1])
    middle = (total + 1) / 2
    centred = np.where(place < total[:, None], rankdata(values, axis=1) - middle[:, None], 0.0)
    # The variance of a rank sum over all ways to part the ranks: what the usual formula with its tie term gives.
    variance = n * m / (total * (total - 1)) * (centred**2).sum(axis=1)
    excess = np.abs(np.where(place < n[:, None], centred, 0.0).sum(axis=1)) - 0.5
    z = np.divide(np.maximum(excess, 0.0), np.sqrt(variance), out=np.zeros(len(old)), where=variance > 0)
    return np.asarray(2 * norm.sf(z))


def benjamini_hochberg(p: Array) -> Array:
    """Return q, shape (pairs,): among the pairs with q under alpha, at most that share is expected to be wrong."""
    if len(p) == 0:
        return p
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="bh"))
