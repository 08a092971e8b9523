"""How much the rounds of one result vary, learned from all of its cases together.

Three rounds tell little about their own variance: by chance they lie close together, and a t value explodes. All cases
of a result tell together how much rounds vary here. This is the moderated variance of Smyth (Linear models and
empirical Bayes methods for assessing differential expression, 2004) with a trend over the time of a case: the variance
of a log round median is expected to be A^2 + (C / t)^2, a share A of the time and C microseconds of jitter, and the
variances of single cases scatter around it as F with d0 degrees of freedom on the trend's side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

TICK_US = 0.032
"""The step in which the clock behind CUDA events counts on recent GPUs; a time is off by up to half of it."""

PRIOR = (np.log([0.003, 0.03, 6.0]), np.asarray([1.0, 1.2, 1.2]))
"""Medians and spreads of the logarithms of (A, C in us, d0) before anything is seen: what recorded H200 runs have."""

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of one round's log median, of shape (cases,), and its degrees of freedom, of the same shape."""

    variance: Array
    freedom: Array


def moderated(time_us: Array, variance: Array, freedom: Array) -> Spread:
    """Return the variance of a round to use for each case; all arguments of shape (cases,).

    time_us: a case's time. variance: the unbiased estimate from its own rounds. freedom: rounds - 1; a case with 0 gets
    what the others say of one as long.
    """
    own = np.maximum(variance, (TICK_US / time_us) ** 2 / 12)
    seen = freedom > 0
    share, jitter, prior = _fit(time_us[seen], own[seen], freedom[seen].astype(np.float64))
    trend = share**2 + (jitter / time_us) ** 2
    total = prior + freedom
    return Spread((prior * trend + freedom * own) / total, total)


def _fit(time_us: Array, variance: Array, freedom: Array) -> Array:
    """Return the most likely (A, C, d0)."""
    from scipy.optimize import minimize
    from scipy.special import betaln

    centre, spread = PRIOR

    def cost(logs: Array) -> float:
        share, jitter, prior = np.exp(np.clip(logs, -25.0, 9.0))
        trend = share**2 + (jitter / time_us) ** 2
        ratio = freedom * variance / (prior * trend)  # F times freedom / prior
        density = freedom / 2 * np.log(ratio) - (freedom + prior) / 2 * np.log1p(ratio) - betaln(freedom / 2, prior / 2)
        return float(((logs - centre) ** 2 / spread**2).sum() / 2 - density.sum())

    found = minimize(cost, centre, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-3, "maxiter": 400})
    return np.asarray(np.exp(found.x))


def intervals(rounds: Sequence[Sequence[Sequence[float]]]) -> list[tuple[float, float] | None]:
    """Return the 95 % interval of the typical time of each case, in the unit of the samples (microseconds).

    rounds: a case's rounds of samples; all cases should come from one run of one device. The interval lies around the
    geometric mean of the round medians. None for a case with fewer than 2 rounds of positive finite samples. It
    speaks of this run: another run of the same thing may lie outside.
    """
    from scipy.stats import t

    logs = [_log_medians(one) for one in rounds]
    known = [number for number, one in enumerate(logs) if len(one) >= 2]
    found: list[tuple[float, float] | None] = [None] * len(rounds)
    if not known:
        return found
    mean, variance, count = (
        np.asarray([function(logs[number]) for number in known])
        for function in (np.mean, lambda one: np.var(one, ddof=1), len)
    )
    spread = moderated(np.exp(mean), variance, count - 1)
    half = t.ppf((1 + CONFIDENCE) / 2, spread.freedom) * np.sqrt(spread.variance / count)
    for number, low, high in zip(known, np.exp(mean - half), np.exp(mean + half), strict=True):
        found[number] = (float(low), float(high))
    return found


def _log_medians(rounds: Sequence[Sequence[float]]) -> Array:
    """Return the log of the median of each round that has samples; nothing when a sample is no positive finite time."""
    samples = [np.asarray(one, dtype=np.float64) for one in rounds if len(one)]
    if not all((np.isfinite(one) & (one > 0)).all() for one in samples):
        return np.empty(0)
    return np.asarray([np.median(np.log(one)) for one in samples])
