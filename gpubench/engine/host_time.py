"""The wall time of work on the host: how numpy, which has no device events, is timed."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpubench.model import Sample, Timing, TimingOptions

FEWEST = 3
MOST = 20
LONG_S = 10.0
"""A call of more than this is not repeated: the first one is the sample."""


def time_host(
    call: Callable[[], object], options: TimingOptions, clock: Callable[[], float] = time.perf_counter
) -> Timing:
    """Return the wall times of `call` in one round, after one call to warm up.

    At least three samples are taken, and at most twenty while `time_limit_s` is not over.
    """
    first = _seconds(call, clock)
    if first > LONG_S:
        return Timing(((Sample(first * 1e6),),), message=f"one call took {first:.1f} s and was not repeated")
    samples: list[Sample] = []
    began = clock()
    while len(samples) < FEWEST or (len(samples) < MOST and clock() - began < options.time_limit_s):
        samples.append(Sample(_seconds(call, clock) * 1e6))
    return Timing((tuple(samples),))


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    began = clock()
    call()
    return max(clock() - began, 1e-9)  # a clock's step, so that no time is 0
