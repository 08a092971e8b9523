"""Calibration: what repeated runs of the same thing (A/A) say about the noise, put into one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpubench.analysis import planning
from gpubench.analysis.compare import Options, compare
from gpubench.analysis.controls import tick
from gpubench.analysis.estimate import NORMAL
from gpubench.analysis.pairing import measured
from gpubench.analysis.repeated import KEY, calibrated
from gpubench.analysis.rule import Effect, Rule
from gpubench.comparison import Comparison
from gpubench.errors import ComparisonError
from gpubench.model import Json, Record, ResultSet, Timing

Key = tuple[str, str]
_CLOCKS = ("sm_mhz", "discarded_sm_mhz")

Summarise = Callable[[Record], Mapping[str, Json] | None]


def calibrate(runs: Sequence[ResultSet], rule: Rule, summarise: Summarise) -> tuple[ResultSet, tuple[Comparison, ...]]:
    """Return one result with the rounds of all runs and their `noise_floor`, and the comparisons of the runs.

    `summarise` makes the summary of a record anew. ComparisonError with fewer than 2 runs, or when nothing was timed
    in two of them.
    """
    if len(runs) < 2:
        raise ComparisonError("A calibration needs at least 2 runs of the same suite.")
    tables = [{_key(record): record for record in run.records} for run in runs]
    keys = list(dict.fromkeys(key for table in tables for key in table))
    timed = [key for key in keys if sum(key in table and measured(table[key]) for table in tables) >= 2]
    if not timed:
        raise ComparisonError("Nothing was timed in at least 2 of the runs: there is no noise to measure.")
    comparisons = _against_each_other(runs, rule)
    records = tuple(_merged([table[key] for table in tables if key in table], summarise) for key in keys)
    last = runs[-1]
    entry: dict[str, Any] = {
        "runs": len(runs),
        "rounds_per_run": max(len(one.timing.rounds) for run in runs for one in run.records if one.timing is not None),
        "alpha": rule.alpha,
        "threshold": rule.threshold,
        "power": planning.POWER,
        **_false_alarms(comparisons),
    }
    merged = replace(last, records=records, extra={**last.extra, KEY: entry})
    floor = _floors(merged, rule)
    entry["floors"] = [{"case": one, "contender": other, "floor": floor.get((one, other))} for one, other in timed]
    return merged, comparisons


def _key(record: Record) -> Key:
    return record.case.id, record.contender


def _floors(merged: ResultSet, rule: Rule) -> dict[Key, float]:
    """Return the least change that one more run would show in 4 of 5 repetitions, for each case that all runs timed."""
    known = calibrated(merged)
    if known is None or not known.spread:
        return {}
    variance, freedom = (np.asarray(one) for one in zip(*known.spread.values(), strict=True))
    times = {_key(one): float(np.median([x.us for x in one.timing.samples])) for one in merged.records if one.timing}
    time_us = np.asarray([times[key] for key in known.spread])
    zero = np.zeros(len(variance))
    effect = Effect(zero, variance * (1 + 1 / known.runs), freedom, tick(time_us), NORMAL, zero, 1e6)
    least = planning.sees(effect, rule.band(time_us), rule.alpha, len(variance))
    return {key: round(float(one), 6) for key, one in zip(known.spread, np.expm1(least), strict=True)}


def _against_each_other(runs: Sequence[ResultSet], rule: Rule) -> tuple[Comparison, ...]:
    """Compare every run with every later one."""
    judged = replace(rule, adjust=True)
    return tuple(
        compare(old, new, Options(judged, old=f"run {i + 1}", new=f"run {j + 1}"))
        for i, old in enumerate(runs)
        for j, new in enumerate(runs)
        if i < j
    )


def _false_alarms(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return how many gates between the runs, taken both ways, failed although nothing had changed."""
    called = [
        [row.estimate.ratio > 1 for row in one.rows if row.verdict in CHANGED and row.estimate is not None]
        for one in comparisons
    ]
    failed = sum((True in one) + (False in one) for one in called)
    gates = 2 * len(comparisons)
    return {
        "gates": gates,
        "gates_failed": failed,
        "false_positive_rate": failed / gates,
        "pairs": sum(len(one.rows) for one in comparisons),
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
    starts = np.cumsum([0, *(len(one.rounds) for one in timings)]).tolist()
    timing = Timing(
        rounds=tuple(one for timing in timings for one in timing.rounds),
        discarded=tuple(
            (start + number, sample)
            for start, timing in zip(starts, timings, strict=False)
            for number, sample in timing.discarded
        ),
        noisy=any(one.noisy for one in timings),
        throttled=any(one.throttled for one in timings),
        message=next((one.message for one in reversed(timings) if one.message), None),
    )
    last = records[-1]
    worst = next((one for one in records if one.status != "ok"), last)
    telemetry = None
    if last.telemetry is not None:  # the clocks of the samples stand with the samples, and are written from there
        telemetry = {key: value for key, value in last.telemetry.items() if key not in _CLOCKS}
    merged = replace(last, status=worst.status, message=worst.message, timing=timing, telemetry=telemetry)
    return replace(merged, summary=summarise(merged))
