"""The closed forms stand for the bootstrap that they replace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis import bootstrap, rounds
from tests.analysis.synthetic import times


@pytest.mark.parametrize("n", [1, 3, 7, 21, 101])
def test_weights_are_the_distribution_of_a_resampled_median(n: int) -> None:
    """The weights equal the frequencies of the median of samples really drawn with replacement."""
    random = np.random.default_rng(1)
    ranks = np.median(random.integers(n, size=(200_000, n)), axis=1).astype(int) if n < 50 else None
    weights = rounds.bootstrap_weights(n)
    assert weights.sum() == pytest.approx(1.0)
    if ranks is not None:
        assert np.bincount(ranks, minlength=n) / len(ranks) == pytest.approx(weights, abs=0.005)


@pytest.mark.parametrize("n", [7, 21, 60])
def test_the_error_of_a_median_equals_that_of_resampling(n: int) -> None:
    """The error of a round's median is the one that resampling its samples gives: half of its middle 68 %."""
    samples = times(3, cases=1, rounds=1, n=n)[0]
    random = np.random.default_rng(2)
    drawn = np.median(np.log(samples[0][random.integers(n, size=(40_000, n))]), axis=1)
    low, high = np.quantile(drawn, [0.1587, 0.8413])
    _, squared = rounds.log_medians(samples)
    assert np.sqrt(squared[0]) == pytest.approx((high - low) / 2, rel=0.25 if n % 2 == 0 else 0.02)


def test_one_outlier_does_not_move_the_error_of_a_median() -> None:
    """A sample of 100 x leaves the error of the median of seven as it is, which a variance would not."""
    calm = np.asarray([[1.0, 1.001, 1.002, 1.003, 1.004, 1.005, 1.006]])
    wild = calm.copy()
    wild[0, 6] = 100.0
    assert rounds.log_medians(wild)[1] == pytest.approx(rounds.log_medians(calm)[1])


def test_hierarchical_variance_equals_that_of_drawing() -> None:
    """The closed form of the hierarchical bootstrap's variance is what drawing rounds and samples gives."""
    samples = times(4, cases=5, rounds=4, n=15, drift=0.004, noise=0.003)
    drawn = bootstrap.draw(samples, 40_000, np.random.default_rng(5)).var(axis=1)
    assert drawn == pytest.approx(bootstrap.variance(samples), rel=0.05)


@given(
    st.lists(
        st.lists(st.lists(st.floats(0.1, 1e7, allow_nan=False), min_size=0, max_size=9), min_size=0, max_size=4),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60, deadline=None)
def test_ragged_and_batched_rounds_agree(pairs: list[list[list[float]]]) -> None:
    """Working out many rounds of different sizes together gives what each gives alone."""
    together = rounds.side(pairs)
    for number, one in enumerate(pairs):
        filled = [samples for samples in one if samples]
        medians = [float(np.median(np.log(samples))) for samples in filled]
        assert together.rounds[number] == len(filled)
        assert together.samples[number] == sum(map(len, filled))
        if medians:
            assert together.mean[number] == pytest.approx(np.mean(medians), abs=1e-9)
            assert together.squares[number] == pytest.approx(
                np.sum((np.asarray(medians) - np.mean(medians)) ** 2), abs=1e-6
            )


def test_equal_sizes_take_the_same_way() -> None:
    """The array form that the simulation uses equals the one for result files."""
    data = times(6, cases=7, rounds=3, n=8)
    one, other = rounds.block(data), rounds.side(data.tolist())
    for name in ("mean", "squares", "rounds", "within", "samples"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))
