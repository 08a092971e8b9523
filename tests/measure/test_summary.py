"""The summary of samples."""

from __future__ import annotations

import json

import pytest

from gpubench.measure.correction import corrected_us
from gpubench.measure.summary import percentile, summarise
from gpubench.model import Ceiling, CeilingPoint, Sample, Timing, TimingOptions, Traced


def timing(*rounds: list[float]) -> Timing:
    """Return a timing of these samples."""
    return Timing(tuple(tuple(Sample(us) for us in samples) for samples in rounds))


def test_the_figures_of_a_known_sample() -> None:
    """Rounds are pooled; a copy of 1000 bytes in 0.5 us is 2 GB/s."""
    samples = timing([0.5, 0.6, 0.4], [0.5, 0.5, 0.9])
    summary = summarise(samples, (500, 500), Ceiling(copy_GBps=4.0), simulated=False)
    assert summary == {
        "median_us": 0.5,
        "ci95_us": [0.4, 0.9],
        "min_us": 0.4,
        "p95_us": 0.9,
        "n": 6,
        "GBps": 2.0,
        "touched_bytes": 1000,
        "ceiling_us": None,
        "fraction_of_ceiling": 0.5,
        "fraction_of_copy": 0.5,
        "corrected_us": None,
    }


SWEPT = Ceiling(
    copy_GBps=1000.0,
    launch_us=3.0,
    launch_overhead_us=2.25,
    sweep=(CeilingPoint(1000, 4.0, 3.5, 3.5), CeilingPoint(2000, 6.0, 5.0, 4.0)),
)


def test_the_ceiling_is_that_of_the_case_s_own_size() -> None:
    """A small copy in the least time that one of its size took has reached its ceiling, not the large copy's rate."""
    summary = summarise(timing([4.0] * 6), (500, 500), SWEPT, simulated=False)
    assert summary["ceiling_us"] == 4.0
    assert summary["fraction_of_ceiling"] == 1.0
    assert summary["fraction_of_copy"] == pytest.approx(0.25 / 1000)


def test_work_with_gaps_is_held_against_the_sectors_that_it_touches() -> None:
    """A kernel cannot bring 4 of 32 bytes: the ceiling counts what memory moves, the rate what was asked for."""
    summary = summarise(timing([6.0] * 6), (500, 500), SWEPT, simulated=False, touched=(1000, 1000))
    assert (summary["touched_bytes"], summary["ceiling_us"], summary["fraction_of_ceiling"]) == (2000, 6.0, 1.0)
    assert summary["GBps"] == pytest.approx(1000 / 6.0 / 1e3)


def test_events_are_corrected_by_the_overhead_of_one_launch_and_keep_their_own_name() -> None:
    """median_us stays what was read; corrected_us is beside it, for cold samples by events only."""
    summary = summarise(timing([4.0] * 6), (500, 500), SWEPT, simulated=False)
    assert summary["median_us"] == 4.0
    assert summary["corrected_us"] == 1.75
    for options in (TimingOptions(method="hot"), TimingOptions(clock="cupti")):
        assert summarise(timing([4.0] * 6), (500, 500), SWEPT, False, options)["corrected_us"] is None


def test_a_correction_never_leaves_nothing() -> None:
    """An overhead above the time itself would make it zero or less: a tenth stays."""
    assert corrected_us(1.0, 2.0) == pytest.approx(0.1)


def test_cupti_times_are_held_against_a_ceiling_without_event_overhead() -> None:
    """The sweep is timed by events; times of the kernels alone must not look better for that."""
    summary = summarise(timing([1.75] * 6), (500, 500), SWEPT, False, TimingOptions(clock="cupti"))
    assert summary["fraction_of_ceiling"] == pytest.approx(1.0)


def test_what_cupti_saw_is_given_launch_by_launch() -> None:
    """Medians of span and sum, every span, and each launch's own median."""
    traced = [Traced((("memset", 1.0), ("kernel", us)), us + 2.0) for us in (3.0, 5.0, 4.0)]
    block = summarise(timing([9.0] * 6), (8, 8), Ceiling(), False, traced=traced)["cupti"]
    assert block["span_us"] == 6.0
    assert block["sum_us"] == 5.0
    assert block["samples_us"] == [5.0, 7.0, 6.0]
    assert block["launches"] == [{"name": "memset", "us": 1.0}, {"name": "kernel", "us": 4.0}]


def test_discarded_samples_do_not_count() -> None:
    """Only kept ones do."""
    one = Timing(((Sample(1.0),),), discarded=((0, Sample(100.0)),))
    assert summarise(one, (8, 0), Ceiling(), simulated=False)["median_us"] == 1.0


@pytest.mark.parametrize("rounds", [[], [[]], [[0.0, 0.0]]])
def test_what_cannot_be_said_is_null(rounds: list[list[float]]) -> None:
    """No sample, or a median of zero: no rate, and nothing that JSON cannot hold."""
    summary = summarise(timing(*rounds), (8, 0), Ceiling(copy_GBps=1.0), simulated=False)
    assert summary["GBps"] is None
    assert summary["ci95_us"] is None
    json.dumps(summary, allow_nan=False)


def test_simulated_times_give_no_rate() -> None:
    """A simulator's time says nothing about a GPU's bandwidth."""
    summary = summarise(timing([1.0]), (8, 0), Ceiling(copy_GBps=1.0), simulated=True)
    assert summary["median_us"] == 1.0
    assert summary["GBps"] is None
    assert summary["fraction_of_ceiling"] is None


def test_percentile_is_a_sample() -> None:
    """The smallest value that 95 % do not exceed."""
    assert percentile([float(i) for i in range(1, 101)], 0.95) == 95.0
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([], 0.95) is None
