"""What a device's memory reached in a run: part of the shared data, from where `gpubench.model` gives it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class CeilingPoint:
    """The fastest cold times at one size: `bytes` moved altogether, half of them written by the copy.

    `copy_by`, `read_by`, `write_by` name the kernel (or the driver's own copy or fill) that took them; None: not told.
    """

    bytes: int
    copy_us: float
    read_us: float
    write_us: float
    copy_by: str | None = None
    read_by: str | None = None
    write_by: str | None = None


@dataclass(frozen=True, slots=True)
class CeilingRound:
    """The sweep once more in buffers of its own: each size by the kernel that was the fastest when the run began, so
    that all rounds of a run time the same work. `phase`: before the first case or after the last.
    """

    phase: Phase
    launch_us: float | None
    event_overhead_us: float | None
    sweep: tuple[CeilingPoint, ...]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The rates that the device reached in this run, GB/s (10^9 bytes, read and written together for a copy), on large
    operands; and the time of an empty launch and of an event pair around nothing. None: not measured on this device.
    `launch_overhead_us`: what events add to the duration of one kernel. `sweep`: the times over sizes, or empty.
    `rounds`: how the sweep's times came out again and again, at the start and at the end of the run, or empty.
    """

    copy_GBps: float | None = None
    read_GBps: float | None = None
    write_GBps: float | None = None
    launch_us: float | None = None
    event_overhead_us: float | None = None
    launch_overhead_us: float | None = None
    sweep: tuple[CeilingPoint, ...] = ()
    rounds: tuple[CeilingRound, ...] = ()
