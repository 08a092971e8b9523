"""How slow each GPU is, and which effects are too large to be chance.

A GPU is beyond the rule when its effect lies more than k * max(1.4826 MAD, noise floor) above the median of the healthy
ones, and by at least the least effect that anybody should care about. k grows with the fleet: it is the point that a
normal variable exceeds with probability FALSE_ALARMS / n, so that a healthy fleet of any size is called unhealthy about
equally seldom (Bonferroni). Mean and standard deviation cannot do this: one bad GPU of eight widens them so far that it
hides itself.

Several bad ones hide each other in the MAD, too. So the slowest 1, 2, ... up to a quarter are set aside in turn, each
is held against those that are then left, and the largest number for which the last one set aside is still beyond
the rule stands (Rosner, Percentage points for a generalized ESD many-outlier procedure, 1983, with median and MAD).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.distributions import coin_quantile, normal_quantile
from gpubench.findings import Effect

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CONFIDENCE = 0.95
FALSE_ALARMS = 0.004
"""docs/fleet.md has what this gives: at most 1 % of healthy fleets, and 95 % of GPUs that are 2 % slow."""
LEAST_PEERS = 5
"""Fewer cannot say what is usual."""
MOST_BAD = 0.25
CONFIRMING = 0.5
"""What a GPU has shown once need not be shown in full again: only what passed is to be told from what stays."""
NORMAL_MAD = 1.4826
"""The standard deviation of a normal variable over its median absolute deviation."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`floor`: how much GPUs that are alike differ at least, as a share. `least`: no smaller effect is called slow."""

    floor: float = 0.003
    least: float = 0.01

    def threshold(self, scale: float, count: int) -> float:
        """Return the least log ratio that is beyond the rule among `count` GPUs of this scale."""
        return max(factor(count) * max(scale, self.floor), math.log1p(self.least))

    def confirms(self, again: float, threshold: float) -> bool:
        """Tell whether a second measurement shows the effect again: CONFIRMING of the threshold, at least the least."""
        return again >= max(CONFIRMING * threshold, math.log1p(self.least))


@dataclass(frozen=True, slots=True)
class Beyond:
    """Which are slow (positions), and the median, scale and threshold that those left over give."""

    slow: tuple[int, ...]
    centre: float
    scale: float
    threshold: float


def centres(log_us: Array) -> Array:
    """Return the median time of each piece of work, (works,), from (members, works); NaN where nobody has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without any number has no median: NaN says it
        return np.asarray(np.nanmedian(log_us, axis=0)) if log_us.size else np.full(log_us.shape[1], np.nan)


def effect(ratios: Array) -> Effect | None:
    """Return the median of one GPU's log ratios, (works,), with its interval; None when it has none.

    A median, because a GPU is slow on all that uses what is wrong with it, while single cases have single reasons. Its
    interval is that of the sign test: the order statistics that hold the median with 95 % confidence, whatever the
    distribution (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2).
    """
    known = np.sort(ratios[np.isfinite(ratios)])
    count = len(known)
    if not count:
        return None
    rank = coin_quantile((1 - CONFIDENCE) / 2, count)
    low, high = (rank - 1, count - rank) if rank > 0 else (0, count - 1)
    return Effect(float(np.median(known)), float(known[max(low, 0)]), float(known[min(high, count - 1)]), count)


def factor(count: int) -> float:
    """Return k for a fleet of so many GPUs."""
    return -normal_quantile(FALSE_ALARMS / max(count, 1))


def scale(effects: Array) -> tuple[float, float]:
    """Return the median and the robust standard deviation of effects, (gpus,)."""
    centre = float(np.median(effects))
    return centre, NORMAL_MAD * float(np.median(np.abs(effects - centre)))


def beyond(effects: Array, rule: Rule) -> Beyond:
    """Hold the GPUs of a fleet, (gpus,) of finite effects, against each other."""
    order = np.argsort(-effects, kind="stable")
    count, set_aside = len(effects), 0
    for number in range(1, int(count * MOST_BAD) + 1):
        centre, spread = scale(effects[order[number:]])
        if effects[order[number - 1]] - centre > rule.threshold(spread, count):
            set_aside = number
    centre, spread = scale(effects[order[set_aside:]])
    slow = tuple(sorted(int(place) for place in order[:set_aside]))
    return Beyond(slow, centre, spread, rule.threshold(spread, count))
