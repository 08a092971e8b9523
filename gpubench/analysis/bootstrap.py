"""The hierarchical bootstrap of a mean of round medians: drawn, and in closed form.

Rounds are drawn with replacement, then samples within each drawn round. This is the yardstick that the tests and
`gpubench.analysis.simulation` hold the comparison's interval against: it is right for many rounds, and too narrow for
the few that a run has (docs/statistics.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.rounds import bootstrap_weights

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def draw(samples: Array, draws: int, random: np.random.Generator) -> Array:
    """Return `draws` bootstrap values (pairs, draws) of the mean over rounds of the median of log(samples).

    samples: (pairs, rounds, n). The rank of a bootstrap median is drawn directly from its Beta distribution, so no
    samples are copied; exact for odd n.
    """
    pairs, rounds, n = samples.shape
    ordered = np.sort(np.log(samples), axis=2)
    half = (n + 1) / 2
    total = np.zeros((pairs, draws))
    for _ in range(rounds):
        chosen = random.integers(rounds, size=draws)
        rank = np.minimum((random.beta(half, half, size=draws) * n).astype(np.int64), n - 1)
        total += ordered[:, chosen, rank]
    return np.asarray(total / rounds)


def variance(samples: Array) -> Array:
    """Return the exact variance (pairs,) of what `draw` gives: that between rounds, and the mean one within, over R.

    The first is the plain mean of squares over the R rounds, so it is (R - 1) / R of the unbiased one: with 3 rounds a
    third too small, which is why the comparison does not use it as it stands.
    """
    ordered = np.sort(np.log(samples), axis=2)
    weights = bootstrap_weights(samples.shape[2])
    mean = ordered @ weights
    within = ((ordered - mean[:, :, None]) ** 2) @ weights
    return np.asarray((np.var(mean, axis=1) + np.mean(within, axis=1)) / samples.shape[1])
