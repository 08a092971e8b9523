"""The rates a device's memory reaches at best: own kernels and the device's own copy and fill, whichever is faster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpubench.devices.ceiling_ways import VECTOR_BYTES, WAYS, Kind, bound, ways
from gpubench.devices.harness import CLOCK, harness_plan, nothing
from gpubench.devices.overhead import launch_overhead_us
from gpubench.model import Ceiling, CeilingPoint, CeilingRound, Phase, Pointer

if TYPE_CHECKING:
    import numpy as np

    from gpubench.devices.base import Buffer, Device

    Array = np.ndarray[Any, np.dtype[Any]]

SIZES = tuple(2**power for power in range(16, 32))
"""Bytes moved: 64 KiB, where a launch takes most of the time, to 2 GiB, many times any L2 cache."""
LARGE_COPY, LARGE = 2**31, 2**30
"""Bytes moved at which the run's one rate of copying, and those of reading and writing, are taken."""

ROUNDS = 3
"""How often the sweep is timed again, each time in buffers of its own, at the start and at the end of a run."""
SAMPLES = 15
WARM_UP = 3
WAKE_S = 0.2
"""Seconds of copying before anything is measured."""
RANDOM_BYTES = 2**26
STEP_US = 0.033
"""A step of the event timer, and what the difference of two event times may be off from whole steps."""


