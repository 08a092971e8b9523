"""How slow each GPU is: the median over all work of the log ratio of its time to a healthy one's.

A median, because a GPU is slow on all that uses what is wrong with it, while single cases have single reasons. Its
interval is that of the sign test: the order statistics that hold the median with 95 % confidence, whatever the
distribution (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.distributions import coin_quantile
from gpubench.findings import Effect

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CONFIDENCE = 0.95


def centres(log_us: Array) -> Array:
    """Return the median time of each piece of work, (works,), from (members, works); NaN where nobody has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any number has no median: NaN says it
        return np.asarray(np.nanmedian(log_us, axis=0)) if log_us.size else np.full(log_us.shape[1], np.nan)


def effect(ratios: Array) -> Effect | None:
    """Return the median of one GPU's log ratios, (works,), with its interval; None when it has none."""
    known = np.sort(ratios[np.isfinite(ratios)])
    count = len(known)
    if not count:
        return None
    rank = coin_quantile((1 - CONFIDENCE) / 2, count)
    low, high = (rank - 1, count - rank) if rank > 0 else (0, count - 1)
    return Effect(float(np.median(known)), float(known[max(low, 0)]), float(known[min(high, count - 1)]), count)
