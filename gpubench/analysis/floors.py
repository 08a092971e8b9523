"""Noise floors: from repeated runs, and as a result file carries them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import RUN_DRIFT, with_known
from gpubench.analysis.power import noise_floor
from gpubench.analysis.rounds import Side
from gpubench.analysis.variance import moderate
from gpubench.errors import ResultFileError
from gpubench.model import ResultSet

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


KEY = "noise_floor"
"""Where a result file keeps its calibration."""


def floors(runs: Sequence[Side], group: Array, alpha: float) -> Array:
    """Return the noise floor of each case, (cases,): inf where there are fewer than 2 runs of at least 2 rounds.

    Two estimates of how far two runs lie apart, and the larger one counts: from the runs themselves, which see what
    changes between processes but are few, and from the rounds inside them, which are many but see one process each.
    """
    level = _level(runs)
    between = _between_runs(runs, group, level)
    rounds = np.stack([run.rounds for run in runs])
    squares = np.sum([run.squares for run in runs], axis=0)
    within = np.mean([run.within for run in runs], axis=0)
    usable = (rounds >= 2).sum(axis=0) >= 2
    freedom = np.where(usable, np.maximum(rounds - 1, 0).sum(axis=0), 0)
    per_run = np.where(usable, rounds.sum(axis=0) / np.maximum((rounds > 0).sum(axis=0), 1), 2.0)
    moderated = moderate(np.maximum(squares / np.maximum(freedom, 1), within), freedom, group, level)
    inside = moderated.variance / per_run
    own = np.maximum(np.rint(2 * (per_run - 1)), 1)
    test_freedom = np.where(usable, own + moderated.freedom - freedom, 0.0)
    estimated = 2 * np.maximum(between - RUN_DRIFT**2, inside)
    variance, test_freedom = with_known(estimated, test_freedom, 2 * RUN_DRIFT**2)
    return noise_floor(np.sqrt(variance), test_freedom, own, estimated / variance, alpha, max(int(usable.sum()), 1))


def _level(runs: Sequence[Side]) -> Array:
    """Return the mean of the logarithms of the times over the runs that have any, (cases,)."""
    present = np.stack([run.rounds > 0 for run in runs])
    total = np.where(present, np.stack([run.mean for run in runs]), 0.0).sum(axis=0)
    return np.asarray(total / np.maximum(present.sum(axis=0), 1))


def _between_runs(runs: Sequence[Side], group: Array, centre: Array) -> Array:
    """Return the variance between the means of runs, (cases,), never under that of the typical case."""
    present = np.stack([run.rounds > 0 for run in runs])
    means = np.stack([run.mean for run in runs])
    count = present.sum(axis=0)
    squares = np.where(present, (means - centre) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(count - 1, 0)
    return moderate(squares / np.maximum(freedom, 1), freedom, group, centre).variance


def stored(result: ResultSet) -> dict[tuple[str, str], float]:
    """Return the noise floors that a result carries, by (case id, contender); empty when it was never calibrated.

    Format: `noise_floor: {runs, alpha, power, false_positive_rate, ..., floors: [{case, contender, floor}, ...]}`.
    ResultFileError when the entry is there but makes no sense.
    """
    entry = result.extra.get(KEY)
    if entry is None:
        return {}
    rows = entry.get("floors") if isinstance(entry, Mapping) else None
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise ResultFileError(f"{KEY}.floors: is not a list")
    floors = {}
    for number, row in enumerate(rows):
        case, contender, floor = (row.get(key) if isinstance(row, Mapping) else None for key in _ROW)
        if not isinstance(case, str) or not isinstance(contender, str):
            raise ResultFileError(f"{KEY}.floors[{number}]: has no case or contender")
        if floor is None:
            continue  # too few runs to tell
        if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor < math.inf:
            raise ResultFileError(f"{KEY}.floors[{number}].floor: is not a number of at least 0")
        floors[case, contender] = float(floor)
    return floors


_ROW = ("case", "contender", "floor")
