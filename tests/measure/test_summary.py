"""The summary of samples."""

from __future__ import annotations

import json

import pytest

from gpubench.measure.summary import percentile, summarise
from gpubench.model import Ceiling, Sample, Timing


def timing(*rounds: list[float]) -> Timing:
    """Return a timing of these samples."""
    return Timing(tuple(tuple(Sample(us) for us in one) for one in rounds))


def test_the_figures_of_a_known_sample() -> None:
    """Rounds are pooled; a copy of 1000 bytes in 0.5 us is 2 GB/s."""
    summary = summarise(timing([0.5, 0.6, 0.4], [0.5, 0.5, 0.9]), 1000, Ceiling(copy_GBps=4.0), simulated=False)
    assert summary == {
        "median_us": 0.5,
        "ci95_us": [0.4, 0.9],
        "min_us": 0.4,
        "p95_us": 0.9,
        "n": 6,
        "GBps": 2.0,
        "fraction_of_ceiling": 0.5,
    }


def test_discarded_samples_do_not_count() -> None:
    """Only kept ones do."""
    one = Timing(((Sample(1.0),),), discarded=((0, Sample(100.0)),))
    assert summarise(one, 8, Ceiling(), simulated=False)["median_us"] == 1.0


@pytest.mark.parametrize("rounds", [[], [[]], [[0.0, 0.0]]])
def test_what_cannot_be_said_is_null(rounds: list[list[float]]) -> None:
    """No sample, or a median of zero: no rate, and nothing that JSON cannot hold."""
    summary = summarise(timing(*rounds), 8, Ceiling(copy_GBps=1.0), simulated=False)
    assert summary["GBps"] is None
    assert summary["ci95_us"] is None
    json.dumps(summary, allow_nan=False)


def test_simulated_times_give_no_rate() -> None:
    """A simulator's time says nothing about a GPU's bandwidth."""
    summary = summarise(timing([1.0]), 8, Ceiling(copy_GBps=1.0), simulated=True)
    assert summary["median_us"] == 1.0
    assert summary["GBps"] is None
    assert summary["fraction_of_ceiling"] is None


def test_percentile_is_a_sample() -> None:
    """The smallest value that 95 % do not exceed."""
    assert percentile([float(i) for i in range(1, 101)], 0.95) == 95.0
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([], 0.95) is None
