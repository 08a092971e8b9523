"""What could be resolved: the least change that would be called, and the rounds that it takes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.noise import TAILS
from gpubench.analysis.rule import Effect

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

POWER = 0.8
"""A change that is said to be seen is called in so many of all repetitions."""

MOST_ROUNDS = 1000


def sees(effect: Effect, band: Array, alpha: float, pairs: int) -> Array:
    """Return the least change, as log ratios (n,), that is called SLOWER in 4 of 5 repetitions, alone among `pairs`."""
    from scipy.stats import t

    variance, freedom = effect.total()
    error = np.sqrt(variance)
    level = alpha / max(pairs, 1)
    far = _far(tuple(effect.weights.tolist()), level) * np.sqrt(effect.runs)
    return np.asarray(band + np.maximum(t.isf(level, freedom) * error, far) + t.ppf(POWER, freedom) * error)


@lru_cache(maxsize=256)
def _far(weights: tuple[float, ...], level: float) -> float:
    """Return the quantile of the mixture of tails that is exceeded with this probability, in scales."""
    from scipy.optimize import brentq
    from scipy.stats import t

    def excess(x: float) -> float:
        return float(np.log(sum(w * t.sf(x, nu) for w, nu in zip(weights, TAILS, strict=True)) / level))

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
