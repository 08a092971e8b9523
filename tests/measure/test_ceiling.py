"""The ceiling at a case's own size and mix of reads and writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.measure.ceiling import ceiling_us
from gpubench.model import Ceiling, CeilingPoint

SWEEP = (
    CeilingPoint(1000, copy_us=4.0, read_us=3.5, write_us=3.25),
    CeilingPoint(2000, copy_us=5.0, read_us=4.5, write_us=4.0),
    CeilingPoint(4000, copy_us=8.0, read_us=7.0, write_us=6.0),
)
CEILING = Ceiling(copy_GBps=0.5, launch_us=3.0, sweep=SWEEP)


@pytest.mark.parametrize(
    ("read", "written", "wanted"),
    [
        (500, 500, 4.0),
        (2000, 0, 4.5),
        (0, 4000, 6.0),
        (750, 750, 4.5),  # halfway in size
        (750, 250, 3.75),  # halfway from a read to a copy
        (250, 750, 3.625),  # halfway from a copy to a write
        (250, 250, 3.5),  # halfway from an empty launch to the smallest copy
        (4000, 4000, 16.0),  # beyond the sweep: at the last one's rate
    ],
)
def test_times_between_measured_points_lie_on_the_line(read: int, written: int, wanted: float) -> None:
    """Linear in bytes between sizes, linear in the part written between read, copy and write."""
    assert ceiling_us(CEILING, read, written) == pytest.approx(wanted)


def test_without_a_sweep_there_is_no_ceiling_at_a_size() -> None:
    """Old results, the simulator and cases that move nothing have none; nothing is made up."""
    assert ceiling_us(Ceiling(copy_GBps=4000.0), 8, 8) is None
    assert ceiling_us(CEILING, 0, 0) is None


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_more_bytes_never_take_less(read: int, written: int, more: int) -> None:
    """On a sweep that grows with size, so does the ceiling along any fixed mix."""
    here = ceiling_us(CEILING, read, written)
    if here is None:
        return
    factor = 1 + more % 7
    there = ceiling_us(CEILING, read * factor, written * factor)
    assert there is not None
    assert there >= here - 1e-9
