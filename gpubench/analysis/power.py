"""The smallest change that could be seen."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

POWER = 0.95


@lru_cache(maxsize=1024)
def visible(freedom: float, own_freedom: int, alpha: float, pairs: int, share: float = 1.0) -> float:
    """Return the change, in standard errors, whose p is under alpha / pairs in 95 % of comparisons.

    alpha / pairs is what Benjamini-Hochberg asks of the only change among `pairs` pairs. The test has `freedom` degrees
    of freedom; the standard error it uses is the true one, or more where the case's own `own_freedom` degrees say so.
    `share` is the part of the variance that is estimated from them.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, norm, t

    critical = float(t.isf(alpha / max(pairs, 1) / 2, freedom))
    quantiles = (np.arange(400) + 0.5) / 400
    spread = np.sqrt(1 + share * np.maximum(chi2.ppf(quantiles, own_freedom) / own_freedom - 1.0, 0.0))

    def shortfall(shift: float) -> float:
        return POWER - float(np.mean(norm.sf(critical * spread - shift)))

    return float(brentq(shortfall, 0.0, critical * 10 + 20))


def noise_floor(error: Array, freedom: Array, own_freedom: Array, share: Array, alpha: float, pairs: int) -> Array:
    """Return the smallest relative change that a comparison of one run with another sees with 95 % power, (cases,).

    error: the standard error of the log ratio of two runs; freedom: that of the test; share: see `visible`. inf where
    freedom is 0.
    """
    floor = np.full(len(error), np.inf)
    for number in np.flatnonzero((freedom > 0) & (own_freedom > 0)):
        # rounding keeps the cache small; it changes the floor by less than a hundredth
        degrees = float(f"{min(freedom[number], 1e6):.3g}")
        shift = visible(degrees, int(own_freedom[number]), alpha, pairs, round(float(share[number]), 2))
        floor[number] = np.expm1(shift * error[number])
    return floor
