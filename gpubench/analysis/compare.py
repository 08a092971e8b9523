"""Comparing two results: pair, estimate, judge, explain. docs/statistics.md tells the rule and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from gpubench.analysis import identity
from gpubench.analysis.estimate import Estimated, between_results, within_rounds
from gpubench.analysis.judge import geometric_means, machine_change, outcomes
from gpubench.analysis.pairing import Pair, Selection, chosen, pairs
from gpubench.analysis.repeated import all_calibrated
from gpubench.analysis.rows import timed_row, untimed_row
from gpubench.analysis.rule import Rule
from gpubench.comparison import Comparison
from gpubench.errors import ComparisonError
from gpubench.model import Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS

LISTED = 5
"""How many cases a refusal names."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. `old` and `new`: what people call the results. `allow_different`: compare what should not be.

    `interleaved`: the two contenders of the selection were timed alternately in the rounds of one result, so that the
    differences within rounds count. `calibrations`: results of `calibrate` beside the two compared.
    `host`: compare numpy as well. Its times are the host's, and say nothing about a kernel.
    """

    rule: Rule = field(default_factory=Rule)
    selection: Selection = field(default_factory=Selection)
    old: str = "baseline"
    new: str = "new"
    allow_different: bool = False
    interleaved: bool = False
    calibrations: tuple[ResultSet, ...] = ()
    host: bool = False


def compare(old: ResultSet, new: ResultSet, options: Options | None = None) -> Comparison:
    """Return the comparison of `new` with `old`, which may be the same result when the selection names contenders.

    ComparisonError for results that must not be compared (unless allowed) or that have nothing in common; UsageError
    for a filter that matches nothing.
    """
    options = options or Options()
    refused = identity.refusals(old, new)
    if refused and not options.allow_different:
        _refuse(refused)
    everything = pairs(old, new, options.selection)
    picked, notes = _without_host(chosen(everything, options.selection), options)
    unequal = _unequal_work(picked)
    if unequal and not options.allow_different:
        _refuse(unequal)
    listed = identity.differences(old, new)
    timed = [pair for pair in everything if pair.is_timed]
    estimated = _estimated(timed, old, new, options)
    members = {id(pair) for pair in picked}
    at = np.asarray([number for number, pair in enumerate(timed) if id(pair) in members], dtype=np.int64)
    judged = outcomes(estimated, at, options.rule)
    told = {id(timed[number]): (*judged.of(number),) for number in at.tolist()}
    rows = tuple(timed_row(pair, *told[id(pair)], listed) if id(pair) in told else untimed_row(pair) for pair in picked)
    unknown = identity.unknown_versions(picked, old, new) if old is not new else []
    if unknown:
        notes.append(f"{', '.join(unknown)}: versions are not recorded, and taken to be the same")
    return Comparison(
        old=options.old,
        new=options.new,
        rows=rows,
        means=geometric_means(estimated, at[~estimated.unchanged[at]]),
        differences=listed,
        threshold=options.rule.threshold,
        alpha=options.rule.alpha,
        simulated=identity.is_simulated(old) or identity.is_simulated(new),
        paired=options.interleaved,
        notes=(*(f"compared all the same: {one}" for one in [*refused, *unequal]), *notes),
        machine=machine_change(estimated, options.rule),
        adjusted=options.rule.adjust,
        decidable=judged.decidable,
        decided=judged.decided,
    )


def _estimated(timed: Sequence[Pair], old: ResultSet, new: ResultSet, options: Options) -> Estimated:
    if options.interleaved:
        return within_rounds(timed)
    return between_results(timed, old, new, all_calibrated((old, new, *options.calibrations)))


def _without_host(picked: list[Pair], options: Options) -> tuple[list[Pair], list[str]]:
    """Leave out the pairs that were timed on the host, unless they were asked for or there are no others."""
    kept = [pair for pair in picked if pair.either.contender not in HOST_CONTENDERS]
    if options.host or not kept or len(kept) == len(picked) or options.selection.b is not None:
        return picked, []
    return kept, [f"numpy is left out ({len(picked) - len(kept)} of {len(picked)} pairs): its times are the host's"]


def _refuse(why: Sequence[str]) -> NoReturn:
    lines = "\n".join(f"  {one}" for one in why)
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
