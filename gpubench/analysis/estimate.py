"""What the times of two results say of each pair: the change beyond the machine's, and how well it is known."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis import pairing
from gpubench.analysis.calibration import Calibrated
from gpubench.analysis.controls import CEILINGS, OURS, Controls, Machine, estimate, tick
from gpubench.analysis.pairing import Pair
from gpubench.analysis.rounds import (
    NORMAL,
    Rounds,
    Times,
    log_ratios,
    moderated,
    round_variance,
    samples,
    times,
    typical_us,
)
from gpubench.analysis.rule import Effect
from gpubench.model import Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, is_ours

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

HOST_SHARE = 0.02
"""What a contender's time on the host differs by from run to run: no control tells."""


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
    both = [log_ratios(*side) for side in sides]
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


def _controls(old: ResultSet, new: ResultSet, before: Times, after: Times, swept: Sequence[str]) -> Controls:
    """Return everything that did not change between the results, whatever is compared."""
    kept = pairing.unchanged_pairs(old, new)
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


# --- What a run timed -----------------------------------------------------------------------------------------------


def result_times(result: ResultSet, swept: Mapping[Hashable, Rounds]) -> Times:
    """Return the times of everything that the run timed; its records by their identity, the ceilings by their name."""
    records: dict[Hashable, Rounds] = {id(record): samples(record) for record in result.records}
    host = {id(record) for record in result.records if record.contender in HOST_CONTENDERS}
    return times(records | dict(swept), apart=(host, set(swept)))


HINTED = "evict_first"
"""In the names of the ceiling's kernels whose loads the L2 cache gives up first."""


def ceilings(old: ResultSet, new: ResultSet) -> dict[str, tuple[list[list[float]], list[list[float]]]]:
    """Return the times, in rounds, of what both runs of the harness did alike: name -> (old, new).

    The sweep of copies, reads and writes, the empty launch and the event pair around nothing. Where one result has
    its rounds and the other a single sweep, the single sweeps of both are taken, but for what a kernel won that the
    other's protocol did not have.
    """
    again = bool(old.ceiling.rounds and new.ceiling.rounds)
    sides: Json = [result.ceiling.rounds if again else [result.ceiling] for result in (old, new)]
    before, after = ([dict(_named(sweep, again)) for sweep in side] for side in sides)
    found = {}
    for name in before[0]:
        ours, theirs = ([[us] for sweep in side if (us := sweep.get(name)) and us > 0] for side in (before, after))
        if ours and theirs:
            found[name] = (ours, theirs)
    return found


def _named(sweep: Json, by_kernel: bool) -> Iterator[tuple[str, float | None]]:
    """Yield name and time of everything in a ceiling or one of its rounds; `by_kernel` names its kernel too.

    Without it, too, reads and copies that the L2 cache gives up first have a name of their own: protocol 1 had none.
    """
    yield "launch", sweep.launch_us
    yield "event pair", sweep.event_overhead_us
    for point in sweep.sweep:
        for what in ("copy", "read", "write"):
            by = getattr(point, f"{what}_by")
            told = f" by {by}" if by_kernel or HINTED in (by or "") else ""
            yield f"{what} of {point.bytes}{told}", getattr(point, f"{what}_us")
