"""One regime's contest: a race that drops who is behind, finals side by side with the shipped constants, and a proof.

What it asks for next follows from its space and from the records of what it asked before, and from nothing else. So a
contest that was interrupted comes to the same place again by being told the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpubench.analysis.rounds import samples
from gpubench.comparison import Row as Compared
from gpubench.model import Case, Record, TimingOptions
from gpubench.names import MEASURED
from gpubench.operators.constants import text_of
from gpubench.tuned import STAGE, Decision, Interval, Row, Timed
from gpubench.tuning.finals import Finals
from gpubench.tuning.race import BEHIND, Times, laps, race
from gpubench.tuning.space import Entrant, Space
from gpubench.tuning.verdict import OPEN, interval, timed, whole

PORTION = 8
"""Cases of a proof that are timed before the next ones: one that speaks against a finalist saves the others' time."""

FEWEST = 3
"""Cases that other constants must change, where a regime has so many: one was 1 % ahead, and the next 10 % behind."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is spent on a regime. `turns`: rounds of each turn of the race. `rounds`: of the finals and the proof on
    each case; up to `patience` times as many where they leave a doubt. Closer than `resolution` is a tie.
    """

    cases: int = 4
    turns: tuple[int, ...] = (4, 4, 8, 16)
    samples: int = 12
    finalists: int = 3
    rounds: int = 12
    patience: int = 16
    final_samples: int = 24
    resolution: float = 0.005
    time_limit_s: float = 5.0


