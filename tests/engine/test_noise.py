"""The interval of each median at the end of a run, and which records are noisy by it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gpubench.engine.noise import with_intervals
from gpubench.measure.timing import too_few
from gpubench.model import Case, Record, Sample, Timing, TimingOptions
from gpubench.names import AUTO, NUMPY, Status
from tests.analysis.synthetic import record as measured


def record(rounds: list[list[float]], contender: str = AUTO, status: Status = "ok", **options: float) -> Record:
    """Return a record with these rounds of samples in microseconds."""
    timing = Timing(tuple(tuple(Sample(us) for us in samples) for samples in rounds))
    case = Case("sum/1/float32", "sum", "float32", {}, timing=replace(TimingOptions(), **options))  # type: ignore[arg-type] # numbers
    summary = {"median_us": rounds[0][0], "ci95_us": [1.0, 2.0]}
    return Record(case, contender, status, None, 8, timing=timing, summary=summary)


def calm(us: float, spread: float, seed: int) -> list[list[float]]:
    """Return three rounds of ten equal samples whose medians scatter by `spread`."""
    scatter = random.Random(seed)
    return [[us * (1 + spread * scatter.gauss(0, 1))] * 10 for _ in range(3)]


def interval(one: Record) -> tuple[float, float]:
    """Return the interval that a record's summary gives."""
    assert one.summary is not None
    low, high = one.summary["ci95_us"]
    return low, high


def test_the_interval_is_that_of_the_rounds_not_of_all_samples() -> None:
    """Thirty samples in three tight rounds that disagree by 4 % are not known to a hundredth of that."""
    others = [record(calm(100.0, 0.01, seed)) for seed in range(30)]
    apart = record([[98.0] * 10, [100.0] * 10, [102.0] * 10])
    *_, found = with_intervals([*others, apart])
    low, high = interval(found)
    assert low < 99.0
    assert high > 101.0
    assert found.status == "noisy"
    assert found.timing is not None
    assert found.timing.noisy
    assert found.message is not None
    assert "3 rounds tell the median, 99.99 us, to" in found.message
    assert "0.5 % was wanted (more rounds tell more)." in found.message


def test_three_rounds_that_agree_by_chance_are_not_known_better_than_all_others() -> None:
    """A case borrows the variance of the run: rounds that happen to be equal still have its interval."""
    others = [record(calm(100.0, 0.01, seed)) for seed in range(30)]
    equal = record([[100.0] * 10] * 3)
    *_, found = with_intervals([*others, equal])
    low, high = interval(found)
    assert high / low > 1.01


def test_too_few_samples_alone_make_nothing_noisy() -> None:
    """Slow cases that had time for a few samples only are ok when these agree; the message says how many there were."""
    slow = [record([[1e5, 1e5 * (1 + 1e-5 * seed)]] * 3, status="noisy") for seed in range(12)]
    for kept in with_intervals(slow):
        assert (kept.status, kept.message) == ("ok", "Only 6 of 20 samples were taken within 2 s.")
        assert kept.timing is not None
        assert not kept.timing.noisy


def test_both_reasons_are_told() -> None:
    """A case that is noisy and had few samples says both: more time may help."""
    found = with_intervals([record([[90.0], [100.0], [112.0]])])[0]
    assert found.status == "noisy"
    assert (found.message or "").endswith(
        "0.5 % was wanted (more rounds tell more). Only 3 of 20 samples were taken within 2 s."
    )


def test_a_step_of_the_timer_is_not_noise() -> None:
    """2.2 us in steps of 0.032 cannot be known to 0.5 %: rounds that agree are ok."""
    found = with_intervals([record([[2.208] * 10] * 3) for _ in range(10)])
    assert {record.status for record in found} == {"ok"}


@pytest.mark.parametrize("status", ["wrong", "inaccurate", "throttled"])
def test_other_statuses_stay(status: Status) -> None:
    """What is wrong with a record beyond its noise is not covered up."""
    found = with_intervals([record([[90.0], [100.0], [112.0]], status=status)])[0]
    assert found.status == status
    assert interval(found) != (1.0, 2.0)


def test_one_round_keeps_the_interval_of_its_samples() -> None:
    """Where nothing says how rounds vary, the record stays as it was measured."""
    one = record([[100.0] * 30])
    assert with_intervals([one]) == (one,)


def test_what_was_said_besides_stays() -> None:
    """The note of a second try survives the end of the run, the first judgement of the samples does not."""
    noisy = record(calm(100.0, 0.0, 1), status="noisy")
    assert noisy.timing is not None
    noisy = replace(noisy, timing=replace(noisy.timing, noisy=True, message="A first look."))
    told = replace(noisy, message="A first look.; try 2; before that crashed: x")
    assert with_intervals([told])[0].message == "try 2; before that crashed: x"
    assert with_intervals([replace(noisy, message="A first look.")])[0].message is None


def test_numpy_is_judged_by_itself_and_never_noisy() -> None:
    """The host's scatter widens no interval of the device, and the yardstick keeps its status."""
    ours = [record(calm(100.0, 0.001, seed)) for seed in range(20)]
    host = [record(calm(1e4, 0.2, seed), NUMPY) for seed in range(20)]
    alone, beside = with_intervals(ours), with_intervals([*ours, *host])
    assert beside[:20] == alone
    assert {record.status for record in beside[20:]} == {"ok"}


def test_too_few_is_told_in_words() -> None:
    """Enough samples say nothing."""
    assert too_few(20, TimingOptions()) is None
    assert too_few(19, TimingOptions(time_limit_s=0.5)) == "Only 19 of 20 samples were taken within 0.5 s."


def test_a_record_without_times_is_left_alone() -> None:
    """A crash has no median, and no interval."""
    crashed = replace(measured("sum/1/float32", [[1.0]]), status="crashed", timing=None, summary=None)
    assert with_intervals([crashed]) == (crashed,)
