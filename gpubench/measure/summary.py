"""What the samples say, in the shape of the result format. The samples are the truth; this follows from them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from gpubench.measure.ceiling import ceiling_us
from gpubench.measure.correction import corrected_us
from gpubench.measure.interval import median_interval
from gpubench.model import Ceiling, Json, Timing, TimingOptions, Traced


def summarise(
    timing: Timing,
    moved: tuple[int, int],
    ceiling: Ceiling,
    simulated: bool,
    options: TimingOptions | None = None,
    traced: Sequence[Traced] = (),
    touched: tuple[int, int] | None = None,
) -> dict[str, Json]:
    """Return the summary of the kept samples; `moved` is the fewest bytes (read, written) of the problem, `touched`
    those of the memory's sectors that hold them (None: the same).

    median_us, ci95_us (None under 6 samples), min_us, p95_us, n, GBps of the fewest bytes; touched_bytes; ceiling_us,
    the least time for the touched bytes in this run; fraction_of_ceiling, ceiling_us / median_us (of the large copy's
    rate in a run without a sweep);
    fraction_of_copy, of the large copy's rate whatever the size; corrected_us, the median without what events add
    (cold samples by events only). With `traced`, cupti: what CUPTI saw.
    What cannot be said is None: all figures without a sample, rates of a simulated run (its times say nothing of a
    GPU) and of a median of 0. Never NaN or infinity.
    """
    options = options or TimingOptions()
    times = sorted(sample.us for sample in timing.samples)
    median = statistics.median(times) if times else None
    rate = sum(moved) / median / 1e3 if median and not simulated else None
    copy = rate / ceiling.copy_GBps if rate is not None and ceiling.copy_GBps else None
    by_events = options.clock != "cupti"
    least = None if rate is None else _least(ceiling, touched or moved, by_events)
    is_corrected = rate is not None and by_events and options.method == "cold" and ceiling.launch_overhead_us
    summary: dict[str, Json] = {
        "median_us": median,
        "ci95_us": _listed(median_interval(times)),
        "min_us": times[0] if times else None,
        "p95_us": percentile(times, 0.95),
        "n": len(times),
        "GBps": rate,
        "touched_bytes": sum(touched or moved),
        "ceiling_us": least,
        "fraction_of_ceiling": least / median if least is not None and median else copy,
        "fraction_of_copy": copy,
        "corrected_us": corrected_us(median or 0.0, ceiling.launch_overhead_us or 0.0) if is_corrected else None,
    }
    return summary | ({"cupti": trace_block(traced)} if traced else {})


def _least(ceiling: Ceiling, moved: tuple[int, int], by_events: bool) -> float | None:
    """Return the least time for these bytes by the clock of the samples; the sweep's is that of events."""
    least = ceiling_us(ceiling, *moved)
    if least is None or by_events:
        return least
    return corrected_us(least, ceiling.launch_overhead_us or 0.0)


def trace_block(traced: Sequence[Traced]) -> dict[str, Json]:
    """Return what CUPTI saw: medians of span and sum, every span, and the median of each launch in order."""
    longest = max(traced, key=lambda trace: len(trace.launches))
    alike = [trace for trace in traced if len(trace.launches) == len(longest.launches)]
    return {
        "span_us": statistics.median(trace.span_us for trace in traced),
        "sum_us": statistics.median(trace.sum_us for trace in traced),
        "n": len(traced),
        "samples_us": [round(trace.span_us, 4) for trace in traced],
        "launches": [
            {"name": name, "us": statistics.median(trace.launches[place][1] for trace in alike)}
            for place, (name, _) in enumerate(longest.launches)
        ],
    }


def percentile(ordered: list[float], part: float) -> float | None:
    """Return the smallest value that at least this part of the ordered values does not exceed; None without values."""
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1] if ordered else None


def _listed(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else list(ends)
