"""What the finals say of a finalist: its ratio to the constants to beat, and why it is not taken."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpubench.comparison import Row
from gpubench.tuned import STAGE, Interval, Timed

OPEN = "undecided"
"""How an objection begins that says only that nothing is known for certain."""


def whole(found: Sequence[Row]) -> Interval | None:
    """Return the geometric mean ratio of rows with its 95 % interval: their own intervals, taken to be independent."""
    known = [row.estimate for row in found if row.estimate is not None]
    if not known:
        return None
    middle = sum(math.log(estimate.ratio) for estimate in known) / len(known)
    half = math.sqrt(sum((math.log(estimate.high / estimate.low) / 2) ** 2 for estimate in known)) / len(known)
    return interval(middle, half)


def interval(log_ratio: float, half: float) -> Interval:
    """Return a ratio with its interval from its logarithm and half the interval's width."""
    return math.exp(log_ratio), math.exp(log_ratio - half), math.exp(log_ratio + half)


def objection(found: Sequence[Row], resolution: float) -> str:
    """Return why a finalist is not taken, empty where it is: it is slower somewhere, ties, or may be slower."""
    together = whole(found)
    if together is None:
        return "it failed in the finals"
    ratios = {row.case.partition(STAGE)[0]: row.estimate.ratio for row in found if row.estimate is not None}
    worst = max(ratios, key=lambda case: ratios[case])
    if ratios[worst] > 1 + resolution:
        return f"it takes {ratios[worst]:.3f} of the time on {worst}"
    ratio, low, high = together
    if low >= 1 - resolution or (high < 1 and ratio > 1 - resolution):
        return f"{'no faster' if low > 1 else 'a tie'}: {ratio:.4f} of the time"
    return "" if high < 1 else f"{OPEN}: {ratio:.4f} of the time, {low:.4f} to {high:.4f}"


def timed(row: Row) -> Timed:
    """Return a row that has an estimate as evidence."""
    assert row.estimate is not None
    assert row.old_us is not None
    assert row.new_us is not None
    ratio = (row.estimate.ratio, row.estimate.low, row.estimate.high)
    return Timed(row.case.partition(STAGE)[0], row.old_us, row.new_us, ratio)
