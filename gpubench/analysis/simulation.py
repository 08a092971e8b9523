"""Simulated gates: how often the rule cries wolf, how often it sleeps, and what its intervals cover.

The figures of docs/statistics.md come from here (`scripts/statistics` runs it and writes them down). Everything is made
from a seed; the rule is the one that `compare` uses, on arrays in place of result files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis import bootstrap, floors
from gpubench.analysis.estimate import Change, unpaired, with_ranks
from gpubench.analysis.ranks import benjamini_hochberg
from gpubench.analysis.rounds import block
from gpubench.analysis.rule import Rule, judge, thresholds

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

TYPICAL_US = 100.0
CASES = 100
ROUNDS = 3
SAMPLES = 7
"""The fewest in a round of `gpubench run`: 20 over 3 rounds."""
SPIKES = 0.02
"""Share of samples that some other work of the machine disturbs, by up to a factor of two or so."""

Random = np.random.Generator
Scale = Callable[[Random, int], "Array"]
Drift = Callable[[Random, "Array", int], "Array"]


def same(value: float) -> Scale:
    """All cases drift alike."""
    return lambda _random, cases: np.full(cases, value)


def mixed(random: Random, cases: int) -> Array:
    """0.2 % to 0.5 % for most cases, 1 % for one in ten: what allocations on an H200 give."""
    return random.choice([0.002, 0.003, 0.005, 0.01], p=[0.35, 0.35, 0.2, 0.1], size=cases)


def gaussian(random: Random, scale: Array, rounds: int) -> Array:
    """Round effects (cases, rounds) that are normal."""
    return np.asarray(scale[:, None] * random.normal(size=(len(scale), rounds)))


def heavy(random: Random, scale: Array, rounds: int) -> Array:
    """Student's t with 3 degrees of freedom: now and then a round is far off."""
    return np.asarray(scale[:, None] * random.standard_t(3, size=(len(scale), rounds)))


def bad_rounds(random: Random, scale: Array, rounds: int) -> Array:
    """One round in ten is 3 % slower."""
    return np.asarray(gaussian(random, scale, rounds) + 0.03 * (random.random((len(scale), rounds)) < 0.1))


def two_clocks(random: Random, scale: Array, rounds: int) -> Array:
    """Each round runs at one of two clocks that lie 3 % apart."""
    return np.asarray(gaussian(random, scale, rounds) + 0.03 * (random.random((len(scale), rounds)) < 0.5))


@dataclass(frozen=True, slots=True)
class Scenario:
    """How times come about: log(time) = run + round + sample. `scale` gives each case its size of drift between rounds,
    `drift` the shape of that drift; `noise` scales the samples (Student's t, 2.5 degrees of freedom, and spikes);
    `run` is the standard deviation between runs, which no single run can see. `span`: the longest case takes so many
    times as long as the shortest, and drift and noise are the same number of microseconds in all of them.
    """

    name: str
    scale: Scale
    drift: Drift = gaussian
    noise: float = 0.002
    run: float = 0.0
    span: float = 1.0

    def times_us(self, cases: int) -> Array:
        """Return the true time of each case, (cases,), in microseconds: evenly spaced in logarithms."""
        return np.asarray(TYPICAL_US * self.span ** np.linspace(-0.5, 0.5, cases))


SCENARIOS = (
    Scenario("no drift, 1 % noise", same(0.0), noise=0.01),
    Scenario("drift 0.3 %", same(0.003)),
    Scenario("drift 1 %", same(0.01)),
    Scenario("drift 0.2 to 1 %", mixed),
    Scenario("drift 0.2 to 1 %, runs 0.2 % apart", mixed, run=0.002),
    Scenario("heavy-tailed drift 0.3 %", same(0.003), heavy),
    Scenario("one round in ten 3 % slow", same(0.003), bad_rounds),
    Scenario("two clocks 3 % apart", same(0.001), two_clocks, noise=0.001),
    Scenario("drift 0.3 us, cases of 10 to 1000 us", same(0.003), span=100.0),
)


def measure(scenario: Scenario, scale: Array, random: Random, rounds: int = ROUNDS, samples: int = SAMPLES) -> Array:
    """Return the times (cases, rounds, samples) of one run in microseconds."""
    shape = (len(scale), rounds, samples)
    times = scenario.times_us(len(scale))[:, None, None]
    run = scenario.run * random.normal(size=(len(scale), 1, 1))
    between = scenario.drift(random, scale, rounds)[:, :, None]
    spikes = (random.random(shape) < SPIKES) * random.exponential(0.2, size=shape)
    jitter = between + scenario.noise * random.standard_t(2.5, size=shape)
    return np.asarray(times * np.exp(run + jitter * (TYPICAL_US / times) + spikes))


