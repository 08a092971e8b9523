"""Comparing two results: pair, estimate, judge, explain. docs/statistics.md tells the rule and its reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gpubench.analysis.calibration import calibrated
from gpubench.analysis.differences import differences, explanations
from gpubench.analysis.estimate import Estimated, between_results, within_rounds
from gpubench.analysis.judge import Outcome, geometric_means, machine_change, outcomes
from gpubench.analysis.pairing import Pair, Selection, match
from gpubench.analysis.rounds import measured, samples, typical_us
from gpubench.analysis.rule import Rule
from gpubench.comparison import Comparison, Difference, Row, Verdict
from gpubench.model import Record, ResultSet
from gpubench.names import FAILED, REFUTED


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
    matched = match(old, new, options.selection, options.allow_different, options.host)
    timed, at = matched.timed, matched.at
    listed = differences(old, new)
    estimated = _estimated(timed, old, new, options)
    judged = outcomes(estimated, at, options.rule)
    told = {id(timed[number]): (*judged.of(number),) for number in at.tolist()}
    rows = tuple(
        timed_row(pair, *told[id(pair)], listed) if id(pair) in told else untimed_row(pair) for pair in matched.picked
    )
    return Comparison(
        old=options.old,
        new=options.new,
        rows=rows,
        means=geometric_means(estimated, at[~estimated.unchanged[at]]),
        differences=listed,
        threshold=options.rule.threshold,
        alpha=options.rule.alpha,
        simulated=matched.simulated,
        paired=options.interleaved,
        notes=matched.notes,
        machine=machine_change(estimated, options.rule),
        adjusted=options.rule.adjust,
        decidable=judged.decidable,
        decided=judged.decided,
    )


def each_other(runs: Sequence[ResultSet], rule: Rule) -> tuple[Comparison, ...]:
    """Return the comparison of every run with every later one, what is left judged when the machine has changed."""
    judged = replace(rule, adjust=True)
    return tuple(
        compare(old, new, Options(judged, old=f"run {i + 1}", new=f"run {j + 1}"))
        for i, old in enumerate(runs)
        for j, new in enumerate(runs)
        if i < j
    )


def _estimated(timed: Sequence[Pair], old: ResultSet, new: ResultSet, options: Options) -> Estimated:
    if options.estimate is not None:
        return options.estimate(timed)
    if options.interleaved:
        return within_rounds(timed)
    known = [found for result in (old, new, *options.calibrations) if (found := calibrated(result)) is not None]
    return between_results(timed, old, new, known)


# --- Rows ------------------------------------------------------------------------------------------------------------


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
