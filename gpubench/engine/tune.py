"""Tuning: what the contests ask for is measured, one regime after the other, until all are decided or time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

from gpubench.engine.compile_ahead import CompileAhead
from gpubench.engine.environment import device_from
from gpubench.engine.events import Event, Note
from gpubench.engine.measurer import Outcome
from gpubench.engine.run import Store
from gpubench.engine.supervisor import Supervisor
from gpubench.model import Case, DeviceInfo, Json, Record
from gpubench.names import AUTO
from gpubench.operators import operator as find_operator
from gpubench.operators.constants import text_of
from gpubench.own.registry import Staged
from gpubench.results.format import plain
from gpubench.tuned import TUNED, Row
from gpubench.tuning.contest import Contest, Effort
from gpubench.tuning.file import Tuning
from gpubench.tuning.space import Subject, spaces

TIME_OVER = "the time for tuning was over"


class Session:
    """One tuning at work: its contests are made once the device is open, and held one after the other.

    staged: what the suites bring, with its files. seconds: after which nothing more is asked for. start: a tuning whose
    constants are to be beaten, in place of the shipped ones.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        cases: Sequence[Case],
        staged: Sequence[Staged],
        effort: Effort,
        seconds: float,
        on_event: Callable[[Event], None],
        start: Tuning | None = None,
    ) -> None:
        self.contests: list[Contest] = []
        self.device: DeviceInfo | None = None
        self._supervisor = supervisor
        self._cases = cases
        self._staged = staged
        self._effort = effort
        self._seconds = seconds
        self._on_event = on_event
        self._start = start
        self._records: list[Record] = []
        self._known: dict[str, list[Record]] = {}
        self._compiler: CompileAhead | None = None
        self._ends = 0.0
        self._is_cut = False

    def rows(self) -> list[Row]:
        """Return what is known of each regime."""
        return [contest.row() for contest in self.contests]

    def work(self, store: Store, done: tuple[Record, ...]) -> tuple[Outcome, dict[str, Json]]:
        """Measure; see `engine.run.Work`. What is done already is not measured again, and takes none of the time."""
        self._ends = time.monotonic() + self._seconds
        for record in done:
            self._known.setdefault(record.case.id, []).append(record)
        self.device = device = device_from(self._supervisor.environment)
        self.contests = contests_of(self._cases, self._staged, device, self._effort, self._start)
        outcome = self._supervisor.run((), store, ends=False)
        self._compiler = CompileAhead(device)
        for contest, dropped in self._compiler.each(self.contests):
            contest.drop(dropped)
            self._say(contest)
            for latest in self._held(contest, store):
                outcome = latest
                if outcome.stopped is not None:
                    return self._outcome(outcome)
            if time.monotonic() >= self._ends and not self._known and contest is not self.contests[-1]:
                self._is_cut = True
                break
        return self._outcome(outcome)

    def _held(self, contest: Contest, store: Store) -> Iterator[Outcome]:
        """Hold one contest; yield what each batch that was measured gave."""
        for batch in contest.batches():
            there = [record for case in batch for record in self._known.pop(case.id, [])]
            if len(there) < sum(len(case.contenders) for case in batch):
                if time.monotonic() >= self._ends:
                    self._is_cut = True
                    self._records += there
                    return
                assert self._compiler is not None
                self._compiler.ready(contest, batch)
                outcome = self._supervisor.run(batch, store, there, ends=False)
                self._records += outcome.records
                contest.take(outcome.records)
                yield outcome
            else:
                self._records += there
                contest.take(there)

    def _say(self, contest: Contest) -> None:
        space = contest.space
        told = f"{len(space.entrants) - len(contest.dropped)} of {space.total} configurations"
        left = max(self._ends - time.monotonic(), 0.0)
        self._on_event(Note(f"{space.subject.name} {space.regime.name}: {told}, {left:.0f} s left"))

    def _outcome(self, last: Outcome) -> tuple[Outcome, dict[str, Json]]:
        told = [{**asdict(contest.row()), "space": described(contest)} for contest in self.contests]
        stopped = last.stopped or (TIME_OVER if self._is_cut else None)  # the journal stays, for more time
        return replace(last, records=tuple(self._records), stopped=stopped), {TUNED: plain(told)}


def contests_of(
    cases: Sequence[Case],
    staged: Sequence[Staged],
    device: DeviceInfo,
    effort: Effort,
    start: Tuning | None = None,
) -> list[Contest]:
    """Return the contests of every regime that cases lie in, where `auto` or a suite's own kernel is a contender."""
    wanted = {name for case in cases for name in case.contenders}
    named = dict.fromkeys(case.operator for case in cases if AUTO in case.contenders)
    subjects = [Subject(find_operator(name)) for name in named]
    for suite in staged:
        subjects += [
            Subject(find_operator(kernel.operator), kernel, suite.folder)
            for kernel in suite.brought.kernels
            if kernel.tune and kernel.contender in wanted and not suite.second
        ]
    return [Contest(space, effort) for subject in subjects for space in spaces(subject, cases, device, start)]


def described(contest: Contest) -> dict[str, Json]:
    """Return what was searched, as plain JSON: exports rebuild every configuration from it.

    stands_for: by the values of a configuration, in the order of `parameters`, who makes the same plans. plans: by
    name, what tells the plan on each of `cases` from others; who has the same one is timed once.
    """
    space = contest.space
    return {
        "parameters": {
            constant.name: [text_of(value) for value in constant.candidates] for constant in space.regime.tune
        },
        "shipped": {constant.name: text_of(constant.shipped) for constant in space.regime.tune},
        "when": space.regime.when,
        "constraints": list(space.regime.constraints),
        "stands_for": dict(space.stands_for),
        "dropped": dict(contest.dropped),
        "failed": {name: why for name, why in contest.failed.items() if name not in contest.dropped},
        "cases": [case.id for case in contest.cases],
        "plans": {entrant.name: [entrant.plans[case.id] for case in contest.cases] for entrant in space.entrants},
    }
