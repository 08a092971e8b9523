"""Input that breaks careless statistics gets a sound verdict."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis.compare import Options, compare
from gpubench.analysis.rule import Rule, benjamini_hochberg
from gpubench.comparison import Comparison, Row
from tests.analysis.synthetic import many, record, result, times

NAME = "cumsum/4096/dim=0/float32"


def one(old: object, new: object, threshold: float = 0.01) -> Row:
    """Compare two results of one case, given by their rounds."""
    rule = Rule(threshold)
    return compare(result(record(NAME, old)), result(record(NAME, new)), Options(rule)).rows[0]  # type: ignore[arg-type] # any nesting of numbers


def test_constant_samples_that_are_equal_are_the_same() -> None:
    """Samples without any variance divide by nothing."""
    row = one([[10.0] * 20] * 3, [[10.0] * 20] * 3)
    assert row.verdict == "SAME"
    assert row.estimate is not None
    assert row.estimate.ratio == 1.0


def test_constant_samples_that_differ_are_slower_and_faster() -> None:
    """A clear change between constant samples is seen, both ways."""
    assert one([[10.0] * 20] * 3, [[11.0] * 20] * 3).verdict == "SLOWER"
    assert one([[11.0] * 20] * 3, [[10.0] * 20] * 3).verdict == "FASTER"


def test_one_step_of_the_clock_is_no_change() -> None:
    """2.048 us and 2.080 us are neighbours on a clock that counts in 32 ns: no verdict of a change of 1.6 %."""
    assert one([[2.048] * 20] * 3, [[2.080] * 20] * 3).verdict not in ("SLOWER", "FASTER")


@pytest.mark.parametrize("rounds", [[[1.0, 1.1]], [[1.0], [1.1]], [[1.0]], [], [[]]])
def test_too_few_samples_are_undecided(rounds: list[list[float]]) -> None:
    """One round, two samples, one sample or none allow no verdict, however large the change."""
    new = [[100.0 * us for us in part] for part in rounds]
    row = one(rounds, new)
    assert row.verdict == "UNDECIDED"
    assert row.reasons


def test_one_outlier_of_a_hundred_times_changes_nothing() -> None:
    """A single sample of 100 x leaves the verdict alone."""
    old = np.full((3, 21), 100.0) + times(1, 1, 3, 21)[0] / 1000
    new = old.copy()
    new[1, 4] *= 100
    assert one(old, new).verdict == "SAME"


def test_two_clocks_within_the_rounds_are_undecided_not_wrong() -> None:
    """Samples that jump between two levels 3 % apart give no false verdict."""
    random = np.random.default_rng(2)
    levels = np.asarray([100.0, 103.0])
    for _ in range(20):
        old, new = (levels[random.integers(2, size=(3, 20))] * (1 + 1e-4 * random.random((3, 20))) for _ in range(2))
        assert one(old, new).verdict not in ("SLOWER", "FASTER")


def test_one_bad_round_of_three_is_not_a_regression() -> None:
    """One round of the new result that is 6 % slow does not make the kernel 2 % slower."""
    old = times(3, 30, drift=0.0005, noise=0.0005)
    new = times(4, 30, drift=0.0005, noise=0.0005)
    new[7, 1] *= 1.06
    names = [f"sum/{i}/float32" for i in range(30)]
    before, after = (result(*(record(n, x) for n, x in zip(names, data, strict=True))) for data in (old, new))
    assert compare(before, after).count("SLOWER") == 0


def test_unequal_sizes_are_compared() -> None:
    """60 samples against 3,000 in more rounds: sizes need not match, and the verdict is right."""
    old, slow = times(5, 1, 3, 20, drift=0.001)[0], times(6, 1, 10, 300, drift=0.001)[0] * 1.05
    assert one(old, slow).verdict == "SLOWER"
    assert one(old, slow / 1.05).verdict in ("SAME", "UNDECIDED")


def test_unequal_sizes_of_the_same_thing_are_not_significant() -> None:
    """A thousand samples in one round do not outweigh the drift between rounds."""
    failed = 0
    for seed in range(60):
        old, new = times(seed, 1, 3, 7, drift=0.01)[0], times(1000 + seed, 1, 3, 1000, drift=0.01)[0]
        failed += one(old, new, threshold=0.0).verdict in ("SLOWER", "FASTER")
    assert failed <= 3


def test_ten_thousand_samples_are_quick() -> None:
    """10,000 samples a case take well under a second."""
    old, new = times(7, 3, 4, 2500), times(8, 3, 4, 2500)
    before, after = (result(*(record(f"sum/{i}/float32", x) for i, x in enumerate(data))) for data in (old, new))
    began = time.process_time()
    assert len(compare(before, after).rows) == 3
    assert time.process_time() - began < 2


def test_two_thousand_cases_take_under_three_seconds() -> None:
    """2,000 cases of different sizes, all changed so that every test must be run."""
    random = np.random.default_rng(9)

    def ragged(factor: float) -> Comparison | object:
        return result(
            *(
                record(
                    f"sum/{i}/float32",
                    [100 * factor * np.exp(0.002 * random.normal(size=random.integers(7, 90))) for _ in range(3)],
                )
                for i in range(2000)
            )
        )

    old, new = ragged(1.0), ragged(1.05)
    began = time.process_time()
    comparison = compare(old, new)  # type: ignore[arg-type] # result sets both
    assert time.process_time() - began < 3
    assert comparison.count("SLOWER") == 2000


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_times_that_cannot_be_are_not_compared(bad: float) -> None:
    """NaN, infinity, zero and negative times give UNDECIDED, and spoil no other case."""
    broken = times(10, 1)[0]
    broken[1, 2] = bad
    good = times(11, 1)[0]
    old = result(record(NAME, good), record("sum/1/float32", good))
    new = result(record(NAME, broken), record("sum/1/float32", good * 1.1))
    comparison = compare(old, new)
    assert [row.verdict for row in comparison.rows] == ["UNDECIDED", "SLOWER"]


def test_everything_faster_is_faster() -> None:
    """When every case gains 10 %, every case says so, and the mean does."""
    comparison = compare(many(1, 40), many(2, 40, dict.fromkeys(range(40), 0.9)))
    assert comparison.count("FASTER") == 40
    assert comparison.means[0].high < 0.95


@given(
    st.lists(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12), min_size=2, max_size=5),
    st.lists(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12), min_size=2, max_size=5),
)
@settings(max_examples=80, deadline=None)
def test_comparing_back_turns_the_verdict_round(old: list[list[float]], new: list[list[float]]) -> None:
    """Old against new and new against old say the opposite, with inverse ratios and intervals."""
    there, back = one(old, new), one(new, old)
    opposite = {"SLOWER": "FASTER", "FASTER": "SLOWER"}
    assert back.verdict == opposite.get(there.verdict, there.verdict)
    if there.estimate is not None and back.estimate is not None:
        assert there.estimate.ratio * back.estimate.ratio == pytest.approx(1.0)
        assert there.estimate.low * back.estimate.high == pytest.approx(1.0, rel=0.01)
        assert there.estimate.low <= there.estimate.ratio <= there.estimate.high
        assert there.estimate.p <= there.estimate.q


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_corrected_p_values_are_never_smaller(values: list[float]) -> None:
    """Benjamini-Hochberg keeps the order and never lowers a p."""
    p = np.asarray(values)
    q = benjamini_hochberg(p)
    assert (q >= p - 1e-12).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= -1e-12).all()
