"""Comparing two results: pair, estimate, judge, explain. docs/statistics.md tells the rule and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gpubench.analysis import pairing
from gpubench.analysis.estimate import Estimated, between_results, calibrated, within_rounds
from gpubench.analysis.judge import Outcome, geometric_means, machine_change, outcomes
from gpubench.analysis.pairing import Pair, Selection, chosen, is_positive, pairs, same_code
from gpubench.analysis.rounds import measured, samples, typical_us
from gpubench.analysis.rule import Rule
from gpubench.comparison import Comparison, Difference, Row, Verdict
from gpubench.errors import ComparisonError
from gpubench.model import Json, Record, ResultSet
from gpubench.names import FAILED, HOST_CONTENDERS, MEASURED, REFUTED

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

LISTED = 5
"""How many cases a refusal names."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. `old` and `new`: what people call the results. `allow_different`: compare what should not be.

    `interleaved`: the two contenders of the selection were timed alternately in the rounds of one result, so that the
    differences within rounds count. `calibrations`: results of `calibrate` beside the two compared.
    `host`: compare numpy as well. Its times are the host's, and say nothing about a kernel. `estimate`: what the times
    of pairs say, where not only the two results tell it (a history does).
    """

    rule: Rule = field(default_factory=Rule)
    selection: Selection = field(default_factory=Selection)
    old: str = "baseline"
    new: str = "new"
    allow_different: bool = False
    interleaved: bool = False
    calibrations: tuple[ResultSet, ...] = ()
    host: bool = False
    estimate: Callable[[Sequence[Pair]], Estimated] | None = None


def compare(old: ResultSet, new: ResultSet, options: Options | None = None) -> Comparison:
    """Return the comparison of `new` with `old`, which may be the same result when the selection names contenders.

    ComparisonError for results that must not be compared (unless allowed) or that have nothing in common; UsageError
    for a filter that matches nothing.
    """
    options = options or Options()
    refused = pairing.refusals(old, new)
    if refused and not options.allow_different:
        _refuse(refused)
    everything = pairs(old, new, options.selection)
    picked, notes = _without_host(chosen(everything, options.selection), options)
    unequal = _unequal_work(picked)
    if unequal and not options.allow_different:
        _refuse(unequal)
    listed = pairing.differences(old, new)
    timed = [pair for pair in everything if pair.is_timed]
    estimated = _estimated(timed, old, new, options)
    at = _places(picked, timed)
    judged = outcomes(estimated, at, options.rule)
    told = {id(timed[number]): (*judged.of(number),) for number in at.tolist()}
    rows = tuple(timed_row(pair, *told[id(pair)], listed) if id(pair) in told else untimed_row(pair) for pair in picked)
    if old is not new and (unknown := pairing.unknown_versions(picked, old, new)):
        notes.append(f"{', '.join(unknown)}: versions are not recorded, and taken to be the same")
    return Comparison(
        old=options.old,
        new=options.new,
        rows=rows,
        means=geometric_means(estimated, at[~estimated.unchanged[at]]),
        differences=listed,
        threshold=options.rule.threshold,
        alpha=options.rule.alpha,
        simulated=pairing.is_simulated(old) or pairing.is_simulated(new),
        paired=options.interleaved,
        notes=(*(f"compared all the same: {reason}" for reason in [*refused, *unequal]), *notes),
        machine=machine_change(estimated, options.rule),
        adjusted=options.rule.adjust,
        decidable=judged.decidable,
        decided=judged.decided,
    )


def _places(picked: Sequence[Pair], timed: Sequence[Pair]) -> Array:
    """Return where among the timed pairs those stand that were picked."""
    members = {id(pair) for pair in picked}
    return np.asarray([number for number, pair in enumerate(timed) if id(pair) in members], dtype=np.int64)


def _estimated(timed: Sequence[Pair], old: ResultSet, new: ResultSet, options: Options) -> Estimated:
    if options.estimate is not None:
        return options.estimate(timed)
    if options.interleaved:
        return within_rounds(timed)
    known = [found for result in (old, new, *options.calibrations) if (found := calibrated(result)) is not None]
    return between_results(timed, old, new, known)


def _without_host(picked: list[Pair], options: Options) -> tuple[list[Pair], list[str]]:
    """Leave out the pairs that were timed on the host, unless they were asked for or there are no others."""
    kept = [pair for pair in picked if pair.either.contender not in HOST_CONTENDERS]
    if options.host or not kept or len(kept) == len(picked) or options.selection.b is not None:
        return picked, []
    return kept, [f"numpy is left out ({len(picked) - len(kept)} of {len(picked)} pairs): its times are the host's"]


def _refuse(why: Sequence[str]) -> NoReturn:
    lines = "\n".join(f"  {reason}" for reason in why)
    raise ComparisonError(
        f"These results must not be compared:\n{lines}\nTo compare them all the same: --allow-different-device."
    )


_WORK: tuple[tuple[str, Callable[[Record], Json]], ...] = (
    ("bytes", lambda record: record.bytes),
    ("timing methods", lambda record: record.case.timing.method),
)


def _unequal_work(picked: Sequence[Pair]) -> list[str]:
    """Return one sentence for each kind of work that is not the same in pairs that were timed on both sides."""
    found = []
    for what, value in _WORK:
        cases = [
            f"{pair.new.case.id} ({value(pair.old)} and {value(pair.new)})"
            for pair in picked
            if pair.is_measured and pair.old and pair.new and value(pair.old) != value(pair.new)
        ]
        if cases:
            more = f" and {len(cases) - LISTED} more" if len(cases) > LISTED else ""
            found.append(f"the {what} differ: {', '.join(cases[:LISTED])}{more}")
    return found


# --- Rows ------------------------------------------------------------------------------------------------------------

RESOURCES: tuple[tuple[str, str], ...] = (
    ("variant", "variant"),
    ("registers", "registers"),
    ("spill_bytes", "spilled bytes"),
    ("shared_bytes", "shared bytes"),
    ("occupancy", "occupancy"),
)


def timed_row(pair: Pair, outcome: Outcome, words: Sequence[str], listed: Sequence[Difference]) -> Row:
    """Return the row of a pair that was timed on both sides; `words` say what the verdict needs."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        raise ValueError("a timed pair has two sides")
    said = [word for word in (outcome.few, *words) if word]
    if outcome.verdict not in ("SAME", "UNDECIDED") or not outcome.unchanged:
        said += explanations(pair, listed)
    return Row(
        case=new.case.id,
        operator=new.case.operator,
        dtype=new.case.dtype,
        old_contender=old.contender,
        new_contender=new.contender,
        verdict=outcome.verdict,
        estimate=outcome.estimate,
        old_us=outcome.old_us,
        new_us=outcome.new_us,
        old_n=sum(map(len, samples(old))),
        new_n=sum(map(len, samples(new))),
        old_status=old.status,
        new_status=new.status,
        reasons=tuple(said),
        unchanged=outcome.unchanged,
    )


