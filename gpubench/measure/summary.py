"""What the samples say, in the shape of the result format. The samples are the truth; this follows from them."""

from __future__ import annotations

import math
import statistics

from gpubench.measure.interval import median_interval
from gpubench.model import Ceiling, Json, Timing


def summarise(timing: Timing, moved: int, ceiling: Ceiling, simulated: bool) -> dict[str, Json]:
    """Return the summary of the kept samples; `moved` is the fewest bytes of the problem.

    median_us, ci95_us (None under 6 samples), min_us, p95_us, n, GBps and fraction_of_ceiling (of the copy rate).
    What cannot be said is None: all figures without a sample, rates of a simulated run (its times say nothing of a
    GPU) and of a median of 0. Never NaN or infinity.
    """
    times = sorted(sample.us for sample in timing.samples)
    median = statistics.median(times) if times else None
    rate = moved / median / 1e3 if median and not simulated else None
    return {
        "median_us": median,
        "ci95_us": _listed(median_interval(times)),
        "min_us": times[0] if times else None,
        "p95_us": percentile(times, 0.95),
        "n": len(times),
        "GBps": rate,
        "fraction_of_ceiling": rate / ceiling.copy_GBps if rate is not None and ceiling.copy_GBps else None,
    }


def percentile(ordered: list[float], part: float) -> float | None:
    """Return the smallest value that at least this part of the ordered values does not exceed; None without values."""
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1] if ordered else None


def _listed(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else list(ends)
