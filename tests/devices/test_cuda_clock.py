"""The SM clock from stamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpubench.devices.cuda_clock import frequencies

Stamps = np.ndarray[Any, np.dtype[np.uint64]]


def stamps(*rows: tuple[int, int]) -> Stamps:
    """One (nanoseconds, cycles) a SM."""
    return np.array(rows, np.uint64).reshape(-1, 2)


def frequency(begin: Stamps, end: Stamps) -> float | None:
    """Return the clock of one pair."""
    (one,) = frequencies(np.stack([begin, end])[None])
    return one


def test_only_sms_that_both_stamps_reached_count() -> None:
    """The counters of two SMs have different origins: a block that landed elsewhere says nothing."""
    begin = stamps((1000, 5_000_000), (0, 0), (1000, 90))
    end = stamps((2000, 5_001_980), (2000, 17), (0, 0))
    assert frequency(begin, end) == 1980.0


def test_the_median_shrugs_off_one_odd_sm() -> None:
    """One SM whose pair makes no sense does not move the clock."""
    begin = stamps((1000, 0 + 1), (1000, 100), (1000, 7))
    end = stamps((2000, 1981), (2000, 2080), (2000, 999_999))
    assert frequency(begin, end) == 1980.0


def test_no_common_sm_is_no_clock() -> None:
    """Unknown is None, never a number."""
    assert frequency(stamps((5, 5), (0, 0)), stamps((0, 0), (9, 9))) is None
    assert frequency(stamps((5, 5)), stamps((5, 9))) is None


def test_pairs_that_share_no_sm_are_judged_each_by_its_own() -> None:
    """One lost stamp costs its own pair, not the batch it was read with."""
    none = stamps((0, 0), (0, 0))
    first = np.stack([stamps((1000, 100), (0, 0)), stamps((2000, 2080), (0, 0))])
    second = np.stack([stamps((0, 0), (1000, 100)), stamps((0, 0), (2000, 1600))])
    assert frequencies(np.stack([first, second, np.stack([none, none])])) == [1980.0, 1500.0, None]


def test_a_pair_has_the_same_clock_alone_and_in_a_batch() -> None:
    """Reading sixteen together changes no clock."""
    generator = np.random.default_rng(3)
    begin = generator.integers(1, 10**12, (16, 132, 2), dtype=np.uint64)
    spans = generator.integers(2000, 9000, (16, 132, 1), dtype=np.uint64)
    end = begin + np.concatenate([spans, spans * np.uint64(198) // np.uint64(100)], axis=2)
    pairs = np.stack([begin, end], axis=1)
    assert frequencies(pairs) == [frequency(*pair) for pair in pairs]
