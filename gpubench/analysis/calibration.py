"""Calibration: what repeated runs of the same thing (A/A) say about the noise, put into one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpubench.analysis import floors
from gpubench.analysis.compare import Options, compare
from gpubench.analysis.pairing import measured, samples
from gpubench.analysis.power import POWER
from gpubench.analysis.rounds import side
from gpubench.analysis.rule import Rule
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
    floor = _floors(tables, timed, rule.alpha)
    entry = {
        "runs": len(runs),
        "rounds_per_run": max(len(one.timing.rounds) for run in runs for one in run.records if one.timing is not None),
        "alpha": rule.alpha,
        "threshold": rule.threshold,
        "power": POWER,
        **_false_alarms(comparisons),
        "floors": [
            {"case": case, "contender": contender, "floor": floor[case, contender]} for case, contender in timed
        ],
    }
    records = tuple(_merged([table[key] for table in tables if key in table], summarise) for key in keys)
    last = runs[-1]
    return replace(last, records=records, extra={**last.extra, floors.KEY: entry}), comparisons


def _key(record: Record) -> Key:
    return record.case.id, record.contender


def _floors(tables: Sequence[Mapping[Key, Record]], timed: Sequence[Key], alpha: float) -> dict[Key, float | None]:
    sides = [
        side([samples(table[key]) if key in table and measured(table[key]) else [] for key in timed])
        for table in tables
    ]
    group = np.unique([contender for _, contender in timed], return_inverse=True)[1]
    found = floors.floors(sides, group, alpha)
    return {key: round(float(one), 6) if np.isfinite(one) else None for key, one in zip(timed, found, strict=True)}


def _against_each_other(runs: Sequence[ResultSet], rule: Rule) -> tuple[Comparison, ...]:
    """Compare every run with every later one by its times alone."""
    judged = replace(rule, trust_same_code=False)
    return tuple(
        compare(old, new, Options(judged, old=f"run {i + 1}", new=f"run {j + 1}", host=True))
        for i, old in enumerate(runs)
        for j, new in enumerate(runs)
        if i < j
    )


def _false_alarms(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return how many gates between the runs, taken both ways, failed although nothing had changed."""
    failed = sum((one.count("SLOWER") > 0) + (one.count("FASTER") > 0) for one in comparisons)
    pairs = sum(len(one.rows) for one in comparisons)
    changed = sum(one.count("SLOWER") + one.count("FASTER") for one in comparisons)
    gates = 2 * len(comparisons)
    return {
        "gates": gates,
        "gates_failed": failed,
        "false_positive_rate": failed / gates,
        "pairs": pairs,
        "pairs_called_changed": changed,
    }


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