@dataclass
class Contest:
    """See the module. `failed`: who is out, and why; `dropped`: those of them that were never timed."""

    space: Space
    effort: Effort = field(default_factory=Effort)
    failed: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    decision: Decision = "undecided"
    chosen: Entrant | None = None
    ratio: Interval | None = None
    why: str = "the time was over before it began"
    timed: tuple[Timed, ...] = ()
    rounds: int = 0

    def __post_init__(self) -> None:
        """Let everybody start."""
        self._alive = list(self.space.entrants)
        self._rounds: dict[tuple[str, str], list[list[float]]] = {}
        self._told: dict[tuple[str, str], Record] = {}
        self._tried: set[str] = set()
        self.cases = self._telling([case for case in self.space.cases if self._differs(case, self._alive)])

    def drop(self, reasons: Mapping[str, str]) -> None:
        """Leave configurations out before they are timed: what the compiler's report says. The shipped ones stay."""
        self.dropped |= {name: why for name, why in reasons.items() if name != self.space.incumbent.name}
        self._alive = [entrant for entrant in self._alive if entrant.name not in self.dropped]

    def batches(self) -> Iterator[list[Case]]:
        """Yield the cases of each stage; `take` their records before asking for the next."""
        if len(self._alive) == 1:
            self._keep("no other configuration makes another plan")
            return
        self.why = "the time was over before the race was"
        for turn, rounds in enumerate(self.effort.turns):
            yield [self._stage(case, f"race.{turn + 1}", self._on(case, self._alive), rounds) for case in self.cases]
            if self._lap():
                break
        if self.space.incumbent.name in self.failed:
            self.why = f"the shipped constants failed: {self.failed[self.space.incumbent.name]}"
            return
        finalists = self._finalists()
        if not finalists:
            return
        self.why = "the time was over before the finals were"
        yield from self._finals(finalists)

    def take(self, records: Iterable[Record]) -> None:
        """Be told what came of the cases that were asked for last. What was not reached (skipped) is not told."""
        for record in records:
            if record.status == "skipped":
                continue
            self._told[record.case.id, record.contender] = record
            if record.status not in MEASURED or record.status == "inaccurate":
                self._fail(record)

    # --- the race ----------------------------------------------------------------------------------------------------

    def _lap(self) -> bool:
        """Work out who is behind; return whether the race is over."""
        self._gather()
        self._alive = [entrant for entrant in self._alive if entrant.name not in self.failed]
        if self.space.incumbent.name in self.failed or len(self._alive) == 1:
            return True
        field_ = {entrant.name: self._times(entrant) for entrant in self._alive}
        stay, over = race(field_, self.space.incumbent.name, self.effort.resolution)
        self._alive = [entrant for entrant in self._alive if entrant.name in stay]
        return over or len(self._alive) == 1

    def _gather(self) -> None:
        """Add the rounds of the last turn to those of each plan."""
        for (case_id, name), record in self._told.items():
            base, _, stage = case_id.partition(STAGE)
            entrant = next((entrant for entrant in self.space.entrants if entrant.name == name), None)
            if entrant is not None and ".race." in stage and name not in self.failed:
                self._rounds.setdefault((base, entrant.plans[base]), []).extend(samples(record))
            self._tried.add(name)
        self._told.clear()

    def _times(self, entrant: Entrant) -> Times:
        return {case.id: self._rounds[case.id, entrant.plans[case.id]] for case in self.cases}

    def _finalists(self) -> list[Entrant]:
        """Return who may be ahead of the shipped constants by more than a tie, best first; decide where nobody may."""
        others = [entrant for entrant in self._alive if entrant.name != self.space.incumbent.name]
        if not others:
            self._keep("every other one is behind, or slower on a case")
            return []
        shipped = self._times(self.space.incumbent)
        found = list(zip(others, laps([self._times(other) for other in others], shipped), strict=True))
        found.sort(key=lambda pair: (pair[1].log_ratio, len(pair[0].values), pair[0].name))
        best = found[0][1]
        self.ratio = interval(best.log_ratio, 2 * best.error)
        limit = math.log1p(-self.effort.resolution / 2)
        ahead = [entrant for entrant, lap in found if lap.log_ratio < limit or lap.log_ratio + BEHIND * lap.error < 0]
        if not ahead:
            self._keep("nothing is ahead by more than a tie")
            return []
        borne = [entrant for entrant in ahead if self._changed(entrant) >= min(FEWEST, len(self.space.cases))]
        if not borne:
            few = f"{self._changed(ahead[0])} of {len(self.space.cases)} cases"
            self.why = f"what is ahead changes the plans of {few}, too few to speak for a regime"
        first: dict[tuple[str, ...], Entrant] = {}  # those of equal plans in the race would tie for ever
        for finalist in borne:
            first.setdefault(tuple(finalist.plans[case.id] for case in self.cases), finalist)
        return list(first.values())[: self.effort.finalists]

    # --- finals ------------------------------------------------------------------------------------------------------

    def _finals(self, finalists: Sequence[Entrant]) -> Iterator[list[Case]]:
        """Time finalists and shipped constants side by side, then the best on all other cases that it changes."""
        beside = Finals(self.space, self.effort.resolution)
        cases = [case for case in self.cases if self._differs(case, [self.space.incumbent, *finalists])]
        yield from self._turns("final", beside, finalists, cases)
        refused: list[str] = []
        for place, finalist in enumerate(beside.ranked(other for other in finalists if other.name not in self.failed)):
            why = beside.objection(finalist)
            if not why:
                yield from self._proof(f"proof.{place + 1}", beside, finalist, cases)
                why = self.failed.get(finalist.name) or beside.objection(finalist)
            self.rounds = beside.rounds
            if not why:
                self._choose(finalist, beside.compared(finalist))
                return
            refused.append(why)
        self._decide_without(refused)

    def _proof(self, stage: str, beside: Finals, one: Entrant, done: Sequence[Case]) -> Iterator[list[Case]]:
        """Time a finalist on all cases that it changes, some at a time, until one speaks against it."""
        changed = [case for case in self.space.cases if self._differs(case, [self.space.incumbent, one])]
        rest = [case for case in changed if case not in done]
        for number, start in enumerate(range(0, len(rest), PORTION)):
            yield from self._turns(f"{stage}.{number + 1}", beside, [one], rest[start : start + PORTION])
            if one.name in self.failed or beside.objection(one):
                return

    def _turns(
        self, stage: str, beside: Finals, finalists: Sequence[Entrant], cases: Sequence[Case]
    ) -> Iterator[list[Case]]:
        """Time finalists on cases, then again, twice as long in all, where it is in doubt whether one is taken."""
        rounds, done, turn = self.effort.rounds, 0, 1
        while cases and done + rounds <= self.effort.patience * self.effort.rounds:
            field_ = [self.space.incumbent, *finalists]
            yield [
                self._stage(case, f"{stage}.{turn}", self._on(case, field_), rounds, ends=True)
                for case in cases
                if self._differs(case, field_)
            ]
            beside.add(self._told.values())
            self._told.clear()
            done += rounds
            rounds, turn = done, turn + 1
            doubts = {
                entrant.name: beside.doubtful(entrant) for entrant in finalists if entrant.name not in self.failed
            }
            finalists = [entrant for entrant in finalists if doubts.get(entrant.name)]
            cases = [case for case in cases if any(case.id in doubts[entrant.name] for entrant in finalists)]

    def _choose(self, one: Entrant, found: Sequence[Compared]) -> None:
        self.chosen, self.decision, self.why = one, "tuned", ""
        self.ratio = whole(found)
        self.timed = tuple(map(timed, found))

    def _decide_without(self, refused: Sequence[str]) -> None:
        """Keep the shipped constants, or leave it undecided where a finalist may well be better."""
        open_ = [why for why in refused if why.startswith(OPEN)]
        if open_:
            self.decision, self.why = "undecided", f"the best others are {open_[0].removeprefix(f'{OPEN}: ')}"
        else:
            self._keep("; ".join(dict.fromkeys(refused)) or "no finalist was left")

    # --- what both need ----------------------------------------------------------------------------------------------

    def _keep(self, why: str) -> None:
        self.chosen, self.decision, self.why = self.space.incumbent, "kept", why

    def _fail(self, record: Record) -> None:
        """Put everybody out who has the plan of a contender that failed."""
        base = record.case.id.partition(STAGE)[0]
        runner = next((entrant for entrant in self.space.entrants if entrant.name == record.contender), None)
        if runner is None:
            return
        reason = f"{record.status}: {record.message}" if record.message else record.status
        for entrant in self.space.entrants:
            if entrant.plans[base] == runner.plans[base]:
                self.failed.setdefault(entrant.name, f"{base}: {reason}"[:500])

    def _differs(self, case: Case, entrants: Sequence[Entrant]) -> bool:
        return len({entrant.plans[case.id] for entrant in entrants}) > 1

    def _changed(self, entrant: Entrant) -> int:
        return sum(self._differs(case, [self.space.incumbent, entrant]) for case in self.space.cases)

    def _on(self, case: Case, entrants: Sequence[Entrant]) -> list[Entrant]:
        """Return one of those that have the same plan on a case, the first; the shipped constants are always there."""
        first: dict[str, Entrant] = {}
        for entrant in entrants:
            first.setdefault(entrant.plans[case.id], entrant)
        return list(first.values())

    def _telling(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases of the race, in their order: those whose plans tell most configurations apart, then others,
        evenly spread. What no case of the race tells apart is decided by how little it differs from what is shipped.
        """
        apart: dict[str, tuple[str, ...]] = {entrant.name: () for entrant in self.space.entrants}
        chosen: list[Case] = []
        while len(chosen) < min(self.effort.cases, len(cases)):
            rest = [case for case in cases if case not in chosen]
            gains = [
                len({(*apart[entrant.name], entrant.plans[case.id]) for entrant in self.space.entrants})
                for case in rest
            ]
            if max(gains) == len(set(apart.values())):
                chosen += _spread(rest, self.effort.cases - len(chosen))
                break
            best = rest[gains.index(max(gains))]
            chosen.append(best)
            apart = {entrant.name: (*apart[entrant.name], entrant.plans[best.id]) for entrant in self.space.entrants}
        return [case for case in cases if case in chosen]

    def _stage(self, case: Case, stage: str, entrants: Sequence[Entrant], rounds: int, ends: bool = False) -> Case:
        each = self.effort.final_samples if ends else self.effort.samples
        timing: TimingOptions = replace(
            case.timing,
            rounds=rounds,
            min_samples=each * rounds,
            max_samples=2 * each * rounds,
            max_noise=1.0,
            time_limit_s=self.effort.time_limit_s,
            order="alternating" if ends else "random",
        )
        name = f"{case.id}{STAGE}{self.space.subject.name}.{self.space.regime.name}.{stage}"
        return replace(case, id=name, contenders=tuple(entrant.name for entrant in entrants), timing=timing, limits={})

    def row(self) -> Row:
        """Return what is known so far."""
        entrants = self.space.entrants
        failed = [name for name in self.failed if name not in self.dropped]
        values = {} if self.chosen is None else {name: text_of(value) for name, value in self.chosen.values.items()}
        return Row(
            self.space.subject.name,
            self.space.regime.name,
            len(self.space.cases),
            self.decision,
            values,
            self.ratio,
            self.space.total,
            len({entrant.name for entrant in entrants} - {*self.dropped}) if self._tried else 0,
            len(self.dropped) + len(self.space.refused) + self.space.outside,
            len(failed),
            self.rounds,
            self.why,
            self.timed,
        )


def _spread(cases: Sequence[Case], most: int) -> list[Case]:
    """Return so many cases at most, evenly spread over them as they are listed."""
    step = max(len(cases) / max(most, 1), 1.0)
    return [cases[int(place * step)] for place in range(min(most, len(cases)))]
