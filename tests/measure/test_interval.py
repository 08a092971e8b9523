"""The interval of the median."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from gpubench.measure.interval import half_width, interval_rank, median_interval


@pytest.mark.parametrize(("n", "rank"), [(0, 0), (1, 0), (5, 0), (6, 1), (8, 1), (9, 2), (20, 6), (100, 40)])
def test_ranks_are_those_of_the_tables(n: int, rank: int) -> None:
    """The published ranks of the sign-test interval; none under six samples."""
    assert interval_rank(n) == rank


@given(st.integers(1, 1500))
def test_the_rank_is_the_largest_that_keeps_the_confidence(n: int) -> None:
    """Both tails together hold at most 5 %, and one rank more would hold more."""
    rank = interval_rank(n)
    assert rank == 0 or 2 * binom.cdf(rank - 1, n, 0.5) <= 0.05
    assert 2 * binom.cdf(rank, n, 0.5) > 0.05


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    """On a skewed distribution with outliers at least 95 % of 2000 intervals hold it, less this seed's luck."""
    source = random.Random(7)
    hits = 0
    for _ in range(2000):
        values = [source.expovariate(1.0) + (source.random() < 0.05) * 50 for _ in range(25)]
        ends = median_interval(values)
        assert ends is not None
        true_median = 0.745  # of the mixture: 0.95 (1 - exp(-m)) = 0.5
        hits += ends[0] <= true_median <= ends[1]
    assert hits / 2000 > 0.94


def test_order_does_not_matter() -> None:
    """The samples' order carries nothing."""
    values = [5.0, 1.0, 4.0, 2.0, 3.0, 6.0]
    assert median_interval(values) == (1.0, 6.0)
    assert half_width(values) == 2.5
    assert half_width(values[:5]) is None
