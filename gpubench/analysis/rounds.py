"""From samples to round medians, many at once.

The unit of the statistics is the round, not the sample: samples that share one allocation share its luck. Each round
gives the median of the logarithms of its times, and how well its own samples know that median (squared).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@lru_cache(maxsize=4096)
def bootstrap_weights(n: int) -> Array:
    """Return the probabilities (n,) that the bootstrap median of n samples is the 1st, 2nd ... smallest of them.

    The median of n uniform numbers is distributed as Beta((n+1)/2, (n+1)/2); its rank among the samples follows, with
    no resampling (Maritz and Jarrett, A note on estimating the variance of the sample median, 1978). Exact for odd n;
    for even n, where the median is the mean of two samples, the same formula stands between them.
    """
    from scipy.special import betainc

    half = (n + 1) / 2
    weights: Array = np.diff(betainc(half, half, np.arange(n + 1) / n))
    weights.setflags(write=False)
    return weights


@lru_cache(maxsize=4096)
def _one_error_away(n: int) -> tuple[int, int]:
    """Return the ranks (from 0) of the bootstrap median's quantiles at -1 and +1 standard error of a normal."""
    from scipy.special import betaincinv, ndtr

    half = (n + 1) / 2
    low = int(betaincinv(half, half, float(ndtr(-1.0))) * n)
    return low, n - 1 - low


def log_medians(samples: Array) -> tuple[Array, Array]:
    """Return, for samples (rounds, n) in microseconds, the median of the logarithms and the square of its error.

    Both have the shape (rounds,). Samples must be positive and finite. The error is half the distance between the
    quantiles of the bootstrap median that lie one standard error from its middle: with few samples the variance of the
    bootstrap median would follow a single outlier, and these do not.
    """
    logs = np.sort(np.log(samples), axis=1)
    n = logs.shape[1]
    medians = (logs[:, (n - 1) // 2] + logs[:, n // 2]) / 2
    low, high = _one_error_away(n)
    return medians, ((logs[:, high] - logs[:, low]) / 2) ** 2


@dataclass(frozen=True, slots=True)
class Side:
    """One side of many pairs, every array of shape (pairs,). Logarithms of microseconds.

    `mean`: of the round medians. `squares`: sum of squared distances of the round medians from it. `rounds`: their
    number. `within`: mean squared error of a round median, from the samples inside the rounds. `samples`: number.
    """

    mean: Array
    squares: Array
    rounds: Array
    within: Array
    samples: Array


def side(pairs: Sequence[Sequence[Sequence[float]]]) -> Side:
    """Return the summary of `pairs`, for each a sequence of rounds of samples. Rounds without samples do not count.

    A pair with no samples has mean 0 and 0 rounds.
    """
    filled = [[samples for samples in one if len(samples)] for one in pairs]
    owner = np.repeat(np.arange(len(filled)), [len(one) for one in filled])
    return summarise(owner, *_medians([samples for one in filled for samples in one]), len(filled))


def difference(old: Sequence[Sequence[Sequence[float]]], new: Sequence[Sequence[Sequence[float]]]) -> Side:
    """Return the summary of new over old, round by round: the logarithm of the ratio stands in place of a time.

    The rounds of each pair belong together by their position; a round that lacks either side does not count.
    """
    both = [[(a, b) for a, b in zip(*sides, strict=False) if len(a) and len(b)] for sides in zip(old, new, strict=True)]
    owner = np.repeat(np.arange(len(both)), [len(one) for one in both])
    before = _medians([a for one in both for a, _ in one])
    after = _medians([b for one in both for _, b in one])
    sizes = np.minimum(before[2], after[2])
    return summarise(owner, after[0] - before[0], after[1] + before[1], sizes, len(both))


def _medians(rounds: Sequence[Sequence[float]]) -> tuple[Array, Array, Array]:
    """Return log median, squared error and size of each round; rounds of one size are worked out together."""
    medians, within = np.empty(len(rounds)), np.empty(len(rounds))
    sizes = np.asarray([len(one) for one in rounds], dtype=np.int64)
    for n in np.unique(sizes):
        members = np.flatnonzero(sizes == n)
        medians[members], within[members] = log_medians(
            np.asarray([rounds[i] for i in members.tolist()], dtype=np.float64)
        )
    return medians, within, sizes


def block(samples: Array) -> Side:
    """Return the summary of samples (pairs, rounds, n): the same as `side` where all sizes are equal."""
    pairs, rounds, n = samples.shape
    medians, within = log_medians(samples.reshape(pairs * rounds, n))
    owner = np.repeat(np.arange(pairs), rounds)
    return summarise(owner, medians, within, np.full(pairs * rounds, n), pairs)


def summarise(owner: Array, medians: Array, within: Array, sizes: Array, pairs: int) -> Side:
    """Return the summary of rounds, given for each the pair that owns it, its log median, squared error and size."""
    count = np.bincount(owner, minlength=pairs)
    divisor = np.maximum(count, 1)
    mean = np.bincount(owner, weights=medians, minlength=pairs) / divisor
    squares = np.bincount(owner, weights=(medians - mean[owner]) ** 2, minlength=pairs)
    return Side(
        mean=mean,
        squares=squares,
        rounds=count,
        within=np.bincount(owner, weights=within, minlength=pairs) / divisor,
        samples=np.bincount(owner, weights=sizes, minlength=pairs).astype(np.int64),
    )
