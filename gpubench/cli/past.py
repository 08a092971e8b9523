"""What the commands of `gpubench history` work out from an index: lines, steps with their causes, a gate, pages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.errors import ResultFileError, UsageError
from gpubench.names import AUTO, STATUSES
from gpubench.past import Group, Key, Line, MachineStep, Panel, Run, Step, StepTold, Timed

if TYPE_CHECKING:
    from gpubench.analysis.rule import Rule
    from gpubench.comparison import Comparison
    from gpubench.model import ResultSet
    from gpubench.results.index import Index


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """The steps of a group with their causes, and those of the machine, in `runs` runs. `sees`: of each series, the
    least change that four more runs would show in 4 of 5 repetitions, as a share, NaN where it is not known.
    """

    group: Group
    steps: tuple[StepTold, ...]
    machines: tuple[tuple[MachineStep, Run, tuple[str, ...]], ...]
    runs: int
    sees: tuple[float, ...]


class _Results:
    """Result files of a history, each read once; one that cannot be read any more is None."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, ResultSet | None] = {}

    def of(self, run: Run) -> ResultSet | None:
        """Return the result of a run."""
        from gpubench.results.read import read

        if run.path not in self._read:
            try:
                self._read[run.path] = read(self._folder / run.path)
            except ResultFileError:
                self._read[run.path] = None
        return self._read[run.path]


# --- Steps -----------------------------------------------------------------------------------------------------------


def find_steps(index: Index, group: Group, last: int, rule: Rule, since: str | None = None) -> FoundSteps:
    """Return the steps of a group's last runs. UsageError for a `since` that is no time; MissingExtraError."""
    from gpubench.results.index import panel

    return steps_of(index, group, panel(index.columns(group, last)), rule, since)


def steps_of(index: Index, group: Group, panel: Panel, rule: Rule, since: str | None = None) -> FoundSteps:
    """Return the steps of a panel, and keep them for `show`."""
    from gpubench.history.causes import causes
    from gpubench.history.steps import find

    after = _time(since) if since is not None else None
    found = find(panel, rule)
    results = _Results(index.folder)
    told = []
    for step in found.steps:
        before, at = panel.runs[step.before], panel.runs[step.at]
        old, new = results.of(before), results.of(at)
        known = ("the results are gone",) if old is None or new is None else causes(old, new, step.case, step.contender)
        told.append(StepTold(step, before, at, known))
    machines = []
    for moved in found.machine_steps:
        old, new = results.of(panel.runs[moved.before]), results.of(panel.runs[moved.at])
        known = ("the results are gone",) if old is None or new is None else causes(old, new, "", "")
        machines.append((moved, panel.runs[moved.at], known))
    index.keep(_name(group), [_kept(told_step) for told_step in told])
    if after is not None:
        told = [told_step for told_step in told if _time(told_step.at.created) >= after]
        machines = [machine for machine in machines if _time(machine[1].created) >= after]
    return FoundSteps(group, tuple(told), tuple(machines), len(panel.runs), tuple(found.sees.tolist()))


def _time(text: str) -> float:
    try:
        made = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text[:40]!r} is no time: write 2026-01-31 or 2026-01-31T10:00:00Z.") from None
    return made.replace(tzinfo=None).timestamp()


def _name(group: Group) -> str:
    return f"steps of {group.suite} on {group.device} {group.simulated}"


def _kept(told: StepTold) -> dict[str, Any]:
    return {"step": asdict(told.step), "before": told.before.path, "at": told.at.path, "causes": list(told.causes)}


def steps_json(found: FoundSteps) -> dict[str, Any]:
    """Return a group's steps for other programs."""
    return {
        "suite": found.group.suite,
        "device": found.group.device,
        "simulated": found.group.simulated,
        "runs": found.runs,
        "series": len(found.sees),
        "steps": [
            {**asdict(step.step), "before": asdict(step.before), "at": asdict(step.at), "causes": list(step.causes)}
            for step in found.steps
        ],
        "machine": [
            {**asdict(moved), "at": asdict(run), "causes": list(words)} for moved, run, words in found.machines
        ],
    }


# --- One series ------------------------------------------------------------------------------------------------------


def line_of(index: Index, groups: Sequence[Group], case: str, contender: str | None, last: int) -> Line:
    """Return one series of the group with the most runs that has it. UsageError, with the nearest names, for none."""
    everything: dict[str, None] = {}
    for group in sorted(groups, key=lambda group: -group.runs):
        series = index.series(group)
        cases = dict.fromkeys(name for name, _ in series)
        everything |= cases
        named = [case] if case in cases else [name for name in cases if case in name]
        if len(named) > 1:
            raise UsageError(f"{case[:80]!r} is a part of {len(named)} cases: {', '.join(named[:4])} ...")
        if named:
            return _line(index, group, _key(series, named[0], contender), last)
    near = difflib.get_close_matches(case, everything, n=3, cutoff=0.3) or list(everything)[:3]
    raise UsageError(f"No run has a case {case[:80]!r}. The nearest: {', '.join(near) or 'none'}.")


def _key(series: Sequence[Key], case: str, contender: str | None) -> Key:
    names = [name for of_case, name in series if of_case == case]
    if contender is None:
        return case, AUTO if AUTO in names else names[0]
    if contender not in names:
        raise UsageError(f"{case} has no contender {contender[:80]!r}. There are: {', '.join(names)}.")
    return case, contender


