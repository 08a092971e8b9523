"""What the times of two results say of each pair: the change beyond the machine's, and how well it is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis import pairing
from gpubench.analysis.controls import CEILINGS, OURS, Controls, Machine, ceilings, estimate, tick
from gpubench.analysis.pairing import Pair, keyed
from gpubench.analysis.rounds import (
    Rounds,
    Times,
    differences,
    measured,
    medians,
    moderated,
    round_variance,
    samples,
    times,
    typical_us,
)
from gpubench.analysis.rule import Effect
from gpubench.errors import ResultFileError
from gpubench.model import Record, ResultSet
from gpubench.names import HOST_CONTENDERS, is_ours

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

HOST_SHARE = 0.02
"""What a contender's time on the host differs by from run to run: no control tells."""

NORMAL = np.asarray([0.0, 0.0, 0.0, 1.0])
"""Weights of the tails where runs play no part."""


@dataclass(frozen=True, slots=True)
class Estimated:
    """Pairs, all timed on both sides, and what their times say; arrays have the shape (pairs,).

    `measured`: the log ratio of new over old; `expected`: what the machine's change makes of it. `rounds`: of the side
    that has fewer. `few`: why a pair has too few samples for any verdict. `unchanged`: the same work on both sides.
    `machine`: None within one result. `controls`: unchanged pairs of any contender, `ceilings`: of the harness.
    """

    pairs: Sequence[Pair]
    log_us: tuple[Array, Array]
    measured: Array
    expected: Array
    effect: Effect
    rounds: Array
    few: Sequence[str | None]
    unchanged: Array
    calibrated: Array
    machine: Machine | None = None
    controls: int = 0
    ceilings: int = 0


LEAST_SAMPLES = 6
"""Fewer samples of a side have no interval of their median at all (95 %, by order)."""


def too_few(pair: Pair) -> str | None:
    """Return why a pair has too few samples for any verdict, None when they suffice."""
    sides = [samples(record) if record is not None else [] for record in (pair.old, pair.new)]
    for name, rounds in zip(("old", "new"), sides, strict=True):
        if len(rounds) < 2:
            return f"fewer than 2 rounds ({name})"
    sizes = [sum(map(len, rounds)) for rounds in sides]
    return f"too few samples ({sizes[0]} and {sizes[1]})" if min(sizes) < LEAST_SAMPLES else None


def family(record: Record) -> str:
    """Return the family of a record's contender: those that launch in the same way."""
    return OURS if is_ours(record.contender) else record.contender


def between_results(
    timed: Sequence[Pair], old: ResultSet, new: ResultSet, calibrations: Sequence[Calibrated]
) -> Estimated:
    """Estimate pairs of two results, which may be one result in which two contenders are compared."""
    swept = {} if old is new else ceilings(old, new)
    before = result_times(old, {name: rounds for name, (rounds, _) in swept.items()})
    after = before if old is new else result_times(new, {name: rounds for name, (_, rounds) in swept.items()})
    a = before.at([id(pair.old) for pair in timed])
    b = after.at([id(pair.new) for pair in timed])
    machine, unchanged, controls = None, np.zeros(len(timed), dtype=bool), 0
    if old is not new:
        unchanged = np.asarray([pairing.unchanged(pair, old, new) for pair in timed], dtype=bool)
        known = _controls(old, new, before, after, list(swept))
        machine, controls = estimate(known, pairing.same_device(old, new)), len(known.time_us)
    families = np.asarray([family(pair.either) for pair in timed], dtype=object)
    effect = effects(before, after, a, b, machine, families)
    effect, calibrated = _by_repetition(effect, timed, (old, new), calibrations)
    measured = after.log_us[b] - before.log_us[a]
    return Estimated(
        pairs=timed,
        log_us=(before.log_us[a], after.log_us[b]),
        measured=measured,
        expected=measured - effect.value,
        effect=effect,
        rounds=np.minimum(before.rounds[a], after.rounds[b]),
        few=[too_few(pair) for pair in timed],
        unchanged=unchanged,
        calibrated=calibrated,
        machine=machine,
        controls=controls,
        ceilings=len(swept),
    )


def effects(before: Times, after: Times, old: Array, new: Array, machine: Machine | None, families: Array) -> Effect:
    """Return the effects of pairs, (pairs,), beyond the machine's change; None: within one result, where there is none.

    `old`, `new`: their places in `before` and `after`; `families`: by name.
    """
    log_us, variances = before.log_us[old], (before.variance[old], after.variance[new])
    value, variance = after.log_us[new] - log_us, variances[0] + variances[1]
    freedom = variance**2 / (variances[0] ** 2 / before.freedom[old] + variances[1] ** 2 / after.freedom[new])
    middle = np.exp(log_us + value / 2)  # the same for old against new and new against old
    runs, known = tick(middle), np.zeros(len(old))
    if machine is None:
        return Effect(value, variance, freedom, runs, NORMAL, known, 1e6)
    for name in dict.fromkeys(families.tolist()):
        at = families == name
        if name in HOST_CONTENDERS:
            runs[at] += HOST_SHARE**2
            continue
        expected, known[at] = machine.of(name).expected(np.exp(log_us[at]))
        value[at] -= expected
        runs[at] += machine.noise.variance(middle[at])
    return Effect(value, variance, freedom, runs, machine.noise.weights, known, machine.change.freedom)


