"""The confidence interval of a median from order statistics: no assumption about how the times are distributed."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

CONFIDENCE = 0.95


@functools.lru_cache(maxsize=4096)
def interval_rank(n: int, confidence: float = CONFIDENCE) -> int:
    """Return r, so that the r-th smallest and the r-th largest of n samples enclose the median with this confidence.

    The number of samples under the median is binomial (n, 1/2); r is the largest rank for which both tails together
    hold at most 1 - confidence. 0: n is too small for any such interval (under 6 for 95 %).
    """
    import numpy
    from scipy.special import bdtr

    tails = bdtr(numpy.arange(n), n, 0.5)  # bdtr(k, n, p) is P(X <= k); rank r leaves out X <= r - 1 on either side
    return int(numpy.searchsorted(tails, (1 - confidence) / 2, side="right"))


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return (low, high) that encloses the median with at least this confidence; None for too few values."""
    rank = interval_rank(len(values), confidence)
    if rank < 1:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def half_width(values: Sequence[float]) -> float | None:
    """Return the larger distance from the median to an end of its 95 % interval; None for too few values."""
    ends = median_interval(values)
    if ends is None:
        return None
    median = statistics.median(values)
    return max(ends[1] - median, median - ends[0])
