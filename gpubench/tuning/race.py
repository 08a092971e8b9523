"""A race: which contenders are behind the leader for certain, by the intervals of their rounds.

The unit is the round, as in a comparison: contenders of one round are paired, rounds of short cases lend each other
their typical variance (`rounds.moderated`). Cases count alike: what is judged is the mean log ratio over them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpubench.analysis.rounds import Rounds, log_ratios, moderated, round_variance, typical_us

if TYPE_CHECKING:
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]

BEHIND = 3.0
"""Standard errors beyond which a contender is behind: at most one in seven hundred is dropped by chance."""

Times = Mapping[str, Rounds]
"""The rounds of one contender, by case."""


@dataclass(frozen=True, slots=True)
class Lap:
    """How a contender stands to another: the mean log ratio over the cases, and its standard error; `worst`: the
    highest log ratio of a single case, less BEHIND of its standard errors.
    """

    log_ratio: float
    error: float
    worst: float

    @property
    def is_behind(self) -> bool:
        """Whether it is behind for certain."""
        return self.log_ratio > BEHIND * self.error


def laps(field: Sequence[Times], against: Times) -> list[Lap]:
    """Return how each contender stands to `against`; all have the same cases. Rounds are paired by their number."""
    flat = [log_ratios(against[case], times[case]) for times in field for case in against]
    us = np.asarray([typical_us(times[case]) for times in field for case in against])
    own = np.asarray([round_variance(*found) for found in flat])
    count = np.asarray([len(logs) for logs, _ in flat])
    spread = moderated(us, own, np.maximum(count - 1, 0))
    errors = np.sqrt(spread.variance / np.maximum(count, 1)).reshape(len(field), -1)
    means = np.asarray([logs.mean() if len(logs) else 0.0 for logs, _ in flat]).reshape(len(field), -1)
    whole = np.sqrt((errors**2).sum(axis=1)) / errors.shape[1]
    worst = (means - BEHIND * errors).max(axis=1)
    return [Lap(*map(float, found)) for found in zip(means.mean(axis=1), whole, worst, strict=True)]


def race(field: Mapping[str, Times], incumbent: str, resolution: float) -> tuple[dict[str, Lap], bool]:
    """Return who stays in the race, with how each stands to the leader, and whether it is over.

    Out is who is behind the leader for certain, and who takes more than 1 + `resolution` of the incumbent's time on a
    case for certain; the incumbent stays. The race is over when nobody else could be ahead by more than `resolution`.
    """
    names = list(field)
    against = dict(zip(names, laps([field[name] for name in names], field[incumbent]), strict=True))
    limit = float(np.log1p(resolution))
    fit = [name for name in names if name == incumbent or against[name].worst <= limit]
    leader = min(fit, key=lambda name: (against[name].log_ratio, name))
    found = dict(zip(fit, laps([field[name] for name in fit], field[leader]), strict=True))
    stay = {name: lap for name, lap in found.items() if name == incumbent or not lap.is_behind}
    open_ = [lap for name, lap in stay.items() if name != leader and not lap.is_behind]
    return stay, all(BEHIND * lap.error <= resolution for lap in open_)
