"""Times as runs on H200s have them, drawn from seeds: log(time) = machine + run + round + sample, read by a clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import CEILINGS, OURS
from gpubench.analysis.rounds import TICK_US

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CASES = 100
"""Changed pairs of a gate."""

CONTROLS = 100
SAMPLES = 7
"""The fewest in a round of `gpubench run`: 20 over 3 rounds."""

LIBRARIES = ("torch", "cupy", "cub", "jax", "inductor")

Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Scenario:
    """What varies, as standard deviations of logarithms or in microseconds where the name says so.

    `round_`, `round_us`: rounds of a case. `tails`: degrees of freedom of rounds (2: heavy; 0: normal; -1: Pareto's, to
    one side). `run`, `run_us`: a case from run to run, with `run_tails`; `whole`: all cases of a run together.
    `clock`: each case and run, or (`clock_of_run`) each run, is in one of two states so far apart. `bad`, `bad_by`: the
    share of rounds that are slower by so much. `jump`: the share of cases and runs that are 10 % off. `drift`: over the
    rounds of a run, at most. `factor`, `added_us`: the machine's change. `ceiling_off`: by which only the ceilings
    change. `planted`, `planted_by`: the share of controls that did change. `controls`, `ceilings`: what there is;
    `shortest_us`, `longest_us`: of the cases; `controls_from_us`: of the controls, where they differ.
    """

    name: str
    round_: float = 0.003
    round_us: float = 0.03
    tails: float = 0.0
    run: float = 0.001
    run_us: float = 0.05
    run_tails: float = 0.0
    whole: float = 0.0
    clock: float = 0.0
    clock_of_run: float = 0.0
    bad: float = 0.0
    bad_by: float = 0.0
    jump: float = 0.0
    drift: float = 0.0
    factor: float = 1.0
    added_us: float = 0.0
    ceiling_off: float = 0.0
    planted: float = 0.0
    planted_by: float = 0.0
    controls: int = CONTROLS
    ceilings: bool = True
    shortest_us: float = 2.0
    longest_us: float = 1000.0
    controls_from_us: float = 0.0
    shifted: float = 0.0

    def named(self, name: str, **changes: Any) -> Scenario:
        """Return it with changes, under another name."""
        return replace(self, name=name, **changes)


_BASE = Scenario("round noise 0.3 %")
SCENARIOS = (
    _BASE,
    _BASE.named("round noise 1 %", round_=0.01),
    _BASE.named("round noise 3 %", round_=0.03),
    _BASE.named("runs 0.3 % a case", run=0.003),
    _BASE.named("runs 1 % a case", run=0.01),
    _BASE.named("whole run 1 %", whole=0.01),
    _BASE.named("whole run 2 %", whole=0.02),
    _BASE.named("clock states 4 %, a case and run", clock=0.04),
    _BASE.named("clock states 4 %, a run", clock_of_run=0.04),
    _BASE.named("rounds of tails t2", tails=2.0),
    _BASE.named("rounds of tails Pareto", tails=-1.0),
    _BASE.named("run effects t3, 0.3 %", run=0.003, run_tails=3.0),
    _BASE.named("run effects t3, 1 %", run=0.01, run_tails=3.0),
    _BASE.named("1 round in 100 +10 %", bad=0.01, bad_by=0.1),
    _BASE.named("1 round in 10 +3 %", bad=0.1, bad_by=0.03),
    _BASE.named("1 pair in 50 jumps by 10 %", jump=0.01),
    _BASE.named("2 to 8 us, ties", shortest_us=2.0, longest_us=8.0),
    _BASE.named("host +1.6 us, GPU -2 %", factor=0.98, added_us=1.6),
    _BASE.named("host +3 us, GPU +5 %", factor=1.05, added_us=3.0),
    _BASE.named("the same, ceilings only", factor=1.05, added_us=3.0, controls=0),
    _BASE.named("the same, 3 controls", factor=1.05, added_us=3.0, controls=3),
    _BASE.named("no controls at all", controls=0, ceilings=False),
    _BASE.named("controls over 100 us only", factor=0.98, added_us=1.6, controls_from_us=100.0, ceilings=False),
    _BASE.named("a fifth of the controls +5 %", planted=0.2, planted_by=0.05),
    _BASE.named("a fifth of the controls -10 %", planted=0.2, planted_by=-0.1),
    _BASE.named("drift over rounds 3 %", drift=0.03),
    _BASE.named("ceilings only, 1 % off", controls=0, ceiling_off=0.01),
    _BASE.named("all cases at +1.0 %", shifted=0.01),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Samples of both sides in microseconds, (pairs, rounds, samples); the first CASES pairs changed, the rest are
    controls. `family` (pairs,): their families. `truth`: the true log ratio of each changed pair beyond the machine's.
    """

    old: Array
    new: Array
    family: Array
    truth: Array


