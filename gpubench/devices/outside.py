"""Work outside the timed stream: what a contender does where the events do not see it.

Our stream is held while a run is enqueued. Whatever changes the outputs meanwhile is not on our stream. After the run,
whatever changes them further, or keeps the device busy, is not either. Where CUPTI is installed, every kernel and copy
of one more run must lie between the stamps.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from gpubench.devices.cuda_cupti import STAMP, Activity

HOLD_S = 0.001
"""How long our stream is held: work elsewhere begins within microseconds, and one changed byte shows."""

SETTLE_S = 0.02
"""How long outputs in the host's memory are given to change: a thread begins when the system lets it."""

LATE_S = 0.0005
"""How long the device may take to come to rest after our stream has: far more than an idle one needs to say so."""

BLOCKER = "harness7blocker"
HARNESS = "harness"

TRIES = 5

Digests = Callable[[], list[int]]
Enqueue = Callable[[], None]


def watched(digests: Digests, before: list[int]) -> bool:
    """Tell, while our stream is held, whether the outputs change all the same."""
    time.sleep(HOLD_S)
    return digests() != before


def judged(early: bool, done: list[int], digests: Digests, rest: Enqueue, settle_s: float = HOLD_S) -> str | None:
    """Say what the outputs show. `done`: their digests when our stream had come to rest; `rest` waits for all work."""
    if early:
        return "the output changed while the timed stream was held"
    rest()
    time.sleep(settle_s)
    return "the output changed after the run was over" if digests() != done else None


def still_busy(run: Enqueue, wait: Enqueue, rest: Enqueue, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Tell whether the device is busy after our stream has come to rest (`wait`), each time of several: a system that
    is slow to answer once in a while is nobody's fault.
    """
    for _ in range(TRIES):
        run()
        wait()
        began = clock()
        rest()
        if clock() - began <= LATE_S:
            return False
    return True


def digest_of(data: bytes) -> int:
    """Return the digest of bytes in the host's memory."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def of_host_work(restore: Enqueue, run: Enqueue, digests: Digests) -> str | None:
    """Return what one run does after it has returned, on a device whose work is done when `run` returns."""
    restore()
    run()
    return judged(False, digests(), digests, lambda: None, SETTLE_S)


def between_stamps(activities: Sequence[Activity]) -> str | None:
    """Return what CUPTI saw outside the stamps of one held run, None for nothing or where the stamps are not there.

    What was over before the blocker is ours (restore); behind it everything but the harness's own kernels must lie
    between the two stamps.
    """
    blocker = next((activity for activity in activities if BLOCKER in activity.name), None)
    stamps = [activity for activity in activities if STAMP in activity.name]
    if blocker is None or len(stamps) != 2:
        return None
    first, last = sorted(stamps, key=lambda stamp: stamp.start)
    stray = [
        activity.name
        for activity in activities
        if HARNESS not in activity.name
        and activity.end > blocker.start
        and not (first.start <= activity.start and activity.end <= last.end)
    ]
    return f"CUPTI saw {', '.join(sorted(set(stray)))} outside the timed span" if stray else None
