"""The rule that says which changes are certain.

One-sided tests against the threshold, corrected for many cases; and what they could resolve with how many rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.rounds import CONFIDENCE, TAILS, heavy
from gpubench.distributions import t_quantile, t_tail

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as a change. `threshold`: least relative change (0.01 is 1 %); `threshold_us`: least change in
    microseconds, where that is more; `alpha`: the level of significance; `adjust`: judge what is left when the machine
    has changed.
    """

    threshold: float = 0.01
    alpha: float = 0.01
    threshold_us: float = 0.0
    adjust: bool = False

    def band(self, time_us: Array) -> Array:
        """Return the logarithm of the least ratio that counts at these times, (n,)."""
        return np.asarray(np.log1p(np.maximum(self.threshold, self.threshold_us / time_us)))


@dataclass(frozen=True, slots=True)
class Effect:
    """How much slower than expected, as log ratios, arrays of shape (n,).

    `rounds`, `rounds_freedom`: variance that the rounds of both sides show, and its degrees of freedom. `runs`: the
    squared scale of what runs differ by; `weights` (4,) of its TAILS and `heavy`, its variance over the squared scale.
    `machine`, `machine_freedom`: the variance of what is expected.
    """

    value: Array
    rounds: Array
    rounds_freedom: Array
    runs: Array
    weights: Array
    machine: Array
    machine_freedom: float

    def with_rounds(self, factor: Array | float) -> Effect:
        """Return the effect with the variance of the rounds times a factor: what other numbers of rounds would see."""
        return replace(self, rounds=self.rounds * factor)

    def total(self) -> tuple[Array, Array]:
        """Return the whole variance, and its degrees of freedom by Satterthwaite.

        The tails of what runs differ by count fully where they are alone, and as a variance where they add to more.
        """
        tails = 1 / float((self.weights / TAILS).sum())
        other = self.rounds + self.machine
        share = np.divide(other, other + self.runs, out=np.zeros_like(other), where=other + self.runs > 0)
        runs = self.runs * (1 + (heavy(self.weights) - 1) * share)
        variance = other + runs
        parts = (
            self.rounds**2 / self.rounds_freedom
            + runs**2 * (1 - share) / tails
            + self.machine**2 / self.machine_freedom
        )
        freedom = np.divide(variance**2, parts, out=np.full_like(variance, 1e6), where=parts > 0)
        return variance, np.maximum(freedom, 1.0)

    def half(self) -> Array:
        """Return half the width of the 95 % interval."""
        variance, freedom = self.total()
        return t_quantile((1 + CONFIDENCE) / 2, freedom) * np.sqrt(variance)

    def beyond(self, band: Array) -> Array:
        """Return p (n,), one-sided, against an effect of at most `band` (logarithms): McCarthy and Smyth's TREAT.

        Far out the heaviest tail decides alone: a jump of one run is no change, however well its rounds agree.
        """
        variance, freedom = self.total()
        away = self.value - band
        p = t_tail(_over(away, variance), freedom)
        tails = sum(w * t_tail(_over(away, self.runs), nu) for w, nu in zip(self.weights, TAILS, strict=True))
        return np.asarray(np.maximum(p, tails))

    def negated(self) -> Effect:
        """Return the same seen from the other side: how much faster."""
        return replace(self, value=-self.value)


def _over(away: Array, variance: Array) -> Array:
    """Return `away` in standard errors; infinitely many where there is no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, away / np.sqrt(variance), np.where(away > 0, np.inf, -np.inf))


def benjamini_hochberg(p: Array) -> Array:
    """Return q, shape (n,): among those with q under alpha at most that share is expected to be a false discovery.

    Benjamini and Hochberg 1995, as adjusted p-values.
    """
    p = np.clip(p, 0.0, 1.0)
    order = np.argsort(p)
    raised = p[order] * (len(p) / np.arange(1, len(p) + 1))
    q = np.empty_like(raised)
    q[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return np.clip(q, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Judged:
    """Arrays of shape (n,). `call`: 1 slower, -1 faster, 0 the same, 2 undecided. `p`, `q`: in the direction seen."""

    call: Array
    p: Array
    q: Array


def judge(effect: Effect, band: Array, alpha: float) -> Judged:
    """Judge effects against the bands (n,) around no change."""
    slower, faster = effect.beyond(band), effect.negated().beyond(band)
    q_slower, q_faster = benjamini_hochberg(slower), benjamini_hochberg(faster)
    up = effect.value >= 0
    half = effect.half()
    call = np.full(len(band), 2)
    call[np.abs(effect.value) + half <= band] = 0
    call[q_slower < alpha] = 1
    call[q_faster < alpha] = -1
    return Judged(call, np.where(up, slower, faster), np.where(up, q_slower, q_faster))


# --- What could be resolved ------------------------------------------------------------------------------------------

POWER = 0.8
"""A change that is said to be seen is called in so many of all repetitions."""

MOST_ROUNDS = 1000


def sees(effect: Effect, band: Array, alpha: float, pairs: int) -> Array:
    """Return the least change, as log ratios (n,), that is called SLOWER in 4 of 5 repetitions, alone among `pairs`."""
    variance, freedom = effect.total()
    error = np.sqrt(variance)
    level = alpha / max(pairs, 1)
    far = _far(tuple(effect.weights.tolist()), level) * np.sqrt(effect.runs)
    return np.asarray(band + np.maximum(-t_quantile(level, freedom) * error, far) + t_quantile(POWER, freedom) * error)


@lru_cache(maxsize=256)
def _far(weights: tuple[float, ...], level: float) -> float:
    """Return the quantile of the mixture of tails that is exceeded with this probability, in scales."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return float(np.log(sum(w * t_tail(x, nu) for w, nu in zip(weights, TAILS, strict=True)) / level))

    return float(brentq(excess, 0.0, 1e6)) if level < 0.5 else 0.0


def decidable(effect: Effect, band: Array) -> Array:
    """Return whether SAME could be shown with rounds without end, (n,): the runs and the machine allow it."""
    return np.asarray(effect.with_rounds(0.0).half() <= band)


def rounds_to_decide(effect: Effect, rounds: Array, band: Array) -> Array:
    """Return how many rounds a side would make the 95 % interval fit into the band, (n,); 0 where no number would."""
    return _fewest(lambda factor: effect.with_rounds(factor).half() <= band, rounds)


def rounds_to_see(effect: Effect, rounds: Array, band: Array, change: float, alpha: float, pairs: int) -> Array:
    """Return how many rounds a side would show this relative change in 4 of 5 repetitions, (n,); 0: no number would."""
    wanted = math.log1p(change)
    return _fewest(lambda factor: sees(effect.with_rounds(factor), band, alpha, pairs) <= wanted, rounds)


def _fewest(enough: Any, rounds: Array) -> Array:
    """Return the fewest rounds for which `enough`, asked with the factor on the rounds' variance, is true; else 0."""
    low, high = np.ones(len(rounds)), np.full(len(rounds), float(MOST_ROUNDS))
    possible = enough(rounds / high)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        fits = enough(rounds / middle)
        high, low = np.where(fits, middle, high), np.where(fits, low, middle)
    return np.where(possible, np.maximum(high, 2), 0).astype(np.int64)
