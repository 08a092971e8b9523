"""Two tunings against each other, or one against the shipped constants: which cases get other plans, and their times.

A case whose plan is the same in both takes the same launches with the same arguments, so its time cannot differ and
need not be measured. Only the others are timed, side by side in one process as `gpubench ab` does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.pairing import Selection
from gpubench.analysis.rule import Rule
from gpubench.engine.environment import device_from
from gpubench.errors import UnsupportedError
from gpubench.kernels import Request
from gpubench.model import Case, DeviceInfo, Plan, Problem, ResultSet
from gpubench.operators import OPERATORS
from gpubench.operators.constants import Value, text_of
from gpubench.suite.expand import expand
from gpubench.tuning.active import is_fresh
from gpubench.tuning.contest import Contest, Effort
from gpubench.tuning.file import Tuning
from gpubench.tuning.regimes import regime_of
from gpubench.tuning.space import Subject, key_of, spaces
from gpubench.tuning.verdict import interval

RESOLUTION = 0.005
"""Times that differ by less are as good as each other."""

SIDES = ("first", "second")
Constants = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Place:
    """A case in its regime. `values`: the constants of each tuning; `names`: the contenders that have them;
    `changed`: their plans differ.
    """

    case: Case
    group: str
    regime: str
    values: tuple[Constants, Constants]
    names: tuple[str, str]
    changed: bool

    @property
    def asked(self) -> Case:
        """The case with both contenders."""
        return replace(self.case, contenders=self.names)


@dataclass(frozen=True, slots=True)
class Timed:
    """A case with both plans: the second's time over the first's, with its 95 % interval; times in microseconds."""

    place: Place
    us: tuple[float, float]
    ratio: tuple[float, float, float]


def device_of(tuning: Tuning) -> DeviceInfo:
    """Return the GPU that a tuning is for, as far as plans ask for it."""
    return device_from({"device": {"kind": "cuda", **tuning.device.model_dump()}})


def drawn(operator: str, count: int, seed: int, most: int = 1 << 24) -> tuple[Case, ...]:
    """Return random cases of an operator of 2^14 to `most` elements, as the suite `random` has them."""
    wishes = {"cases": count, "seed": seed, "elements": [1 << 14, most]}
    suite = {"name": "drawn", "cases": [{"operator": operator, "random": wishes}]}
    return expand(json.dumps(suite).encode(), "drawn").cases if count else ()  # JSON is YAML


def telling(cases: Sequence[Case], device: DeviceInfo, most: int) -> list[Case]:
    """Return up to so many cases of each regime: those whose plans tell most configurations apart.

    A crossover that no case of a suite lies near changes the plan of one of many that are drawn, so that a tuning is
    asked on both its sides.
    """
    named = dict.fromkeys(case.operator for case in cases)
    found = [space for name in named for space in spaces(Subject(OPERATORS[name]), cases, device)]
    return [case for space in found for case in Contest(space, Effort(cases=most)).cases]


def fresh(tuning: Tuning | None) -> Tuning | None:
    """Return a tuning without the entries that were made for other sources."""
    if tuning is None:
        return None
    return tuning.model_copy(update={"entries": [entry for entry in tuning.entries if is_fresh(entry)]})


def places(
    groups: Mapping[str, Sequence[Case]],
    tunings: tuple[Tuning | None, Tuning | None],
    device: DeviceInfo,
    decided_twice: bool = False,
) -> list[Place]:
    """Return the cases of each group that `auto` can plan, once each. None in place of a tuning: the shipped constants.

    decided_twice: only cases of regimes that both tunings have an entry for.
    """
    found: dict[str, Place] = {}
    for group, cases in groups.items():
        for case in cases:
            place = None if case.id in found else _place(group, case, tunings, device, decided_twice)
            if place is not None:
                found[case.id] = place
    return list(found.values())


def _place(
    group: str,
    case: Case,
    tunings: tuple[Tuning | None, Tuning | None],
    device: DeviceInfo,
    decided_twice: bool,
) -> Place | None:
    subject = Subject(OPERATORS[case.operator])
    try:
        problem = subject.operator.problem(case)
    except UnsupportedError:
        return None
    regime = regime_of(subject.regimes, subject.operator, problem, device)
    entries = [
        None if tuning is None or regime is None else tuning.entry(subject.name, regime.name) for tuning in tunings
    ]
    if decided_twice and None in entries:
        return None
    first, second = ({} if entry is None else entry.values for entry in entries)
    keys = _key(subject, problem, device, first), _key(subject, problem, device, second)
    if None in keys:
        return None
    names = subject.contender_with(first), subject.contender_with(second)
    where = "-" if regime is None else f"{subject.name} {regime.name}"
    return Place(case, group, where, (first, second), names, keys[0] != keys[1])


def _key(subject: Subject, problem: Problem[Any], device: DeviceInfo, values: Constants) -> str | None:
    plan = subject.plan(problem, device, values)
    return key_of(plan) if isinstance(plan, Plan) else None


def requests(found: Iterable[Place], device: DeviceInfo) -> list[Request]:
    """Return the kernels of both plans of each place, once each, to be compiled before they are timed."""
    needed: dict[Request, None] = {}
    for place in found:
        subject = Subject(OPERATORS[place.case.operator])
        problem = subject.operator.problem(place.case)
        for values in place.values:
            plan = subject.plan(problem, device, values)
            assert isinstance(plan, Plan)
            needed |= dict.fromkeys(Request.of(launch, device) for launch in plan.launches)
    return list(needed)


def timed(found: Iterable[Place], result: ResultSet) -> list[Timed]:
    """Return what a run of the places' `asked` cases says of each that has times on both sides."""
    by_case = {place.case.id: place for place in found}
    records = [
        replace(record, contender=SIDES[place.names.index(record.contender)])
        for record in result.records
        if (place := by_case.get(record.case.id)) is not None and record.contender in place.names
    ]
    if not records:
        return []
    renamed = replace(result, records=tuple(records))
    options = Options(Rule(RESOLUTION), Selection(a=SIDES[0], b=SIDES[1]), interleaved=True)
    return [
        Timed(
            by_case[row.case],
            (row.old_us, row.new_us),
            (row.estimate.ratio, row.estimate.low, row.estimate.high),
        )
        for row in compare(renamed, renamed, options).rows
        if row.estimate is not None and row.old_us is not None and row.new_us is not None
    ]


