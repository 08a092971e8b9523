"""Comparing two results: pair, estimate, judge, explain. docs/statistics.md tells the rule and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from gpubench.analysis import floors as noise_floors
from gpubench.analysis.environment import differences, is_simulated, refusals
from gpubench.analysis.estimate import RUN_DRIFT
from gpubench.analysis.means import geometric_means
from gpubench.analysis.pairing import Pair, Selection, chosen, pairs
from gpubench.analysis.rows import timed_row, untimed_row
from gpubench.analysis.rule import Rule
from gpubench.analysis.timed import Timed
from gpubench.comparison import Comparison, Difference, Mean, Row
from gpubench.errors import ComparisonError
from gpubench.model import Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS

LISTED = 5
"""How many cases a refusal names."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compare. `old` and `new`: what people call the results. `allow_different`: compare what should not be.

    `interleaved`: the two contenders of the selection were timed alternately in the rounds of one result, so that the
    differences within rounds count. `floors`: results that carry noise floors beside the two compared.
    `host`: compare numpy as well. Its times are the host's, and say nothing about a kernel.
    """

    rule: Rule = field(default_factory=Rule)
    selection: Selection = field(default_factory=Selection)
    old: str = "baseline"
    new: str = "new"
    allow_different: bool = False
    interleaved: bool = False
    floors: tuple[ResultSet, ...] = ()
    host: bool = False


def compare(old: ResultSet, new: ResultSet, options: Options | None = None) -> Comparison:
    """Return the comparison of `new` with `old`, which may be the same result when the selection names contenders.

    ComparisonError for results that must not be compared (unless allowed) or that have nothing in common; UsageError
    for a filter that matches nothing.
    """
    options = options or Options()
    refused = refusals(old, new)
    if refused and not options.allow_different:
        _refuse(refused)
    everything = pairs(old, new, options.selection)
    picked, left_out = _without_host(chosen(everything, options.selection), options)
    unequal = _unequal_work(picked)
    if unequal and not options.allow_different:
        _refuse(unequal)
    listed = differences(old, new)
    drift = 0.0 if old is new else RUN_DRIFT
    rows, means = _measure(everything, picked, options, listed, _floors((old, new, *options.floors)), drift)
    return Comparison(
        old=options.old,
        new=options.new,
        rows=rows,
        means=means,
        differences=listed,
        threshold=options.rule.threshold,
        alpha=options.rule.alpha,
        simulated=is_simulated(old) or is_simulated(new),
        paired=options.interleaved,
        notes=(*(f"compared all the same: {one}" for one in [*refused, *unequal]), *left_out),
    )


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


def _floors(results: Sequence[ResultSet]) -> dict[tuple[str, str], float]:
    """Return the noise floors that the results carry, by case id and contender; the largest where several do."""
    floors: dict[tuple[str, str], float] = {}
    for result in results:
        for key, floor in noise_floors.stored(result).items():
            floors[key] = max(floor, floors.get(key, 0.0))
    return floors


def _measure(
    everything: Sequence[Pair],
    picked: Sequence[Pair],
    options: Options,
    listed: Sequence[Difference],
    floors: Mapping[tuple[str, str], float],
    drift: float,
) -> tuple[tuple[Row, ...], tuple[Mean, ...]]:
    """Return a row for each picked pair, and the means. How much rounds vary is learned from all pairs."""
    members = {id(pair) for pair in picked}
    measured = [pair for pair in everything if pair.is_measured]
    timed = Timed(
        measured, [id(pair) in members for pair in measured], options.rule, floors, drift, options.interleaved
    )
    places = {id(pair): number for number, pair in enumerate(measured)}
    rows = []
    at = []
    for pair in picked:
        number = places.get(id(pair))
        if number is None:
            rows.append(untimed_row(pair))
        else:
            at.append((len(rows), number))
            rows.append(timed_row(timed, number, options.rule, listed))
    where = np.asarray([number for _, number in at], dtype=np.int64)
    change = timed.change
    means = geometric_means(
        [rows[i] for i, _ in at], change.log_ratio[where], change.error[where], change.freedom[where], drift
    )
    return tuple(rows), means
