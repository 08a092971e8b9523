"""From samples to round medians, many at once.

The unit of the statistics is the round, not the sample: samples that share one allocation share its luck. Each round
gives the median of the logarithms of its times; how much rounds vary is learned from all cases (`moderate`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.moderate import Rounds, medians, moderated, round_variance

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


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
    own = np.asarray([round_variance(*one) for one in both.values()])
    group = np.asarray([next((i for i, one in enumerate(apart, 1) if key in one), 0) for key in both])
    variance, freedom = np.zeros(len(mean)), np.zeros(len(mean))
    for number in np.unique(group):
        at = group == number
        spread = moderated(np.exp(mean[at]), own[at], count[at] - 1)
        variance[at], freedom[at] = spread.variance / count[at], spread.freedom
    return Times({key: number for number, key in enumerate(both)}, mean, variance, freedom, count)


def differences(old: Rounds, new: Rounds) -> tuple[Array, float]:
    """Return log of new over old round by round, (rounds,), and the mean square of the errors that samples give these.

    A round that lacks either side does not count.
    """
    both = [(a, b) for a, b in zip(old, new, strict=False) if len(a) and len(b)]
    (before, error), (after, other) = medians([a for a, _ in both]), medians([b for _, b in both])
    return after - before, error + other
