"""The first runs of work that is to be timed: until it is warm, and whether it is quick enough to be timed at all."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpubench.errors import TooSlowError
from gpubench.model import COLD_METHODS, REPEATS, TimingOptions

WARM_UP = 3
LONG_CALL_S = 0.5
"""A run of more than this needs no second one to be warm: what is loaded lazily takes milliseconds."""


def warm_up(
    restore: Callable[[], None],
    run: Callable[[], None],
    synchronize: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
    waited_s: float = 0.0,
) -> float:
    """Run three times the plain way, so that lazy loading is over before anything is timed (or held by a gate).

    Only once where that takes long, and not at all where a run was waited for that long already: `waited_s` seconds.
    Returns the seconds of the first run.
    """
    if waited_s > LONG_CALL_S:
        return waited_s
    synchronize()
    began = clock()
    restore()
    run()
    synchronize()
    seconds = clock() - began
    if seconds <= LONG_CALL_S:
        for _ in range(WARM_UP - 1):
            restore()
            run()
        synchronize()
    return seconds


def require_in_time(seconds: float, options: TimingOptions) -> None:
    """TooSlowError where a sample of runs that take so many seconds each would be longer than is allowed."""
    runs = 1 if options.method in COLD_METHODS else REPEATS
    if seconds * runs <= options.call_limit_s:
        return
    sample = "" if runs == 1 else f", the {runs} of one sample {seconds * runs:.3g} s"
    raise TooSlowError(f"one run took {seconds:.3g} s{sample}; {limit_of(options)}")


def limit_of(options: TimingOptions) -> str:
    """Say what is allowed, and how to allow more."""
    return f"{options.call_limit_s:g} s are allowed (--call-limit S, or call_limit_s in the suite's timing)"
