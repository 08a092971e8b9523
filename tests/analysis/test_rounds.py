"""How much rounds vary is learned from all cases: the interval of a single case then holds what it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis.rounds import intervals, moderated


def simulated(seed: int, cases: int, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times (cases,) of 2 us to 1 ms and log round medians (cases, rounds), scattered as on an H200."""
    random = np.random.default_rng(seed)
    time_us = np.exp(random.uniform(np.log(2), np.log(1000), cases))
    variance = (0.003**2 + (0.03 / time_us) ** 2) * 6 / random.chisquare(6, cases)
    return time_us, np.log(time_us)[:, None] + random.normal(size=(cases, rounds)) * np.sqrt(variance)[:, None]


def test_intervals_of_three_rounds_cover_the_truth() -> None:
    """With 3 rounds a case, 95 % intervals hold the true time in 94 to 96 % of 8,000 cases."""
    held = 0
    for seed in range(80):
        time_us, logs = simulated(seed, 100, 3)
        found = intervals([[[float(np.exp(log))] for log in case] for case in logs])
        held += sum(low <= us <= high for us, (low, high) in zip(time_us, found, strict=True))  # type: ignore[misc] # none is None
    assert 0.94 <= held / 8000 <= 0.96


def test_the_trend_follows_the_time_of_a_case() -> None:
    """Jitter of some microseconds makes short cases noisy and leaves long ones calm."""
    random = np.random.default_rng(1)
    time_us = np.repeat([5.0, 500.0], 50)
    variance = ((0.1 / time_us)[:, None] * random.normal(size=(100, 3))).var(axis=1, ddof=1)
    used = moderated(time_us, variance, np.full(100, 2)).variance
    assert np.median(used[:50]) > 100 * np.median(used[50:])


def test_a_case_of_one_round_gets_what_the_others_say() -> None:
    """No variance of its own is needed: the trend stands in, and the case's own word is not asked."""
    time_us, logs = simulated(2, 60, 3)
    variance = logs.var(axis=1, ddof=1)
    freedom = np.full(60, 2)
    freedom[0], variance[0] = 0, 7.0
    spread = moderated(time_us, variance, freedom)
    assert spread.variance[0] < 0.01
    assert spread.freedom[0] == pytest.approx(spread.freedom[1] - 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_what_cannot_be_judged_has_no_interval(bad: float) -> None:
    """One round, none, or a time that cannot be has no interval, and spoils no other case."""
    good = [[100.0, 100.2], [100.1], [100.3]]
    found = intervals([good, [[1.0]], [], [[], []], [[1.0], [bad]], good])
    assert found[1:5] == [None] * 4
    assert found[0] == found[5] is not None
    assert intervals([]) == []


@given(
    st.lists(
        st.lists(st.lists(st.floats(0.05, 1e7), max_size=4), max_size=5),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_any_times_give_ordered_finite_intervals(rounds: list[list[list[float]]]) -> None:
    """Equal samples, wild ones and empty rounds: ends are finite, ordered, and hold the typical round."""
    for of_case, found in zip(rounds, intervals(rounds), strict=True):
        medians = [np.median(np.log(samples)) for samples in of_case if samples]
        assert (found is None) == (len(medians) < 2)
        if found is not None:
            assert found[0] <= np.exp(np.mean(medians)) * (1 + 1e-9)
            assert found[1] >= np.exp(np.mean(medians)) * (1 - 1e-9)
            assert 0 <= found[0] < found[1]