def measure_ceiling(device: Device, sizes: Sequence[int] = SIZES) -> Ceiling:
    """Return the ceiling: the fastest cold copy, read and write at each number of bytes moved.

    Sizes are rounded down to what 16-byte vectors can copy; those that memory does not allow (an operand of more than a
    quarter of what is free) are left out, unless it is the only one, which is then smaller. The rates are those at
    `LARGE_COPY` and `LARGE` bytes, or the largest size below. Every way is tried once; the fastest of each size and
    kind is timed again in `ROUNDS` rounds, and the least of its times is the ceiling.
    """
    room = device.free_bytes() // 4
    wanted = [size for size in sizes if size <= room] or [min(room, *sizes)]
    wanted = sorted({max(size // (2 * VECTOR_BYTES), 1) * 2 * VECTOR_BYTES for size in wanted})
    words = _words(max(wanted))
    source, target = _pair(device, max(wanted), words)
    _wake(device, source, target)
    launch_us = _median(device, one_element(device))
    event_overhead_us = _median(device, nothing)
    overhead_us = launch_overhead_us(device)
    sweep = [_point(device, size, source, target) for size in wanted]
    sweep = [point for point in sweep if min(point.copy_us, point.read_us, point.write_us) > 0]
    del source, target
    rounds = tuple(_round(device, sweep, words, "start") for _ in range(ROUNDS)) if sweep else ()
    sweep = [_least([point, *again]) for point, *again in zip(sweep, *(later.sweep for later in rounds), strict=True)]
    return Ceiling(
        copy_GBps=_rate(sweep, LARGE_COPY, "copy_us"),
        read_GBps=_rate(sweep, LARGE, "read_us"),
        write_GBps=_rate(sweep, LARGE, "write_us"),
        launch_us=launch_us,
        event_overhead_us=event_overhead_us,
        launch_overhead_us=overhead_us,
        sweep=tuple(sweep),
        rounds=rounds,
    )


def measure_again(device: Device, before: Ceiling) -> Ceiling:
    """Return the ceiling with rounds of the same work at the end of the run; unchanged where that is not known."""
    known = all(way in WAYS[kind] for point in before.sweep for kind, way in zip(_KINDS, _ways(point), strict=True))
    if not before.sweep or not known:
        return before
    words = _words(max(point.bytes for point in before.sweep))
    _wake(device, *_pair(device, words.size, words))
    rounds = tuple(_round(device, before.sweep, words, "end") for _ in range(ROUNDS))
    return replace(before, rounds=(*before.rounds, *rounds))


def one_element(device: Device) -> Callable[[], None]:
    """Return what enqueues the shortest kernel: one thread that moves one element."""
    source, target = device.allocate(4), device.allocate(4)
    plan = harness_plan("one_element", CLOCK, 1, 1, Pointer("source"), Pointer("target"))
    addresses = {"source": source.address, "target": target.address}
    run = device.bind(plan, addresses, device.allocate(0)).run

    def enqueue() -> None:
        _ = source, target  # they live as long as the work
        run()

    return enqueue


_KINDS: tuple[Kind, ...] = ("copy", "read", "write")


def _ways(point: CeilingPoint) -> tuple[str | None, str | None, str | None]:
    return point.copy_by, point.read_by, point.write_by


def _point(device: Device, size: int, source: Buffer, target: Buffer) -> CeilingPoint:
    """Time a copy of half the size, and a read and a write of the size, in every way; keep the fastest of each."""
    found = {
        kind: _fastest([_timed(device, kind, way, size, source, target) for way in ways(device, kind)])
        for kind in _KINDS
    }
    (copy_us, copy_by), (read_us, read_by), (write_us, write_by) = (found[kind] for kind in _KINDS)
    return CeilingPoint(size, copy_us, read_us, write_us, copy_by, read_by, write_by)


def _fastest(timed: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """Return the fastest way; of those within a step of the timer the first, so that two runs mostly choose alike."""
    least, _ = min(timed)
    return next((us, way) for us, way in timed if us <= least + STEP_US)


def _round(device: Device, sweep: Sequence[CeilingPoint], words: Array, phase: Phase) -> CeilingRound:
    """Time the ways of a sweep once more, in new buffers."""
    source, target = _pair(device, max(point.bytes for point in sweep), words)
    points = []
    for point in sweep:
        times = [
            _timed(device, kind, way or "", point.bytes, source, target)[0]
            for kind, way in zip(_KINDS, _ways(point), strict=True)
        ]
        points.append(replace(point, copy_us=times[0], read_us=times[1], write_us=times[2]))
    return CeilingRound(phase, _median(device, one_element(device)), _median(device, nothing), tuple(points))


def _timed(device: Device, kind: Kind, way: str, size: int, source: Buffer, target: Buffer) -> tuple[float, str]:
    """Return the median of one way of moving `size` bytes altogether, with the way's name."""
    part = size // 2 if kind == "copy" else size
    return _median(device, bound(device, way, _Part(source, 0, part), _Part(target, 0, part))), way


def _least(points: Sequence[CeilingPoint]) -> CeilingPoint:
    """Return the point with the least time of each kind among several of one size."""
    copy, read, write = (min(getattr(point, f"{kind}_us") for point in points) for kind in _KINDS)
    return replace(points[0], copy_us=copy, read_us=read, write_us=write)


def _rate(sweep: Sequence[CeilingPoint], wanted: int, kind: str) -> float | None:
    """Return the rate in GB/s at so many bytes, or at the largest size below; None where nothing took any time."""
    if not sweep:
        return None
    fitting = [point for point in sweep if point.bytes <= wanted]
    point = max(fitting, key=lambda point: point.bytes, default=sweep[0])
    time: float = getattr(point, kind)
    return round(point.bytes / time / 1e3, 1)


def _words(size: int) -> Array:
    """Return contents that no memory compression can shorten."""
    import numpy

    return numpy.random.default_rng(1).integers(0, 256, min(size, RANDOM_BYTES), numpy.uint8)


def _pair(device: Device, size: int, words: Array) -> tuple[Buffer, Buffer]:
    """Two new buffers of random bytes, doubled until they fill."""
    source, target = device.allocate(size), device.allocate(size)
    device.upload(words, _Part(source, 0, words.size))
    filled = words.size
    while filled < size:
        more = min(filled, size - filled)
        device.copy(_Part(source, 0, more), _Part(source, filled, more))
        filled += more
    device.copy(source, target)
    return source, target


def _wake(device: Device, source: Buffer, target: Buffer) -> None:
    """Keep the device busy until its clocks are up: an idle GPU starts slow, and a ceiling has no later samples that
    would show it.
    """
    began = time.monotonic()
    while time.monotonic() - began < WAKE_S:
        for _ in range(16):
            device.copy(source, target)
        device.synchronize()


class _Part:
    """A part of a buffer, as a buffer."""

    def __init__(self, whole: Buffer, start: int, nbytes: int) -> None:
        self._whole = whole
        self.address = whole.address + start
        self.nbytes = nbytes


def _median(device: Device, run: Callable[[], None]) -> float:
    """Warm up, then return the median of cold samples."""
    for _ in range(WARM_UP):
        run()
    device.synchronize()
    return statistics.median(sample.us for sample in device.sample("cold", nothing, run, SAMPLES))
