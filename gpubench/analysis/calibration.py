"""What repeated runs of one thing (A/A) show: a result with the rounds of all of them, and what it says of noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import Controls, estimate, tick
from gpubench.analysis.rounds import NORMAL, measured, medians, moderated, samples
from gpubench.analysis.rule import POWER, Effect, Rule, sees
from gpubench.comparison import Comparison
from gpubench.errors import ComparisonError, ResultFileError
from gpubench.model import Json, Record, ResultSet, Timing
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
    return Calibrated(
        result, runs, dict(zip(means, zip(*(column.tolist() for column in spread), strict=True), strict=True))
    )


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


# --- Made ------------------------------------------------------------------------------------------------------------

Key = tuple[str, str]

_CLOCKS = ("sm_mhz", "discarded_sm_mhz")


Summarise = Callable[[Record], Mapping[str, Json] | None]


def calibrate(
    runs: Sequence[ResultSet], comparisons: Sequence[Comparison], rule: Rule, summarise: Summarise
) -> ResultSet:
    """Return one result with the rounds of all runs and their `noise_floor`.

    `comparisons`: of the runs with each other. `summarise` makes the summary of a record anew. ComparisonError with
    fewer than 2 runs, or when nothing was timed in two of them.
    """
    if len(runs) < 2:
        raise ComparisonError("A calibration needs at least 2 runs of the same suite.")
    tables = [{_key(record): record for record in run.records} for run in runs]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    timed = [key for key in keys if sum(key in table and measured(table[key]) for table in tables) >= 2]
    if not timed:
        raise ComparisonError("Nothing was timed in at least 2 of the runs: there is no noise to measure.")
    records = tuple(_merged([table[key] for table in tables if key in table], summarise) for key in keys)
    last = runs[-1]
    entry: dict[str, Any] = {
        "runs": len(runs),
        "rounds_per_run": max(
            len(record.timing.rounds) for run in runs for record in run.records if record.timing is not None
        ),
        "alpha": rule.alpha,
        "threshold": rule.threshold,
        "power": POWER,
        **_false_alarms(comparisons),
    }
    merged = replace(last, records=records, extra={**last.extra, KEY: entry})
    floor = _floors(merged, rule)
    entry["floors"] = [{"case": case, "contender": other, "floor": floor.get((case, other))} for case, other in timed]
    return merged


def _key(record: Record) -> Key:
    return record.case.id, record.contender


def _floors(merged: ResultSet, rule: Rule) -> dict[Key, float]:
    """Return the least change that one more run would show in 4 of 5 repetitions, for each case that all runs timed."""
    known = calibrated(merged)
    if known is None or not known.spread:
        return {}
    variance, freedom = (np.asarray(column) for column in zip(*known.spread.values(), strict=True))
    times = {
        _key(record): float(np.median([sample.us for sample in record.timing.samples]))
        for record in merged.records
        if record.timing
    }
    time_us = np.asarray([times[key] for key in known.spread])
    zero = np.zeros(len(variance))
    effect = Effect(zero, variance * (1 + 1 / known.runs), freedom, tick(time_us), NORMAL, zero, 1e6)
    least = sees(effect, rule.band(time_us), rule.alpha, len(variance))
    return {key: round(float(floor), 6) for key, floor in zip(known.spread, np.expm1(least), strict=True)}


def _false_alarms(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return how many gates between the runs, taken both ways, failed although nothing had changed."""
    called = [
        [row.estimate.ratio > 1 for row in comparison.rows if row.verdict in CHANGED and row.estimate is not None]
        for comparison in comparisons
    ]
    failed = sum((True in calls) + (False in calls) for calls in called)
    gates = 2 * len(comparisons)
    return {
        "gates": gates,
        "gates_failed": failed,
        "false_positive_rate": failed / gates,
        "pairs": sum(len(comparison.rows) for comparison in comparisons),
        "pairs_called_changed": sum(map(len, called)),
    }


CHANGED = ("SLOWER", "FASTER", "DRIFTED")
"""Verdicts that are false alarms where nothing changed."""


def _merged(records: Sequence[Record], summarise: Summarise) -> Record:
    """Return one record with the rounds of all; the last one that was not measured wins, so that no failure is lost."""
    for record in reversed(records):
        if not measured(record):
            return record
    timings = [record.timing for record in records if record.timing is not None]
    if not timings:
        return records[-1]
    starts = np.cumsum([0, *(len(part.rounds) for part in timings)]).tolist()
    timing = Timing(
        rounds=tuple(samples for timing in timings for samples in timing.rounds),
        discarded=tuple(
            (start + number, sample)
            for start, timing in zip(starts, timings, strict=False)
            for number, sample in timing.discarded
        ),
        noisy=any(part.noisy for part in timings),
        throttled=any(part.throttled for part in timings),
        message=next((part.message for part in reversed(timings) if part.message), None),
    )
    last = records[-1]
    worst = next((candidate for candidate in records if candidate.status != "ok"), last)
    telemetry = None
    if last.telemetry is not None:  # the clocks of the samples stand with the samples, and are written from there
        telemetry = {key: value for key, value in last.telemetry.items() if key not in _CLOCKS}
    merged = replace(last, status=worst.status, message=worst.message, timing=timing, telemetry=telemetry)
    return replace(merged, summary=summarise(merged))
