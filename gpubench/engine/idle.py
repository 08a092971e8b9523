"""How much of a run's timed phase the device was idle: what the harness's own speed is judged by."""

from __future__ import annotations

from collections.abc import Mapping

AT_WORK = "device at work"
"""The part of the stage `time` in which the device restored, flushed and ran timed work, by its own clock."""


def idle(seconds: Mapping[str, float]) -> dict[str, float] | None:
    """Return the share of the wall time in which the device was idle, from a run's seconds by stage; None without any.

    `of_time`: of the whole timed phase, which has allocations, copies of inputs, the compilers of other libraries and
    warm-up runs in it, all counted as idle. `of_samples`: of the part in which samples were taken. Both are upper
    bounds, since only work on samples counts: not the warm-up, nor the short kernels that take the clocks.
    """
    whole, samples = seconds.get("time", 0.0), seconds.get("time: samples", 0.0)
    at_work = seconds.get(f"time: {AT_WORK}", 0.0)
    if whole <= 0 or samples <= 0:
        return None
    return {"of_time": _rest(at_work, whole), "of_samples": _rest(at_work, samples)}


def _rest(part: float, whole: float) -> float:
    return round(min(max(1.0 - part / whole, 0.0), 1.0), 4)
