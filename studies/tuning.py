"""Tuning without a device: contests over planted landscapes, whose best configuration is known.

A landscape has configurations with a time on each case: most within a tenth of each other, some far off (cliffs), some
the same as the best within a thousandth (ties), some that fail. Samples scatter with heavy tails (Student's t of 3
degrees of freedom), rounds have a luck of their own, and the shipped configuration is any of those that work.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gpubench.model import Case, Record, Sample, Timing
from gpubench.names import Status
from gpubench.operators import operator
from gpubench.operators.constants import Regime
from gpubench.tuned import STAGE
from gpubench.tuning.contest import Contest, Effort
from gpubench.tuning.space import Entrant, Space, Subject

SAMPLE_NOISE = 0.005
ROUND_NOISE = 0.003
FAILURES: tuple[Status, ...] = ("wrong", "compile_error", "timeout", "crashed", "device_error")
SHIPPED = "shipped"


@dataclass(frozen=True, slots=True)
class Landscape:
    """Planted times in microseconds by configuration and case; failures by configuration."""

    cases: tuple[str, ...]
    us: dict[str, dict[str, float]]
    failures: dict[str, Status] = field(default_factory=dict)

    def regret(self, name: str, resolution: float) -> float:
        """Return how much more time a configuration takes than the best one that is slower nowhere, 0.01 is 1 %."""
        fit = [other for other in self.us if other not in self.failures and self._is_fit(other, resolution)]
        best = min(self._mean(other) for other in fit)
        return math.exp(self._mean(name) - best) - 1

    def _is_fit(self, name: str, resolution: float) -> bool:
        shipped = self.us[SHIPPED]
        return all(self.us[name][case] <= (1 + resolution) * shipped[case] for case in self.cases)

    def _mean(self, name: str) -> float:
        return sum(math.log(self.us[name][case]) for case in self.cases) / len(self.cases)


def landscape(seed: int, most: int = 60) -> Landscape:
    """Return a landscape. The same seed gives the same one."""
    chance = random.Random(seed)
    cases = tuple(f"case{number}" for number in range(chance.randint(1, 4)))
    size = {case: math.exp(chance.uniform(math.log(4), math.log(400))) for case in cases}
    us: dict[str, dict[str, float]] = {}
    failures: dict[str, Status] = {}
    best: dict[str, float] | None = None
    for number in range(chance.randint(2, most)):
        name = SHIPPED if number == 0 else f"c{number}"
        factor = math.exp(chance.gauss(0, 0.08))
        if number and chance.random() < 0.15:
            factor *= chance.uniform(2, 10)
        us[name] = {case: size[case] * factor * math.exp(chance.gauss(0, 0.004)) for case in cases}
        if number and best is not None and chance.random() < 0.1:
            us[name] = {case: mean * math.exp(chance.gauss(0, 0.0005)) for case, mean in best.items()}
        if best is None or sum(map(math.log, us[name].values())) < sum(map(math.log, best.values())):
            best = us[name]
        if number and chance.random() < 0.1:
            failures[name] = chance.choice(FAILURES)
    return Landscape(cases, us, failures)


def contest_on(planted: Landscape, effort: Effort | None = None) -> Contest:
    """Return a contest over a landscape; every configuration has plans of its own."""
    cases = tuple(Case(name, "sum", "float32", {}) for name in planted.cases)
    entrants = tuple(
        Entrant(name, {} if name == SHIPPED else {"C": number}, {case.id: name for case in cases})
        for number, name in enumerate(planted.us)
    )
    regime = Regime("planted", "1", (), ())
    return Contest(Space(Subject(operator("sum")), regime, cases, entrants, len(entrants)), effort or Effort())


def measured(planted: Landscape, cases: Iterable[Case], seed: int) -> list[Record]:
    """Return what a run of these cases would have given. The same case and seed give the same times."""
    found = []
    for case in cases:
        chance = random.Random(f"{seed} {case.id}")
        for name in case.contenders:
            failure = planted.failures.get(name)
            us = planted.us[name][case.id.partition(STAGE)[0]]
            each = case.timing.min_samples // case.timing.rounds
            rounds = tuple(_round(us, each, chance) for _ in range(case.timing.rounds))
            timing = None if failure else Timing(rounds)
            found.append(Record(case, name, failure or "ok", "planted" if failure else None, None, timing=timing))
    return found


def _round(us: float, samples: int, chance: random.Random) -> tuple[Sample, ...]:
    here = us * math.exp(chance.gauss(0, ROUND_NOISE))
    return tuple(Sample(here * (1 + SAMPLE_NOISE * min(abs(_student(chance)), 50.0))) for _ in range(samples))


def _student(chance: random.Random) -> float:
    """Return a draw of Student's t with 3 degrees of freedom."""
    return chance.gauss(0, 1) / math.sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3)


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of one contest: its regret, the samples that it took, and what it decided."""

    regret: float
    samples: int
    decision: str


def hold(planted: Landscape, seed: int, effort: Effort | None = None) -> Found:
    """Hold a contest to its end and return how good its choice is; undecided ones keep the shipped configuration."""
    contest = contest_on(planted, effort)
    taken = 0
    for batch in contest.batches():
        records = measured(planted, batch, seed)
        taken += sum(len(record.timing.samples) for record in records if record.timing is not None)
        contest.take(records)
    name = SHIPPED if contest.chosen is None else contest.chosen.name
    return Found(planted.regret(name, contest.effort.resolution), taken, contest.decision)


def summary(found: Sequence[Found]) -> str:
    """Return the lines that docs/tuning.md shows."""
    regrets = sorted(outcome.regret for outcome in found)
    near = sum(regret <= 0.01 for regret in regrets)
    samples = sum(outcome.samples for outcome in found) / len(found)
    decisions = {word: sum(outcome.decision == word for outcome in found) for word in ("tuned", "kept", "undecided")}
    told = ", ".join(f"{number} {word}" for word, number in decisions.items())
    return (
        f"{len(found)} contests: {near} ({100 * near / len(found):.1f} %) within 1 % of the best; mean regret "
        f"{100 * sum(regrets) / len(regrets):.3f} %, worst {100 * regrets[-1]:.2f} %; {told}; {samples:.0f} samples "
        "each."
    )