# --- Tables ----------------------------------------------------------------------------------------------------------


def choices(tunings: tuple[Tuning | None, Tuning | None]) -> list[str]:
    """Return a Markdown table of the regimes that both tunings decided with other constants, or one that says so."""
    first, second = tunings
    if first is None or second is None:
        return []
    both = [
        (entry, other) for entry in first.entries if (other := second.entry(entry.subject, entry.regime)) is not None
    ]
    others = [(entry, other) for entry, other in both if entry.values != other.values]
    lines = [f"{len(both)} regimes were decided by both; {len(others)} of them with other constants.", ""]
    rows = [
        f"| {entry.subject} {entry.regime} | {_told(entry.values)} | {_told(other.values)} |" for entry, other in others
    ]
    return [*lines, "| regime | first | second |", "|---|---|---|", *rows, ""] if rows else lines


def _told(values: Constants) -> str:
    return ", ".join(f"{name} {text_of(value)}" for name, value in values.items()) or "shipped"


def table(found: Sequence[Place], times: Sequence[Timed], by: str) -> list[str]:
    """Return a Markdown table of all cases. by: `group` or `regime`, which has a row each."""
    rows = [
        f"| {by} | cases | same plan | timed | second over first | least | most | certainly over 1.005 |",
        "|---|---:|---:|---:|---|---|---|---:|",
    ]
    for name in dict.fromkeys(getattr(place, by) for place in found):
        here = [place for place in found if getattr(place, by) == name]
        told = [timed for timed in times if getattr(timed.place, by) == name]
        if by == "group" or any(place.changed for place in here):
            rows.append(_row(name, here, told))
    return [*rows, _row("all", found, times), ""]


def _row(name: str, here: Sequence[Place], told: Sequence[Timed]) -> str:
    same = sum(not place.changed for place in here)
    head = f"| {name} | {len(here)} | {same} | {len(told)} |"
    if not told:
        return f"{head} | | | |"
    logs = [math.log(timed.ratio[0]) for timed in told]
    halves = [math.log(timed.ratio[2] / timed.ratio[1]) / 2 for timed in told]
    ratio, low, high = interval(sum(logs) / len(logs), math.sqrt(sum(half**2 for half in halves)) / len(logs))
    over = sum(timed.ratio[1] > 1 + RESOLUTION for timed in told)
    least, most = min(timed.ratio[0] for timed in told), max(timed.ratio[0] for timed in told)
    return f"{head} {ratio:.4f} ({low:.4f} to {high:.4f}) | {least:.3f} | {most:.3f} | {over} |"


def lines(times: Sequence[Timed]) -> list[str]:
    """Return a line a case, the slowest second first."""
    ranked = sorted(times, key=lambda timed: -timed.ratio[0])
    return [_line(timed) for timed in ranked]


def _line(timed: Timed) -> str:
    ratio, low, high = timed.ratio
    first, second = timed.us
    what = f"{timed.place.regime}  {timed.place.case.id}  {' -> '.join(timed.place.names)}"
    return f"{ratio:.4f} ({low:.4f} to {high:.4f})  {first:9.2f} {second:9.2f} us  {what}"