def untimed_row(pair: Pair) -> Row:
    """Return the row of a pair of which at least one side was not timed, or is not there."""
    old, new = pair.old, pair.new
    either = pair.either
    verdict, said = _untimed_verdict(old, new)
    return Row(
        case=either.case.id,
        operator=either.case.operator,
        dtype=either.case.dtype,
        old_contender=(old or either).contender,
        new_contender=(new or either).contender,
        verdict=verdict,
        old_us=_typical_us(old),
        new_us=_typical_us(new),
        old_status=None if old is None else old.status,
        new_status=None if new is None else new.status,
        reasons=(said,) if said else (),
    )


def _untimed_verdict(old: Record | None, new: Record | None) -> tuple[Verdict, str]:
    """Return the verdict and what to say. A record that was skipped is as good as none."""
    if new is None or (new.status == "skipped" and old is not None and old.status != "skipped"):
        return "REMOVED", "" if new is None else _status(new)
    if old is None or (old.status == "skipped" and new.status != "skipped"):
        return "ADDED", "" if measured(new) else _status(new)
    if measured(old) and measured(new):
        return "UNDECIDED", "no usable samples"
    if measured(old) or _breakage(new) not in (None, _breakage(old)):
        return "BROKEN", f"was {old.status}, now {_status(new)}"
    if measured(new):
        return "FIXED", f"was {_status(old)}, now {new.status}"
    return "UNDECIDED", f"{old.status} in the baseline, now {_status(new)}"


def _breakage(record: Record) -> str | None:
    """Return how a record failed: a wrong answer, or no answer at all; None when it did not."""
    return "wrong" if record.status in REFUTED else "failed" if record.status in FAILED else None


def _status(record: Record) -> str:
    return f"{record.status}: {record.message}" if record.message else record.status


def _typical_us(record: Record | None) -> float | None:
    rounds = samples(record) if record is not None and measured(record) else []
    return typical_us(rounds) if rounds else None


# --- Why -------------------------------------------------------------------------------------------------------------


CLOCK_TOLERANCE = 0.01
"""Clocks closer than this are the same clock: the governor moves by single steps of 15 MHz in 1,980."""


def explanations(pair: Pair, listed: Sequence[Difference]) -> list[str]:
    """Return what may explain a change of a measured pair, the most telling first."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return []
    found = [_clocks(old, new), *_resources(old, new)]
    found += [_either(old, new, status) for status in reversed(MEASURED) if status != "ok"]
    if old.bytes != new.bytes:
        found.append(f"bytes {old.bytes} -> {new.bytes}")
    digest = (old.kernel or {}).get("cubin_sha256")
    if digest and digest == (new.kernel or {}).get("cubin_sha256") and not same_code(old, new):
        found.append("same machine code, other launches or work")
    found += [
        f"driver {difference.old} -> {difference.new}" for difference in listed if difference.name.endswith("driver")
    ]
    return [reason for reason in found if reason]


def _clock(record: Record, key: str) -> float | None:
    """Return the median clock of a record in MHz, None where it is not known.

    The SM clocks stand with the samples; the memory clock in the telemetry.
    """
    if key == "sm_mhz" and record.timing is not None:
        clocks = [sample.sm_mhz for sample in record.timing.samples if sample.sm_mhz]
        if clocks:
            return float(median(clocks))
    entry = (record.telemetry or {}).get(key)
    values = [
        float(figure) for figure in (entry if isinstance(entry, list | tuple) else [entry]) if is_positive(figure)
    ]
    return median(values) if values else None


def _clocks(old: Record, new: Record) -> str | None:
    for key, name in (("sm_mhz", "SM clock"), ("memory_mhz", "memory clock")):
        before, after = _clock(old, key), _clock(new, key)
        if before and after and abs(after - before) > CLOCK_TOLERANCE * before:
            return f"{name} {before:.0f} -> {after:.0f} MHz"
    return None


def _resources(old: Record, new: Record) -> list[str]:
    before, after = old.kernel or {}, new.kernel or {}
    return [
        f"{name} {_brief(before[key])} -> {_brief(after[key])}"
        for key, name in RESOURCES
        if before.get(key) is not None and after.get(key) is not None and before[key] != after[key]
    ]


def _brief(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _either(old: Record, new: Record, status: str) -> str | None:
    which = [name for name, record in (("old", old), ("new", new)) if record.status == status]
    return f"{status} ({' and '.join(which)})" if which else None
