"""Keeps a device at work so that it is warm before anything is measured: copies of large buffers, one by one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpubench.model import Json

if TYPE_CHECKING:
    from gpubench.devices.base import Device

TIMES_L2 = 8
"""How many times the L2 cache a buffer holds, so that every copy goes through the memory."""
LEAST_BYTES = 1 << 20
COPIES = 64
"""Copies between two looks at the clock: a few milliseconds on a GPU."""


def soak(device: Device, seconds: float) -> dict[str, Json]:
    """Copy for so many seconds; return `seconds` and `bytes` moved, and the telemetry `before` and `after`.

    OutOfMemoryError when two buffers do not fit.
    """
    size = max(TIMES_L2 * device.info.l2_bytes, LEAST_BYTES)
    size = min(size, max(device.free_bytes() // 4, LEAST_BYTES))
    before = device.telemetry()
    source, target = device.allocate(size), device.allocate(size)
    device.fill(source, 0x5A)
    copies = 0
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for _ in range(COPIES):
            device.copy(source, target)
        device.synchronize()
        copies += COPIES
    spent = time.monotonic() - began
    moved = 2 * size * copies
    return {"seconds": round(spent, 3), "bytes": moved, "before": before, "after": device.telemetry()}
