"""From samples to round medians, how much the rounds of one result vary, and how much runs differ beyond them.

The unit of the statistics is the round, not the sample: samples that share one allocation share its luck.

Three rounds tell little about their own variance: by chance they lie close together, and a t value explodes. All cases
of a result tell together how much rounds vary here. This is the moderated variance of Smyth (Linear models and
empirical Bayes methods for assessing differential expression, 2004) with a trend over the time of a case: the variance
of a log round median is expected to be A^2 + (C / t)^2, a share A of the time and C microseconds of jitter, and the
variances of single cases scatter around it as F with d0 degrees of freedom on the trend's side.

What unchanged work varies by from run to run has a scale of the same form, and tails of Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.distributions import coin_tail, t_quantile
from gpubench.model import Record
from gpubench.names import MEASURED
from gpubench.ranks import ranks

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

TICK_US = 0.032
"""The step in which the clock behind CUDA events counts on recent GPUs; a time is off by up to half of it."""

PRIOR = (np.log([0.003, 0.03, 6.0]), np.asarray([1.0, 1.2, 1.2]))
"""Medians and spreads of the logarithms of (A, C in us, d0) before anything is seen: what recorded H200 runs have."""

FEW = 4
"""So many cases say half of what many do: what a handful of cases have in common is not known well."""

CONFIDENCE = 0.95

Rounds = Sequence[Sequence[float]]
"""Samples of one case in microseconds, by round."""


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
    if seen.any():
        prior *= seen.sum() / (seen.sum() + FEW)
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


def intervals(rounds: Sequence[Rounds]) -> list[tuple[float, float] | None]:
    """Return the 95 % interval of the typical time of each case, in the unit of the samples (microseconds).

    rounds: a case's rounds of samples; all cases should come from one run of one device. The interval lies around the
    geometric mean of the round medians. None for a case with fewer than 2 rounds of positive finite samples. It
    speaks of this run: another run of the same thing may lie outside.
    """
    both = [medians(sampled) if usable(sampled) else (np.empty(0), 0.0) for sampled in rounds]
    known = [number for number, (logs, _) in enumerate(both) if len(logs) >= 2]
    found: list[tuple[float, float] | None] = [None] * len(rounds)
    if not known:
        return found
    mean = np.asarray([both[number][0].mean() for number in known])
    variance = np.asarray([round_variance(*both[number]) for number in known])
    count = np.asarray([len(both[number][0]) for number in known])
    spread = moderated(np.exp(mean), variance, count - 1)
    half = t_quantile((1 + CONFIDENCE) / 2, spread.freedom) * np.sqrt(spread.variance / count)
    for number, low, high in zip(known, np.exp(mean - half), np.exp(mean + half), strict=True):
        found[number] = (float(low), float(high))
    return found


def usable(rounds: Rounds) -> bool:
    """Return whether every sample is a time: a positive finite number."""
    return all(0 < us < math.inf for sampled in rounds for us in sampled)


def medians(rounds: Rounds) -> tuple[Array, float]:
    """Return the log median of each round that has samples, (rounds,), and the mean square of their own errors."""
    found = [_median(sampled) for sampled in rounds if len(sampled)]
    if not found:
        return np.empty(0), 0.0
    return np.asarray([log for log, _ in found]), float(np.mean([error**2 for _, error in found]))


def _median(samples: Sequence[float]) -> tuple[float, float]:
    """Return the log of the median and its standard error, by the samples that lie one error to either side of it."""
    ordered = sorted(samples)
    low, left, right, high = (math.log(ordered[place]) for place in ranks(len(ordered)))
    return left / 2 + right / 2, (high - low) / 2


def typical_us(rounds: Rounds) -> float:
    """Return the geometric mean of the round medians in microseconds; at least one round must have samples."""
    return float(np.exp(medians(rounds)[0].mean()))


def round_variance(logs: Array, within: float) -> float:
    """Return the unbiased variance of one round, 0 of a single one; at least what the samples inside rounds say."""
    return max(float(logs.var(ddof=1)), within) if len(logs) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Times:
    """What one result timed, arrays of shape (entries,). `place`: where each entry stands.

    `log_us`: the mean of the round medians, in logarithms of microseconds; `variance`: that mean's, `freedom` its
    degrees of freedom; `rounds`: how many have samples.
    """

    place: Mapping[Hashable, int]
    log_us: Array
    variance: Array
    freedom: Array
    rounds: Array

    def at(self, keys: Sequence[Hashable]) -> Array:
        """Return the places of these entries, (keys,)."""
        return np.asarray([self.place[key] for key in keys], dtype=np.int64)


def times(entries: Mapping[Hashable, Rounds], apart: Sequence[Collection[Hashable]] = ()) -> Times:
    """Return the summary of entries timed by one run; those without any sample are left out.

    Samples must be positive and finite. `apart`: sets of entries whose rounds vary in their own way (the host's times,
    the harness's own ceilings): how much is learned from each set alone.
    """
    both = {key: one for key, rounds in entries.items() if len((one := medians(rounds))[0])}
    count = np.asarray([len(logs) for logs, _ in both.values()], dtype=np.int64)
    mean = np.asarray([float(logs.mean()) for logs, _ in both.values()])
    own = np.asarray([round_variance(*pair) for pair in both.values()])
    group = np.asarray([next((i for i, keys in enumerate(apart, 1) if key in keys), 0) for key in both])
    variance, freedom = np.zeros(len(mean)), np.zeros(len(mean))
    for number in np.unique(group):
        at = group == number
        spread = moderated(np.exp(mean[at]), own[at], count[at] - 1)
        variance[at], freedom[at] = spread.variance / count[at], spread.freedom
    return Times({key: number for number, key in enumerate(both)}, mean, variance, freedom, count)


def log_ratios(old: Rounds, new: Rounds) -> tuple[Array, float]:
    """Return log of new over old round by round, (rounds,), and the mean square of the errors that samples give these.

    A round that lacks either side does not count.
    """
    both = [(a, b) for a, b in zip(old, new, strict=False) if len(a) and len(b)]
    (before, error), (after, other) = medians([a for a, _ in both]), medians([b for _, b in both])
    return after - before, error + other


# --- Records ---------------------------------------------------------------------------------------------------------


def measured(record: Record) -> bool:
    """Return whether the record's status lets its times be compared."""
    return record.status in MEASURED


def is_timed(record: Record) -> bool:
    """Return whether the record was measured and has usable samples."""
    return measured(record) and bool(samples(record))


def samples(record: Record) -> list[list[float]]:
    """Return the kept samples by round in microseconds, without empty rounds; empty when nothing was timed.

    A time that is not a positive finite number makes the whole record unfit: then empty as well.
    """
    if record.timing is None:
        return []
    rounds = [[sample.us for sample in sampled] for sampled in record.timing.rounds if sampled]
    return rounds if usable(rounds) else []


# --- From run to run -------------------------------------------------------------------------------------------------

TAILS = np.asarray([3.0, 5.0, 10.0, 30.0])
"""Degrees of freedom that are thought possible: 3 has heavy tails, 30 is nearly normal."""

NORMAL = np.asarray([0.0, 0.0, 0.0, 1.0])
"""Weights of the tails where runs play no part."""


SHARE, JITTER_US = {True: 0.0010, False: 0.0015}, {True: 0.06, False: 0.10}
"""Prior medians of the share and of the jitter, on the same GPU (True) and on another: from recorded H200 runs."""

SPREAD = 0.8
"""Spread of the logarithms of both priors."""

FAR = 4.0
"""Scales beyond which a residual is far out."""

DOUBT = {True: 0.25, False: 0.5}
"""Weight that the heaviest tail keeps whatever the controls say: what changed need not vary as they do."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Between two runs the log ratio of unchanged work has the squared scale share^2 + (jitter_us / t)^2, and tails of
    Student's t; `weights` (4,) says how likely each of TAILS is.
    """

    share: float
    jitter_us: float
    weights: Array
    same_device: bool

    def variance(self, time_us: Array) -> Array:
        """Return the squared scale at these times, (n,)."""
        return np.asarray(self.share**2 + (self.jitter_us / time_us) ** 2)


def heavy(weights: Array) -> float:
    """Return the variance over the squared scale of such tails, at most 2.5."""
    return float((weights * np.minimum(TAILS / (TAILS - 2), 2.5)).sum())


def prior(same_device: bool) -> Noise:
    """Return what is thought of the noise before any control was seen."""
    return Noise(SHARE[same_device], JITTER_US[same_device], np.full(4, 0.25), same_device)


def learned(time_us: Array, residual: Array, variance: Array, start: Noise) -> Noise:
    """Return the noise that the residuals (controls,) show; `variance` is that of their rounds."""
    found = _posterior(time_us, residual, variance, start)
    kept = _balanced(residual / np.sqrt(variance + found.variance(time_us)))
    return found if kept.all() else _posterior(time_us[kept], residual[kept], variance[kept], start)


def _balanced(score: Array) -> Array:
    """Return which residuals are noise: all, but where those far out lie on one side, not the excess of that side.

    Noise looks the same when old and new change places; what happened to one side only is a change of some controls.
    """
    high, low = int((score > FAR).sum()), int((score < -FAR).sum())
    kept = np.ones(len(score), dtype=bool)
    if high + low and coin_tail(max(high, low), high + low) < 0.01:
        outward = score if high > low else -score
        kept[np.argsort(outward)[len(score) - abs(high - low) :]] = False
    return kept


def _posterior(time_us: Array, residual: Array, variance: Array, start: Noise) -> Noise:
    """Return root mean squares of share and jitter, and weights of the tails, over a grid of all three."""
    from scipy.special import gammaln

    steps = np.linspace(-2.5, 5.0, 16)
    shares, jitters = start.share * np.exp(SPREAD * steps), start.jitter_us * np.exp(SPREAD * steps)
    scale = variance + shares[:, None, None] ** 2 + (jitters[:, None] / time_us) ** 2  # (shares, jitters, controls)
    squared, logs = residual**2 / scale, np.log(scale).sum(axis=2) / 2
    density = np.stack(
        [
            len(residual) * (gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu * np.pi) / 2)
            - logs
            - (nu + 1) / 2 * np.log1p(squared / nu).sum(axis=2)
            for nu in TAILS
        ]
    )
    density -= (steps[:, None] ** 2 + steps**2) / 2
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    doubt = DOUBT[start.same_device]
    tails = (1 - doubt) * weight.sum(axis=(1, 2))
    tails[0] += doubt
    share, jitter = weight.sum(axis=(0, 2)) @ shares**2, weight.sum(axis=(0, 1)) @ jitters**2
    return replace(start, share=float(np.sqrt(share)), jitter_us=float(np.sqrt(jitter)), weights=tails)
