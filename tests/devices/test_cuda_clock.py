"""The SM clock from stamps."""

from __future__ import annotations

import numpy as np

from gpubench.devices.cuda_clock import frequency


def stamps(*rows: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """One (nanoseconds, cycles) a SM."""
    return np.array(rows, np.uint64).reshape(-1, 2)


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