def _line(index: Index, group: Group, key: Key, last: int) -> Line:
    runs, points = index.one_series(group, key, last)
    timed = [_timed(run, point) for run, point in zip(runs, points, strict=True)]
    return Line(group, *key, timed, _known_steps(index, group, key, {run.path: run for run in runs}))


def _known_steps(index: Index, group: Group, key: Key, runs: Mapping[str, Run]) -> list[StepTold] | None:
    """Return the steps of a series that were found since the files last changed, None when nobody looked."""
    kept = index.kept(_name(group))
    if kept is None:
        return None
    mine = [entry for entry in kept if (entry["step"]["case"], entry["step"]["contender"]) == key]
    return [
        StepTold(
            Step(**{**entry["step"], "runs": tuple(entry["step"]["runs"])}),
            runs[entry["before"]],
            runs[entry["at"]],
            tuple(entry["causes"]),
        )
        for entry in mine
        if entry["before"] in runs and entry["at"] in runs
    ]


def _timed(run: Run, point: Sequence[Any]) -> Timed:
    """Return a point of POINT's fields, without `spare`, for the views."""
    log_us, _, low, high, _, _, _, _, status, code = point
    word = STATUSES[status] if status < len(STATUSES) else "absent"
    return Timed(run, word, None if math.isnan(log_us) else math.exp(log_us), _number(low), _number(high), code)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def lines_of(panel: Panel, found: FoundSteps) -> list[Line]:
    """Return every series of a panel that was ever timed, with its steps."""
    steps: dict[Key, list[StepTold]] = {}
    for told in found.steps:
        steps.setdefault((told.step.case, told.step.contender), []).append(told)
    lines = []
    for row, key in zip(panel.points, panel.series, strict=True):
        points = [
            _timed(run, [value for name, value in zip(row.dtype.names, values, strict=True) if name != "spare"])
            for run, values in zip(panel.runs, row.tolist(), strict=True)
        ]
        there = [point for point in points if point.status != "absent"]
        if any(point.us is not None for point in there):
            lines.append(Line(found.group, *key, there, steps.get(key, [])))
    return lines


def draw(line: Line, path: Path) -> None:
    """Draw a series into a file. UsageError for a name that says no format."""
    from gpubench.results.write import replace_file
    from gpubench.views.charts.files import files
    from gpubench.views.charts.history import chart
    from gpubench.views.style import FORMATS

    form = path.suffix.removeprefix(".")
    if form not in FORMATS:
        raise UsageError(f"{path}: name a file that ends with one of {', '.join('.' + ending for ending in FORMATS)}.")
    ((_, data),) = files([chart(line)], [form])
    replace_file(path, data)


# --- The gate --------------------------------------------------------------------------------------------------------


def gated(index: Index, new: Path, last: int, rule: Rule) -> Comparison:
    """Return the comparison of a result with its history. UsageError where there is none."""
    from gpubench.analysis.compare import Options, compare
    from gpubench.history.gate import against, past
    from gpubench.results.index import column, panel
    from gpubench.results.points import scan
    from gpubench.results.read import read

    result, scanned = read(new), scan(new, str(new))
    mine = column(str(new), scanned)
    group = Group(scanned.suite, scanned.device, scanned.simulated, 0)
    before = index.columns(group, last, besides=scanned.identity)
    if not before:
        raise UsageError(f"{index.folder}: holds no other run of {group.suite} on {group.device} to compare with.")
    whole = panel([*before, mine])
    known = past(whole, rule)
    old = _latest(index, whole, {(record.case.id, record.contender) for record in result.records})
    name = f"{len(before)} run{'s' * (len(before) != 1)} in {index.folder}"
    options = Options(rule, old=name, new=str(new), estimate=lambda timed: against(timed, known))
    return compare(old, result, options)


def _latest(index: Index, panel: Panel, wanted: set[Key]) -> ResultSet:
    """Return the newest result before the last run, with the newest record of each series that it lacks.

    ResultFileError when it cannot be read.
    """
    from gpubench.results.index import NO_STATUS
    from gpubench.results.read import read

    results = _Results(index.folder)
    status = panel.points["status"]
    latest = read(index.folder / panel.runs[-2].path)
    there = {(record.case.id, record.contender) for record in latest.records}
    records = list(latest.records)
    for number, key in enumerate(panel.series):
        runs = [run for run in range(len(panel.runs) - 2) if status[number, run] != NO_STATUS]
        if key in wanted - there and runs:
            other = results.of(panel.runs[runs[-1]])
            records += (
                [record for record in other.records if (record.case.id, record.contender) == key][-1:] if other else []
            )
    return replace(latest, records=tuple(records))


# --- Pages -----------------------------------------------------------------------------------------------------------


def pages(index: Index, groups: Sequence[Group], last: int, rule: Rule) -> dict[str, str]:
    """Return the pages of a site by their names, `index.html` among them."""
    from gpubench.results.index import panel
    from gpubench.views.history_pages import group_page, index_page, page_name

    made, told = {}, []
    for group in groups:
        runs = panel(index.columns(group, last))
        found = steps_of(index, group, runs, rule)
        name = page_name(group)
        made[name] = group_page(group, lines_of(runs, found), found.machines, rule.threshold)
        told.append((group, name, runs.runs, found.steps))
    return {"index.html": index_page(told), **made}
