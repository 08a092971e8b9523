"""How much rounds vary, learned from all cases of a contender together.

Three rounds tell little about their own variance: by chance they lie close together, and a t value explodes. All cases
of one contender tell together how much rounds vary on this device. This is the idea of moderated t statistics (Smyth,
Linear models and empirical Bayes methods for assessing differential expression, 2004), with one change: a case is never
taken to be calmer than the typical case, and never calmer than its own rounds say, so that one bad round out of three
cannot be averaged away.

What is typical depends on how long a case takes: half a microsecond of jitter is a tenth of a launch of 5 us and a
thousandth of one of 500 us. So variances are compared along their trend over the time of a case. Without that a suite
of many short cases would make its long ones seem as noisy as they are, and hide regressions of a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

LEAST_CASES = 8
"""With fewer cases of a contender than this nothing is learned from the others: each case stands for itself."""

MOST_TRUST = 2.0
"""The other cases count at most so many times as much as the case itself. Without this bound and with 2 rounds, a suite
of calm cases with one wild one in ten fails 5 % of its gates instead of 0.1 %; it costs a tenth of the noise floor."""

SMALLEST_SHARE = 1e-5
"""Variances under this share of the median one count as this much in the fit: constant samples have no logarithm."""


STEEPEST = -2.0
"""Exponent of the variance over the time: -2 is jitter of the same number of microseconds everywhere, 0 of the same
share."""

LEAST_RANGE = float(np.log(2))
"""With times closer together than this factor (2) there is no trend to see."""

TREND_CASES = 300
"""The trend is fitted to at most so many cases, evenly taken, since the fit looks at all pairs of them."""


@dataclass(frozen=True, slots=True)
class Moderated:
    """Variances to use and their degrees of freedom, both of shape (cases,)."""

    variance: Array
    freedom: Array


def moderate(variance: Array, freedom: Array, group: Array, level: Array) -> Moderated:
    """Return the variance of a round median to use for each case, all arguments of shape (cases,).

    variance: unbiased estimates from `freedom` degrees of freedom each (0: no estimate, left as it is). group: an
    integer a case; cases of one group learn from each other. level: the logarithm of a case's time.
    """
    used = variance.astype(np.float64).copy()
    total = freedom.astype(np.float64).copy()
    for one in np.unique(group):
        members = np.flatnonzero((group == one) & (freedom > 0))
        if len(members) < LEAST_CASES:
            continue
        own, own_freedom = variance[members], freedom[members].astype(np.float64)
        course = trend(own, level[members])
        used[members] = np.maximum(own, typical(own / course, own_freedom) * course)
        prior = np.minimum(prior_freedom(own / course, own_freedom), MOST_TRUST * own_freedom)
        total[members] = np.minimum(own_freedom + prior, own_freedom.sum())
    return Moderated(used, total)


def trend(variance: Array, level: Array) -> Array:
    """Return the course of the variance over the time of the cases, (cases,): a power of the time, 1 at the middle.

    The exponent is the median of the slopes between all pairs of cases (Theil and Sen), between STEEPEST and 0: a case
    is never taken to be noisier for being longer.
    """
    from scipy.stats import theilslopes

    floor = SMALLEST_SHARE * float(np.median(variance))
    if floor <= 0 or float(np.ptp(level)) < LEAST_RANGE:
        return np.ones(len(variance))
    order = np.argsort(level, kind="stable")
    some = order[np.linspace(0, len(order) - 1, min(len(order), TREND_CASES)).astype(np.int64)]
    slope = float(theilslopes(np.log(np.maximum(variance[some], floor)), level[some])[0])
    return np.asarray(np.exp(np.clip(slope, STEEPEST, 0.0) * (level - np.median(level))))


def typical(variance: Array, freedom: Array) -> float:
    """Return the typical variance: the median, free of the bias that a median of few degrees of freedom has."""
    from scipy.stats import chi2

    return float(np.median(variance * freedom / chi2.median(freedom)))


def prior_freedom(variance: Array, freedom: Array) -> float:
    """Return how many degrees of freedom the other cases are worth; infinity when all cases vary alike.

    Smyth's fit: the variance of the logarithms beyond what `freedom` explains is trigamma(prior / 2).
    """
    from scipy.special import polygamma

    floor = SMALLEST_SHARE * float(np.median(variance))
    if floor <= 0:
        return 0.0  # most cases are constant: they say nothing about the others
    logs = np.log(np.maximum(variance, floor)) - polygamma(0, freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(logs, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    return 2 * _inverse_trigamma(excess) if excess > 0 else np.inf


def _inverse_trigamma(value: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import polygamma

    low, high = -12.0, 25.0  # logarithms: trigamma falls from e^24 to e^-25 between them
    if value <= float(polygamma(1, np.exp(high))):
        return float(np.exp(high))
    if value >= float(polygamma(1, np.exp(low))):
        return float(np.exp(low))
    return float(np.exp(brentq(lambda x: float(polygamma(1, np.exp(x))) - value, low, high)))
