"""From the time between two events to the time of the work alone.

An event pair around one launch reads the kernel's duration and a constant (`Ceiling.launch_overhead_us`): reaching the
kernel after the first event, and reaching the second event after the kernel. On one GPU that constant is the same for
every kernel and size, within 0.35 us (docs/method.md has the figures). Between several launches of one run lie further
gaps; those are part of what a user pays for several launches, and stay.
"""

from __future__ import annotations


def corrected_us(median_us: float, overhead_us: float) -> float:
    """Return the time of the work alone, estimated from events. Never under a tenth of what the events read."""
    return max(median_us - overhead_us, 0.1 * median_us)
