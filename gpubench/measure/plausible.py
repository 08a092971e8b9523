"""Can a time be? Nothing that moves a case's bytes through memory is much faster than the ceiling of the same run."""

from __future__ import annotations

from collections.abc import Mapping

from gpubench.model import COLD_METHODS, Ceiling, Json, TimingOptions

MARGIN = 1.25
"""How much faster than the ceiling a contender may be. The fastest of all contenders on all recorded cases that are not
dominated by the launch is 1.15 times as fast, where few writes follow many reads (docs/method.md)."""


def too_fast(summary: Mapping[str, Json], ceiling: Ceiling, options: TimingOptions) -> str | None:
    """Return why a median cannot be, None where it can. Only cold times are held against the ceiling: others may find
    their operands in the cache.
    """
    median, least = summary.get("median_us"), summary.get("ceiling_us")
    if options.method not in COLD_METHODS or not median or not least:
        return None
    overhead = max(ceiling.launch_us or 0.0, ceiling.event_overhead_us or 0.0, ceiling.launch_overhead_us or 0.0)
    bound = (least - overhead) / MARGIN
    if median >= bound:
        return None
    return (
        f"{median:.4g} us cannot be: the case's bytes take {least:.4g} us at the ceiling of this run, and "
        f"{bound:.4g} us is the least that is believed"
    )
