"""What a calibrated result, which holds several runs of one suite, says of how much runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import Controls, estimate
from gpubench.analysis.pairing import measured, samples
from gpubench.analysis.rounds import medians, moderated
from gpubench.errors import ResultFileError
from gpubench.model import Record, ResultSet
from gpubench.names import HOST_CONTENDERS

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

KEY = "noise_floor"
"""Where a result file keeps its calibration."""

MOST_RUNS = 10_000


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibrated result: how many runs it holds, and by (case id, contender) the variance of the log time of one run
    (its rounds included) with its degrees of freedom.
    """

    result: ResultSet
    runs: int
    spread: Mapping[tuple[str, str], tuple[float, float]]


def calibrated(result: ResultSet) -> Calibrated | None:
    """Return what the result's own runs say; None when it was never calibrated.

    The rounds of all runs stand one after the other, `rounds_per_run` of each; a case of which a run lacks a round says
    nothing. ResultFileError when the entry is there but makes no sense.
    """
    entry = result.extra.get(KEY)
    if entry is None:
        return None
    runs, rounds = (_count(entry, name) for name in ("runs", "rounds_per_run"))
    means = {
        (record.case.id, record.contender): one
        for record in result.records
        if record.contender not in HOST_CONTENDERS and (one := _run_means(record, runs, rounds)) is not None
    }
    if not means:
        return Calibrated(result, runs, {})
    spread = run_spread(np.stack(list(means.values())))
    return Calibrated(result, runs, dict(zip(means, zip(*(one.tolist() for one in spread), strict=True), strict=True)))


def run_spread(log_us: Array) -> tuple[Array, Array]:
    """Return the variance of one run (cases,) and its degrees of freedom, from log times (cases, runs).

    Each run's own change of the machine is taken off first: what all cases do together is no noise of a case.
    """
    centre = log_us.mean(axis=1, keepdims=True)
    rest = log_us - centre
    time_us = np.exp(centre[:, 0])
    family = np.full(len(log_us), "all", dtype=object)
    for run in range(log_us.shape[1]):
        known = Controls(family, time_us, rest[:, run], np.full(len(log_us), 1e-8))
        rest[:, run] -= estimate(known, same_device=True).change.expected(time_us)[0]
    freedom = log_us.shape[1] - 1
    spread = moderated(time_us, (rest**2).sum(axis=1) / freedom, np.full(len(log_us), freedom))
    return spread.variance, spread.freedom


def _run_means(record: Record, runs: int, rounds: int) -> Array | None:
    """Return the mean log round median of each run, (runs,); None where the record does not hold all of them."""
    if not measured(record) or record.timing is None or len(record.timing.rounds) != runs * rounds:
        return None
    logs, _ = medians(samples(record))
    return logs.reshape(runs, rounds).mean(axis=1) if len(logs) == runs * rounds else None


def _count(entry: object, name: str) -> int:
    value = entry.get(name) if isinstance(entry, Mapping) else None
    least = 2 if name == "runs" else 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_RUNS:
        raise ResultFileError(f"{KEY}.{name}: is not a whole number from {least} to {MOST_RUNS}")
    return value


def all_calibrated(results: Sequence[ResultSet]) -> list[Calibrated]:
    """Return the calibrations among these results."""
    return [one for result in results if (one := calibrated(result)) is not None]