def draw(scenario: Scenario, random: Random, rounds: int = 3, planted: Array | None = None) -> Drawn:
    """Return the times of a gate. `planted`: log ratios of the changed pairs, (CASES,), in place of the scenario's."""
    truth = np.full(CASES, np.log1p(scenario.shifted)) if planted is None else planted
    time_us, family = _work(scenario, random)
    swept = family == CEILINGS
    changed = np.zeros(len(time_us))
    changed[:CASES] = truth
    odd = (np.arange(len(time_us)) >= CASES) & ~swept & (random.random(len(time_us)) < scenario.planted)
    changed[odd] = scenario.planted_by
    changed[swept] = scenario.ceiling_off
    before = _run(scenario, np.log(time_us), random, rounds)
    machine = np.log(scenario.factor * time_us * np.exp(changed) + scenario.added_us)
    # what is planted is planted in the time that the new machine takes
    machine = np.where(changed == 0, machine, np.log(scenario.factor * time_us + scenario.added_us) + changed)
    return Drawn(before, _run(scenario, machine, random, rounds), family, truth)


def _work(scenario: Scenario, random: Random) -> tuple[Array, Array]:
    """Return the true old times of all pairs and their families."""
    ends = np.log([scenario.shortest_us, scenario.longest_us])
    least = np.log(scenario.controls_from_us) if scenario.controls_from_us else ends[0]
    controls = np.exp(random.uniform(least, ends[1], scenario.controls))
    names = np.asarray(LIBRARIES, dtype=object)[random.integers(len(LIBRARIES), size=scenario.controls)]
    swept = np.asarray([1.3, 3.4, *np.repeat(np.geomspace(4, 900, 16), 3)] if scenario.ceilings else [])
    time_us = np.concatenate([np.exp(random.uniform(ends[0], ends[1], CASES)), controls, swept])
    family = np.asarray([OURS] * CASES + list(names) + [CEILINGS] * len(swept), dtype=object)
    return time_us, family


def _run(scenario: Scenario, log_us: Array, random: Random, rounds: int) -> Array:
    """Return the samples (pairs, rounds, SAMPLES) of one run of work of these log times."""
    count = len(log_us)
    time_us = np.exp(log_us)
    size = np.hypot(scenario.run, scenario.run_us / time_us) / np.sqrt(2)  # of a pair, which has two runs
    shape = random.standard_t(scenario.run_tails, count) if scenario.run_tails else random.normal(size=count)
    level = log_us + size * shape + scenario.whole * random.normal()
    level = level + scenario.clock * (random.random(count) < 0.5) + scenario.clock_of_run * (random.random() < 0.5)
    level = level + 0.1 * (random.random(count) < scenario.jump)
    between = np.hypot(scenario.round_, scenario.round_us / time_us)[:, None] * _rounds(scenario, random, count, rounds)
    between += scenario.bad_by * (random.random((count, rounds)) < scenario.bad)
    between += scenario.drift * random.uniform(-1, 1) * np.linspace(-1, 1, rounds)
    within = 0.002 * random.standard_t(3.0, size=(count, rounds, SAMPLES))
    spikes = (random.random(within.shape) < 0.02) * random.exponential(0.2, size=within.shape)
    samples = np.exp(level[:, None, None] + between[:, :, None] + within + spikes)
    return np.asarray(np.maximum(np.round(samples / TICK_US), 1) * TICK_US)


def _rounds(scenario: Scenario, random: Random, count: int, rounds: int) -> Array:
    if scenario.tails > 0:
        return np.asarray(random.standard_t(scenario.tails, (count, rounds)))
    if scenario.tails < 0:
        return np.asarray(random.pareto(2.0, (count, rounds)))
    return np.asarray(random.normal(size=(count, rounds)))