def gate(old: Array, new: Array, rule: Rule, floor: Array | float = 0.0) -> tuple[Array, Change]:
    """Return the verdicts (cases,) as `rule.judge` gives them, and the change, for times (cases, rounds, samples)."""
    cases = len(old)
    before, after = block(old), block(new)
    change = unpaired(before, after, np.zeros(cases, dtype=np.int64))
    p = with_ranks(change.p, list(old.reshape(cases, -1)), list(new.reshape(cases, -1)), rule.alpha)
    least = thresholds(rule, np.asarray(floor), np.exp(np.minimum(before.mean, after.mean)))
    return judge(change, benjamini_hochberg(p), least, rule.alpha), change


@dataclass(frozen=True, slots=True)
class NullOutcome:
    """What A/A gates gave: how many failed (some case SLOWER), had some case FASTER, and the shares of cases."""

    gates: int
    slower: int
    faster: int
    undecided: float
    coverage: float


def null(scenario: Scenario, gates: int, seed: int, rule: Rule | None = None, rounds: int = ROUNDS) -> NullOutcome:
    """Return the outcome of `gates` comparisons of 100 cases with themselves."""
    random = np.random.default_rng(seed)
    rule = rule or Rule()
    slower = faster = 0
    undecided = coverage = 0.0
    for _ in range(gates):
        scale = scenario.scale(random, CASES)
        old, new = (measure(scenario, scale, random, rounds) for _ in range(2))
        verdicts, change = gate(old, new, rule)
        slower += bool((verdicts == 1).any())
        faster += bool((verdicts == -1).any())
        undecided += float((verdicts == 2).mean())
        coverage += float((np.abs(change.log_ratio) <= change.half).mean())
    return NullOutcome(gates, slower, faster, undecided / gates, coverage / gates)


@dataclass(frozen=True, slots=True)
class PowerOutcome:
    """How many planted shifts were found, of how many, and the median noise floor."""

    planted: int
    found: int
    floor: float


def planted(
    scenario: Scenario, gates: int, seed: int, rule: Rule | None = None, runs: int = 5, factor: float = 2.0
) -> PowerOutcome:
    """Return how often one shifted case among 100 is called SLOWER, when it is slower by `factor` x its threshold.

    Each gate has its own calibration of `runs` runs; the threshold of a case is the larger of the rule's and its noise
    floor. Ten cases are shifted in turn, each alone.
    """
    random = np.random.default_rng(seed)
    rule = rule or Rule()
    found = total = 0
    sizes = []
    for _ in range(gates):
        scale = scenario.scale(random, CASES)
        history = [measure(scenario, scale, random) for _ in range(runs)]
        sides = [block(one) for one in history]
        floor = floors.floors(sides, np.zeros(CASES, dtype=np.int64), rule.alpha)
        sizes.append(float(np.median(floor)))
        new = measure(scenario, scale, random)
        for case in random.choice(CASES, 10, replace=False):
            slowed = new.copy()
            slowed[case] *= 1 + factor * max(rule.threshold, floor[case])
            verdicts, _ = gate(history[0], slowed, rule, floor)
            found += int(verdicts[case] == 1)
            total += 1
    return PowerOutcome(total, found, float(np.median(sizes)))


def percentile_coverage(scenario: Scenario, gates: int, seed: int, rounds: int, draws: int = 400) -> float:
    """Return what the plain percentile interval of the hierarchical bootstrap covers, where it should cover 95 %."""
    random = np.random.default_rng(seed)
    covered = 0.0
    for _ in range(gates):
        scale = scenario.scale(random, CASES)
        old, new = (bootstrap.draw(measure(scenario, scale, random, rounds), draws, random) for _ in range(2))
        low, high = np.quantile(new - old, [0.025, 0.975], axis=1)
        covered += float(((low <= 0) & (high >= 0)).mean())
    return covered / gates


def pooled_rank_gate(scenario: Scenario, gates: int, seed: int, alpha: float = 0.01) -> float:
    """Return how often a gate fails when Mann-Whitney over pooled samples decides alone (with Benjamini-Hochberg)."""
    from gpubench.analysis.ranks import mann_whitney

    random = np.random.default_rng(seed)
    failed = 0
    for _ in range(gates):
        scale = scenario.scale(random, CASES)
        old, new = (measure(scenario, scale, random).reshape(CASES, -1) for _ in range(2))
        q = benjamini_hochberg(mann_whitney(list(old), list(new)))
        failed += bool((q < alpha).any())
    return failed / gates
