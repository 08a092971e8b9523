"""Gates on simulated times: false alarms, what intervals hold, and power, by the rule that `compare` uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import CEILINGS, Controls, Machine, estimate
from gpubench.analysis.estimate import effects
from gpubench.analysis.rounds import Times, times
from gpubench.analysis.rule import Effect, Judged, Rule, judge
from studies.verdicts.noise import CASES, Drawn, Scenario, draw

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

Slower = Callable[[Drawn], "Array"]
"""A rule that says which of the changed pairs, (CASES,), it calls slower."""


def judged(drawn: Drawn, same_device: bool = False, rule: Rule | None = None) -> tuple[Effect, Judged, Machine]:
    """Return what our rule says of the changed pairs of a gate."""
    rule = rule or Rule()
    before, after = _times(drawn.old, drawn.family), _times(drawn.new, drawn.family)
    controls = slice(CASES, None)
    known = Controls(
        drawn.family[controls],
        np.exp(before.log_us[controls]),
        (after.log_us - before.log_us)[controls],
        (before.variance + after.variance)[controls],
    )
    machine = estimate(known, same_device)
    cases = np.arange(CASES)
    effect = effects(before, after, cases, cases, machine, drawn.family[:CASES])
    return effect, judge(effect, rule.band(np.exp(before.log_us[:CASES])), rule.alpha), machine


def _times(samples: Array, family: Array) -> Times:
    """Return the summary of samples (pairs, rounds, n); the harness's ceilings vary in their own way."""
    swept = {int(number) for number in np.flatnonzero(family == CEILINGS)}
    return times(dict(enumerate(samples.tolist())), apart=(swept,))


def ours(drawn: Drawn) -> Array:
    """Return which pairs our rule calls slower."""
    return np.asarray(judged(drawn)[1].call == 1)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What gates without a change gave. Shares of gates: `slower`, `faster` (some pair called so), `mean` (the interval
    of the geometric mean holds the truth). Shares of pairs: `covered` (their interval holds the truth), `same`.
    """

    slower: float
    faster: float
    covered: float
    mean: float
    same: float


def null(scenario: Scenario, gates: int, seed: int, rounds: int = 3) -> Outcome:
    """Return what `gates` comparisons give in which nothing changed, or everything as the scenario shifts it."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(gates):
        drawn = draw(scenario, random, rounds)
        effect, said, _ = judged(drawn)
        away = effect.value - drawn.truth
        covered = float((np.abs(away) <= effect.half()).mean())
        calls = ((said.call == 1).any(), (said.call == -1).any())
        found.append((*calls, covered, _mean_held(effect, away), (said.call == 0).mean()))
    return Outcome(*(float(value) for value in np.mean(np.asarray(found, dtype=np.float64), axis=0)))


def _mean_held(effect: Effect, away: Array) -> bool:
    from gpubench.analysis.judge import mean_half

    return bool(abs(float(away.mean())) <= mean_half(effect, np.arange(CASES)))


def false_alarms(scenario: Scenario, gates: int, seed: int, rule: Slower) -> float:
    """Return the share of gates without a change in which a rule calls some pair slower."""
    random = np.random.default_rng(seed)
    return float(np.mean([rule(draw(scenario, random)).any() for _ in range(gates)]))


TIMES = ((0.0, 10.0), (10.0, 50.0), (50.0, np.inf))
"""Ranges of times in which power is counted apart, microseconds."""

PLANTED = 3
"""Changed pairs of a gate that are slower; the others are not."""


def power(scenario: Scenario, gates: int, seed: int, change: float, rounds: int, same: bool) -> tuple[float, ...]:
    """Return the share of planted changes that are found, in each range of TIMES."""
    random = np.random.default_rng(seed)
    hits: list[list[bool]] = [[] for _ in TIMES]
    for _ in range(gates):
        planted = np.zeros(CASES)
        at = random.choice(CASES, PLANTED, replace=False)
        planted[at] = np.log1p(change)
        drawn = draw(scenario, random, rounds, planted)
        call = judged(drawn, same)[1].call
        for number in at:
            us = float(np.median(drawn.old[number]))
            place = next(i for i, (low, high) in enumerate(TIMES) if low <= us < high)
            hits[place].append(bool(call[number] == 1))
    return tuple(float(np.mean(found_in)) if found_in else float("nan") for found_in in hits)
