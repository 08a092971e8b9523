"""The finals of a contest: what was timed beside the constants to beat, turn after turn, and what is still in doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.pairing import Selection
from gpubench.analysis.rule import Rule
from gpubench.comparison import Row
from gpubench.model import Ceiling, Record, ResultSet, Timing
from gpubench.names import MEASURED, WORST_FIRST
from gpubench.tuned import STAGE
from gpubench.tuning.space import Entrant, Space
from gpubench.tuning.verdict import OPEN, objection, whole


class Finals:
    """The rounds of all turns so far, by case and entrant: a later turn adds rounds to those of the turns before it."""

    def __init__(self, space: Space, resolution: float) -> None:
        self._space = space
        self._resolution = resolution
        self._records: dict[tuple[str, str], Record] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Take in what a turn gave."""
        for record in records:
            base = record.case.id.partition(STAGE)[0]
            plain = replace(record, case=replace(record.case, id=base))
            before = self._records.get((base, record.contender))
            self._records[base, record.contender] = plain if before is None else _joined(before, plain)

    @property
    def rounds(self) -> int:
        """The most rounds of a case."""
        timings = (record.timing for record in self._records.values())
        return max((len(timing.rounds) for timing in timings if timing is not None), default=0)

    def ranked(self, finalists: Iterable[Entrant]) -> list[Entrant]:
        """Return the finalists that have times, best first."""
        known = [(finalist, whole(self.compared(finalist))) for finalist in finalists]
        ranks = [
            ((found[0], len(finalist.values), finalist.name), finalist)
            for finalist, found in known
            if found is not None
        ]
        return [finalist for _, finalist in sorted(ranks, key=lambda pair: pair[0])]

    def objection(self, one: Entrant) -> str:
        """Return why a finalist is not taken, as far as is known; empty where it is."""
        return objection(self.compared(one), self._resolution)

    def doubtful(self, one: Entrant) -> set[str]:
        """Return the cases that need more rounds before it is certain whether a finalist is taken; none where it is.

        A case is in doubt whose interval has the most time that is allowed within it; all are, while the mean is open.
        """
        found = self.compared(one)
        known = {row.case: row.estimate for row in found if row.estimate is not None}
        most = 1 + self._resolution
        if not known or any(estimate.low > most for estimate in known.values()):
            return set()
        why = objection([row for row in found if known[row.case].ratio <= most], self._resolution)
        if why and not why.startswith(OPEN):
            return set()
        return {case for case, estimate in known.items() if why or estimate.high > most}

    def compared(self, one: Entrant) -> list[Row]:
        """Return the comparison of a finalist with the constants to beat, case by case, by the method of `ab`."""
        names = (self._space.incumbent.name, one.name)
        mine = [self._as_planned(record, one) for record in self._records.values() if record.status in MEASURED]
        both = [record for record in mine if record is not None and record.contender in names]
        ids = {record.case.id for record in both if record.contender == names[1]}
        if not ids:
            return []
        result = ResultSet("", "", (), {}, {}, Ceiling(), tuple(record for record in both if record.case.id in ids))
        options = Options(Rule(self._resolution), Selection(a=names[0], b=names[1]), interleaved=True)
        return [row for row in compare(result, result, options).rows if row.estimate is not None]

    def _as_planned(self, record: Record, one: Entrant) -> Record | None:
        """Return the record of whoever has this finalist's plan on a case, as the finalist's own."""
        runner = next((entrant for entrant in self._space.entrants if entrant.name == record.contender), None)
        if runner is None or record.contender == self._space.incumbent.name:
            return record
        same = runner.plans[record.case.id] == one.plans[record.case.id]
        return replace(record, contender=one.name) if same else None


def _joined(before: Record, after: Record) -> Record:
    """Return a record with the rounds of both, and the worse of their statuses."""
    if before.timing is None or after.timing is None:
        return after
    shift = len(before.timing.rounds)
    later = tuple((number + shift, sample) for number, sample in after.timing.discarded)
    timing: Timing = replace(
        after.timing,
        rounds=(*before.timing.rounds, *after.timing.rounds),
        discarded=(*before.timing.discarded, *later),
    )
    worse = min(before, after, key=lambda record: WORST_FIRST.index(record.status))
    return replace(after, status=worse.status, message=worse.message, timing=timing)
