"""Exploring: what a search asks for is measured, batch after batch, until the time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gpubench.engine.run import Store
from gpubench.engine.supervisor import Outcome, Supervisor
from gpubench.explore.search import Search
from gpubench.model import Case, Json, Record
from gpubench.standing import standing_of

FEW = 4
"""Cases that are run before the time is looked at again."""


@dataclass
class Exploration:
    """One search at work. `prepare` gives a case the contenders and the timing that it is run with. `compile_for`
    compiles what cases launch, side by side, before the first of them is run: nothing is timed meanwhile.
    """

    search: Search
    supervisor: Supervisor
    prepare: Callable[[Case], Case]
    seconds: float
    compile_for: Callable[[Sequence[Case]], None]
    records: list[Record] = field(default_factory=list)

    def work(self, store: Store, done: tuple[Record, ...]) -> tuple[Outcome, dict[str, Json]]:
        """Measure until the time is over, the draws are, or the run was stopped; see `engine.run.Work`.

        What is done already is not measured again, and takes none of the time.
        """
        ends = time.monotonic() + self.seconds
        known: dict[str, list[Record]] = {}
        for record in done:
            known.setdefault(record.case.id, []).append(record)
        outcome = self.supervisor.run((), store, ends=False)
        for batch in self.search.batches():
            cases = [self.prepare(case) for case in batch]
            if time.monotonic() < ends:
                self.compile_for([case for case in cases if case.id not in known])
            for few in (cases[start : start + FEW] for start in range(0, len(cases), FEW)):
                there = [record for case in few for record in known.get(case.id, ())]
                if len(there) < sum(len(case.contenders) for case in few):
                    if time.monotonic() >= ends:
                        return self._outcome(outcome)
                    outcome = self.supervisor.run(few, store, there, ends=False)
                    there = list(outcome.records)
                self._take(few, there)
                if outcome.stopped is not None:
                    return self._outcome(outcome)
        return self._outcome(outcome)

    def _take(self, cases: Sequence[Case], records: Iterable[Record]) -> None:
        by_case: dict[str, list[Record]] = {}
        for record in records:
            self.records.append(record)
            by_case.setdefault(record.case.id, []).append(record)
        for case in cases:
            mine = [record for record in by_case.get(case.id, ()) if record.contender in case.contenders]
            standing = standing_of(mine) if mine else None
            self.search.take(case, standing if standing is not None and len(standing.times) > 1 else None)

    def _outcome(self, last: Outcome) -> tuple[Outcome, dict[str, Json]]:
        regions = [found.to_json() for found in self.search.findings()]
        return replace(last, records=tuple(self.records)), {"regions": regions}
