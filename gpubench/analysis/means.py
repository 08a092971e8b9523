"""Geometric means of the changes of a contender's pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import Estimated, family
from gpubench.analysis.moderate import CONFIDENCE
from gpubench.analysis.rule import Effect
from gpubench.comparison import Mean

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def geometric_means(estimated: Estimated, members: Array) -> tuple[Mean, ...]:
    """Return a mean for each contender with two or more pairs among `members`, and of all where there are several.

    The interval says how well this set of cases was measured, not how other cases would do.
    """
    groups: dict[str, list[int]] = {}
    for number in members.tolist():
        groups.setdefault(estimated.pairs[number].either.contender, []).append(number)
    found = [_mean("all", members.tolist(), estimated)] if len(groups) > 1 else []
    return (*found, *(_mean(name, one, estimated) for name, one in groups.items() if len(one) > 1))


def _mean(name: str, members: Sequence[int], estimated: Estimated) -> Mean:
    at = np.asarray(members, dtype=np.int64)
    centre, half = float(estimated.effect.value[at].mean()), mean_half(estimated.effect, at)
    ratio, low, high = np.exp([centre, centre - half, centre + half]).tolist()
    machine = estimated.machine
    held = machine is None or all(family(estimated.pairs[i].either) in machine.families for i in members)
    return Mean(name, len(at), ratio, low, high, held)


def mean_half(effect: Effect, at: Array) -> float:
    """Return half the width of the 95 % interval of the mean log ratio of the pairs at these places."""
    from scipy.stats import t

    count = len(at)
    own = effect.total()[0][at] - effect.machine[at]
    # The machine's part is one and the same for all pairs of a family, and nearly so for all: it does not average out.
    shared = float(np.sqrt(effect.machine[at]).mean()) ** 2
    variance = float(own.sum()) / count**2 + shared
    parts = float((own**2 / effect.rounds_freedom[at]).sum()) / count**4 + shared**2 / effect.machine_freedom
    freedom = variance**2 / parts if parts > 0 else 1e6
    return float(t.ppf((1 + CONFIDENCE) / 2, max(freedom, 1.0)) * np.sqrt(variance))
