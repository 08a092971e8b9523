"""The gate neither cries wolf nor sleeps, on simulated times with seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from gpubench.analysis import simulation
from gpubench.analysis.rule import Rule
from gpubench.analysis.simulation import SCENARIOS, Scenario

GATES = 250
ALLOWED = int(binom.ppf(0.999, GATES, 0.01))
"""Failed gates that a true rate of 1 % exceeds once in a thousand times."""


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_gates_of_100_cases_that_nothing_changed_pass(scenario: Scenario) -> None:
    """At most 1 % of gates of 100 cases fail when nothing has changed, whatever the noise looks like."""
    outcome = simulation.null(scenario, GATES, seed=11)
    assert outcome.slower <= ALLOWED
    assert outcome.faster <= ALLOWED


@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.run == 0], ids=lambda one: one.name)
def test_without_a_threshold_the_statistics_alone_hold_the_rate(scenario: Scenario) -> None:
    """Even with a threshold of 0 at most 1 % of gates fail: the p values are right, not hidden by the threshold."""
    assert simulation.null(scenario, GATES, seed=12, rule=Rule(threshold=0.0)).slower <= ALLOWED


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_a_shift_of_twice_the_noise_floor_is_found(scenario: Scenario) -> None:
    """A case slowed by twice its noise floor is called SLOWER in at least 95 % of gates."""
    outcome = simulation.planted(scenario, gates=25, seed=13)
    assert outcome.found >= binom.ppf(0.001, outcome.planted, 0.95)


def test_the_simulated_gate_sees_what_is_there() -> None:
    """The simulation can fail: a rank test over pooled samples, which ignores drift, fails nearly every gate."""
    assert simulation.pooled_rank_gate(SCENARIOS[1], gates=10, seed=14) > 0.9


def test_intervals_cover_what_they_should_where_a_plain_bootstrap_does_not() -> None:
    """Our 95 % intervals cover at least 95 % with 3 rounds; the percentile bootstrap over rounds stays far below."""
    drift = SCENARIOS[2]
    assert simulation.null(drift, 60, seed=15).coverage >= 0.95
    assert simulation.percentile_coverage(drift, 10, seed=15, rounds=3) < 0.9


@pytest.mark.parametrize("rounds", [2, 5, 10])
def test_other_numbers_of_rounds_hold_the_rate_too(rounds: int) -> None:
    """The false alarm rate does not depend on the number of rounds."""
    outcome = simulation.null(SCENARIOS[3], 100, seed=16, rounds=rounds)
    assert outcome.slower <= int(binom.ppf(0.999, 100, 0.01))


def test_a_few_cases_alone_are_judged_soundly() -> None:
    """With 3 cases, too few to learn from each other, gates hold the rate as well."""
    random = np.random.default_rng(17)
    failed = 0
    for _ in range(1000):
        scale = np.full(3, 0.01)
        old, new = (simulation.measure(SCENARIOS[1], scale, random) for _ in range(2))
        failed += bool((simulation.gate(old, new, Rule(threshold=0.0))[0] == 1).any())
    assert failed <= binom.ppf(0.999, 1000, 0.01)


def test_drift_between_runs_beyond_the_rounds_stays_inside_the_threshold() -> None:
    """Runs that lie 0.2 % apart for a reason no single run can see do not fail a gate with a threshold of 1 %."""
    calm = replace(SCENARIOS[1], scale=simulation.same(0.0005), noise=0.0005, run=0.002)
    assert simulation.null(calm, GATES, seed=18).slower <= ALLOWED