def _by_repetition(
    effect: Effect,
    timed: Sequence[Pair],
    results: tuple[ResultSet, ResultSet],
    calibrations: Sequence[Calibrated],
) -> tuple[Effect, Array]:
    """Return the effects with the variance that repeated runs showed, where they did, and where that is."""
    variance, freedom, runs = effect.rounds.copy(), effect.rounds_freedom.copy(), effect.runs.copy()
    known = np.zeros(len(timed), dtype=bool)
    for number, pair in enumerate(timed):
        found = _calibrated(pair, results, calibrations)
        if found is not None:
            known[number], (variance[number], freedom[number]) = True, found
            runs[number] = tick(np.asarray([typical_us(samples(pair.either))]))[0]
    return replace(effect, rounds=variance, rounds_freedom=freedom, runs=runs), known


def within_rounds(timed: Sequence[Pair]) -> Estimated:
    """Estimate pairs that were timed alternately in the rounds of one result: the ratio of a round is the unit."""
    sides = [_aligned(pair) for pair in timed]
    both = [differences(*side) for side in sides]
    ratios = [ratio for ratio, _ in both]
    whole = [times({0: first, 1: other}) for first, other in sides]
    log_us = tuple(np.asarray([pair.log_us[i] if len(pair.log_us) > i else 0.0 for pair in whole]) for i in range(2))
    count = np.asarray([len(ratio) for ratio in ratios], dtype=np.int64)
    value = np.asarray([float(ratio.mean()) if len(ratio) else 0.0 for ratio in ratios])
    own = np.asarray([round_variance(*pair) for pair in both])
    time_us = np.exp((log_us[0] + log_us[1]) / 2)
    spread = moderated(time_us, own, np.maximum(count - 1, 0))
    zero = np.zeros(len(timed))
    some = np.maximum(count, 1)
    effect = Effect(value, spread.variance / some, spread.freedom, tick(time_us) / some, NORMAL, zero, 1e6)
    no = np.zeros(len(timed), dtype=bool)
    alike = np.asarray([pairing.same_code(pair.old, pair.new) for pair in timed if pair.old and pair.new], dtype=bool)
    few = [too_few(pair) for pair in timed]
    return Estimated(timed, (log_us[0], log_us[1]), value, zero, effect, count, few, alike, no)


def _aligned(pair: Pair) -> tuple[list[list[float]], list[list[float]]]:
    """Return the samples of the rounds that both have, so that rounds of two contenders stay side by side."""
    old, new = pair.old, pair.new
    if old is None or new is None or old.timing is None or new.timing is None or not samples(old) or not samples(new):
        return [], []
    both = [(a, b) for a, b in zip(old.timing.rounds, new.timing.rounds, strict=False) if a and b]
    return [[sample.us for sample in a] for a, _ in both], [[sample.us for sample in b] for _, b in both]


def result_times(result: ResultSet, swept: Mapping[Hashable, Rounds]) -> Times:
    """Return the times of everything that the run timed; its records by their identity, the ceilings by their name."""
    records: dict[Hashable, Rounds] = {id(record): samples(record) for record in result.records}
    host = {id(record) for record in result.records if record.contender in HOST_CONTENDERS}
    return times(records | dict(swept), apart=(host, set(swept)))


def _controls(old: ResultSet, new: ResultSet, before: Times, after: Times, swept: Sequence[str]) -> Controls:
    """Return everything that did not change between the results, whatever is compared."""
    ours, theirs = keyed(old.records), keyed(new.records)
    pairs = [Pair(record, theirs[key]) for key, record in ours.items() if key in theirs]
    kept = [pair for pair in pairs if pair.is_timed and pairing.unchanged(pair, old, new)]
    families = [family(pair.either) for pair in kept] + [CEILINGS] * len(swept)
    a = before.at([*(id(pair.old) for pair in kept), *swept])
    b = after.at([*(id(pair.new) for pair in kept), *swept])
    log_ratio = after.log_us[b] - before.log_us[a]
    return Controls(
        np.asarray(families, dtype=object),
        np.exp(before.log_us[a]),
        log_ratio,
        before.variance[a] + after.variance[b],
    )


def _calibrated(
    pair: Pair, results: tuple[ResultSet, ResultSet], calibrations: Sequence[Calibrated]
) -> tuple[float, float] | None:
    """Return the variance of a pair's log ratio by what repeated runs showed, and its degrees of freedom; else None."""
    record = pair.either
    best = max(
        (calibration for calibration in calibrations if (record.case.id, record.contender) in calibration.spread),
        key=lambda calibration: calibration.runs,
        default=None,
    )
    if best is None:
        return None
    variance, freedom = best.spread[record.case.id, record.contender]
    runs = [
        next((calibration.runs for calibration in calibrations if calibration.result is side), 1) for side in results
    ]
    return variance * (1 / runs[0] + 1 / runs[1]), freedom


# --- What repeated runs showed ---------------------------------------------------------------------------------------

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
