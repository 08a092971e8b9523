"""What a change takes to be seen: the noise floors that repeated runs of one thing (A/A) show, and a plan of rounds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.controls import UNKNOWN, ceilings, tick
from gpubench.analysis.estimate import KEY, NORMAL, calibrated, result_times
from gpubench.analysis.rounds import DOUBT, TAILS, Noise, Rounds, is_timed, measured, prior
from gpubench.analysis.rule import POWER, Effect, Rule, rounds_to_see, sees
from gpubench.comparison import Comparison, Planned
from gpubench.errors import ComparisonError
from gpubench.model import Json, Record, ResultSet, Timing
from gpubench.names import HOST_CONTENDERS

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def plan(result: ResultSet, change: float, rule: Rule, kept: Sequence[Record] | None = None) -> tuple[Planned, ...]:
    """Return what each timed contender takes, so that two runs on this GPU show a relative change in 4 of 5 cases.

    kept: the records to plan for, all of them without it. The machine is taken to be as well known as this result's own
    ceilings and libraries let it be; runs to differ as H200s do, or as the result's calibration says. ComparisonError
    when nothing was timed.
    """
    wanted = [record for record in (result.records if kept is None else kept) if _counts(record)]
    if not wanted:
        raise ComparisonError("Nothing in the result was timed in two rounds or more: there is nothing to plan from.")
    effect, time_us, rounds = _hypothetical(result, wanted)
    band = rule.band(time_us)
    needed = rounds_to_see(effect, rounds, band, change, rule.alpha, len(wanted))
    least = np.expm1(sees(effect.with_rounds(0.0), band, rule.alpha, len(wanted)))
    second = _seconds_a_sample(result)
    return tuple(
        Planned(
            record.case.id,
            record.contender,
            float(time_us[number]),
            int(rounds[number]),
            int(needed[number]) or None,
            float(least[number]),
            None if second is None or not needed[number] else second * _samples(record) * int(needed[number]),
        )
        for number, record in enumerate(wanted)
    )


def _counts(record: Record) -> bool:
    rounds = record.timing.rounds if record.timing is not None else ()
    return is_timed(record) and record.contender not in HOST_CONTENDERS and len(rounds) > 1


def _hypothetical(result: ResultSet, wanted: Sequence[Record]) -> tuple[Effect, Array, Array]:
    """Return the effects of comparing two runs like this one in which nothing changed, their times, and the rounds."""
    swept: dict[Hashable, Rounds] = {name: rounds for name, (rounds, _) in ceilings(result, result).items()}
    known = result_times(result, swept)
    at = known.at([id(record) for record in wanted])
    time_us, noise = np.exp(known.log_us), _typical()
    device = np.ones(len(time_us), dtype=bool)
    host = [
        id(candidate)
        for candidate in result.records
        if candidate.contender in HOST_CONTENDERS and id(candidate) in known.place
    ]
    device[known.at(host)] = False
    information = np.stack([np.ones(len(time_us)), 1 / time_us], axis=1)[device]  # of (mu, a) in log t_new
    weight = 1 / (2 * known.variance + noise.variance(time_us))[device]
    covariance = np.linalg.inv((information * weight[:, None]).T @ information + np.linalg.inv(UNKNOWN))
    x = np.stack([np.ones(len(at)), 1 / time_us[at]], axis=1)
    runs = noise.variance(time_us[at]) + tick(time_us[at])
    repeated = calibrated(result)
    for number, record in enumerate(wanted):
        found = repeated.spread.get((record.case.id, record.contender)) if repeated else None
        if found is not None:
            own = known.variance[at[number]] * repeated.runs if repeated else 0.0  # of one run's rounds
            runs[number] = max(2 * (found[0] - own), tick(time_us[at[number]])[()])
    effect = Effect(
        np.zeros(len(at)),
        2 * known.variance[at],
        2 * known.freedom[at],
        runs,
        noise.weights,
        np.einsum("ni,ij,nj->n", x, covariance, x),
        4.0,
    )
    return effect, time_us[at], known.rounds[at]


def _typical() -> Noise:
    """Return what two runs on one GPU are expected to differ by before any was made."""
    start = prior(same_device=True)
    weights = (1 - DOUBT[True]) * start.weights
    weights[TAILS.argmin()] += DOUBT[True]
    return replace(start, weights=weights)


def _seconds_a_sample(result: ResultSet) -> float | None:
    """Return what one sample took of the timed phase, everything around it included; None where it is not recorded."""
    timings = result.extra.get("timings")
    whole = timings.get("time") if isinstance(timings, dict) else None
    count = sum(len(record.timing.samples) for record in result.records if record.timing is not None)
    return float(whole) / count if isinstance(whole, int | float) and count else None


def _samples(record: Record) -> float:
    """Return how many samples a round of the record has."""
    timing = record.timing
    return len(timing.samples) / max(len(timing.rounds), 1) if timing is not None else 0.0


# --- Calibration -----------------------------------------------------------------------------------------------------

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
    return merged, comparisons


def _key(record: Record) -> Key:
    return record.case.id, record.contender


def _floors(merged: ResultSet, rule: Rule) -> dict[Key, float]:
    """Return the least change that one more run would show in 4 of 5 repetitions, for each case that all runs timed."""
    known = calibrated(merged)
    if known is None or not known.spread:
        return {}
    variance, freedom = (np.asarray(column) for column in zip(*known.spread.values(), strict=True))
    times = {
        _key(record): float(np.median([x.us for x in record.timing.samples]))
        for record in merged.records
        if record.timing
    }
    time_us = np.asarray([times[key] for key in known.spread])
    zero = np.zeros(len(variance))
    effect = Effect(zero, variance * (1 + 1 / known.runs), freedom, tick(time_us), NORMAL, zero, 1e6)
    least = sees(effect, rule.band(time_us), rule.alpha, len(variance))
    return {key: round(float(floor), 6) for key, floor in zip(known.spread, np.expm1(least), strict=True)}


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
