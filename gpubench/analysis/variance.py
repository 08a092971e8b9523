"""How much rounds vary, learned from all cases of a contender together.

Three rounds tell little about their own variance: by chance they lie close together, and a t value explodes. All cases
of one contender tell together how much rounds vary on this device. This is the idea of moderated t statistics (Smyth,
Linear models and empirical Bayes methods for assessing differential expression, 2004), with one change: a case is never
taken to be calmer than the typical case, and never calmer than its own rounds say, so that one bad round out of three
cannot be averaged away.
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


@dataclass(frozen=True, slots=True)
class Moderated:
    """Variances to use and their degrees of freedom, both of shape (cases,)."""

    variance: Array
    freedom: Array


def moderate(variance: Array, freedom: Array, group: Array) -> Moderated:
    """Return the variance of a round median to use for each case, all arguments of shape (cases,).

    variance: unbiased estimates from `freedom` degrees of freedom each (0: no estimate, left as it is). group: an
    integer a case; cases of one group learn from each other.
    """
    used = variance.astype(np.float64).copy()
    total = freedom.astype(np.float64).copy()
    for one in np.unique(group):
        members = np.flatnonzero((group == one) & (freedom > 0))
        if len(members) < LEAST_CASES:
            continue
        own, own_freedom = variance[members], freedom[members].astype(np.float64)
        used[members] = np.maximum(own, typical(own, own_freedom))
        prior = np.minimum(prior_freedom(own, own_freedom), MOST_TRUST * own_freedom)
        total[members] = np.minimum(own_freedom + prior, own_freedom.sum())
    return Moderated(used, total)


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
