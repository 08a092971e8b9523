"""The ratio of two sides, its interval and its p, for many pairs at once. Everything in logarithms until the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.ranks import mann_whitney
from gpubench.analysis.rounds import Side
from gpubench.analysis.variance import moderate

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CONFIDENCE = 0.95

RUN_DRIFT = 0.001
"""Standard deviation that is assumed between two runs of the same thing (0.1 %), beyond what their rounds show: one
run cannot tell how much runs differ. `calibrate` measures it for each case, and then the noise floor speaks."""


@dataclass(frozen=True, slots=True)
class Change:
    """The logarithm of new over old of many pairs: arrays of shape (pairs,).

    `error`: its standard error; `freedom`: its degrees of freedom (0: nothing can be said, error is infinite);
    `half`: half the width of its 95 % interval; `p`: two-sided, against no change.
    """

    log_ratio: Array
    error: Array
    freedom: Array
    half: Array
    p: Array


def unpaired(old: Side, new: Side, group: Array, drift: float = RUN_DRIFT) -> Change:
    """Compare sides that were measured apart, as two samples of round medians.

    The variance is the moderated pooled one, at least what the samples within rounds give, and at least Welch's when
    one side varies more. `drift`: the standard deviation between runs to allow for. Sides with fewer than 2 rounds
    have freedom 0.
    """
    enough = (old.rounds >= 2) & (new.rounds >= 2)
    a, b = np.maximum(old.rounds, 2), np.maximum(new.rounds, 2)
    freedom = np.where(enough, a + b - 2, 0)
    pooled = np.maximum((old.squares + new.squares) / (a + b - 2), (old.within + new.within) / 2)
    moderated = moderate(pooled, freedom, group, (old.mean + new.mean) / 2)
    welch = old.squares / (a * (a - 1.0)) + new.squares / (b * (b - 1.0))
    estimated = np.maximum(moderated.variance * (1.0 / a + 1.0 / b), welch)
    variance, freedom = with_known(estimated, np.where(enough, moderated.freedom, 0.0), 2 * drift**2)
    return _change(new.mean - old.mean, variance, freedom)


def with_known(estimated: Array, freedom: Array, known: float) -> tuple[Array, Array]:
    """Return the sum of an estimated variance and a known one, and its degrees of freedom (Satterthwaite), (pairs,).

    The share of the estimated part is taken from the pair where it is largest: a pair's own share would be small just
    when its rounds lie close together by chance, and would then promise more than is known.
    """
    total = estimated + known
    share = np.divide(estimated, total, out=np.ones_like(total), where=total > 0)
    largest = float(share[freedom > 0].max(initial=1e-3))
    return total, np.minimum(freedom / largest**2, 1e6)


def paired(difference: Side, group: Array, level: Array) -> Change:
    """Compare sides that were measured alternately; `difference` holds the log ratio of each round, not a time;
    `level` the logarithm of the time.
    """
    enough = difference.rounds >= 2
    rounds = np.maximum(difference.rounds, 2)
    own = np.maximum(difference.squares / (rounds - 1), difference.within)
    moderated = moderate(own, np.where(enough, rounds - 1, 0), group, level)
    return _change(difference.mean, moderated.variance / rounds, np.where(enough, moderated.freedom, 0.0))


def _change(log_ratio: Array, variance: Array, freedom: Array) -> Change:
    from scipy.stats import t

    known = freedom > 0
    safe = np.where(known, freedom, 1.0)
    error = np.where(known, np.sqrt(variance), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(error > 0, np.abs(log_ratio) / error, np.where(log_ratio == 0, 0.0, np.inf))
    return Change(
        log_ratio=log_ratio,
        error=error,
        freedom=freedom,
        half=t.ppf((1 + CONFIDENCE) / 2, safe) * error,
        p=np.where(known, 2 * t.sf(score, safe), 1.0),
    )


def with_ranks(p: Array, old: Sequence[Sequence[float]], new: Sequence[Sequence[float]], alpha: float) -> Array:
    """Return the larger of p and the p of Mann-Whitney over the pooled samples of each pair.

    Where p is over alpha already, the second test could change nothing and is not run.
    """
    chosen = np.flatnonzero(p <= alpha)
    result = p.copy()
    ranks = mann_whitney([old[i] for i in chosen.tolist()], [new[i] for i in chosen.tolist()])
    result[chosen] = np.maximum(p[chosen], ranks)
    return result
