"""The rates a device's memory reaches at best: own kernels and the device's own copy and fill, whichever is faster."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpubench.devices.harness import CLOCK, harness_plan, nothing
from gpubench.devices.overhead import launch_overhead_us
from gpubench.model import Ceiling, CeilingPoint, Plan, Pointer, Value

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device

SOURCE = "harness/ceiling.cu"
SIZES = tuple(2**power for power in range(16, 32))
"""Bytes moved: 64 KiB, where a launch takes most of the time, to 2 GiB, many times any L2 cache."""
LARGE_COPY, LARGE = 2**31, 2**30
"""Bytes moved at which the run's one rate of copying, and those of reading and writing, are taken."""

VECTOR_BYTES = 16
THREADS = 256
UNROLLS = (1, 2, 4, 8)
SAMPLES = 15
WARM_UP = 3
WAKE_S = 0.2
"""Seconds of copying before anything is measured."""
MAGIC = 0x9E3779B9
"""What the fill writes, and the fold at which the read would store."""

Runs = Sequence[Callable[[], None]]


def measure_ceiling(device: Device, sizes: Sequence[int] = SIZES) -> Ceiling:
    """Return the ceiling: the fastest cold copy, read and write at each number of bytes moved.

    Sizes are rounded down to what 16-byte vectors can copy; those that memory does not allow (an operand of more than a
    quarter of what is free) are left out, unless it is the only one, which is then smaller. The rates are those at
    `LARGE_COPY` and `LARGE` bytes, or the largest size below.
    """
    room = device.free_bytes() // 4
    wanted = [size for size in sizes if size <= room] or [min(room, *sizes)]
    wanted = [max(size // (2 * VECTOR_BYTES), 1) * 2 * VECTOR_BYTES for size in wanted]
    source, target = _pair(device, max(wanted))
    _wake(device, source, target)
    launch_us = _median(device, one_element(device))
    event_overhead_us = _median(device, nothing)
    sweep = tuple(_point(device, size, source, target) for size in sorted(set(wanted)))
    copy, large = _at(sweep, LARGE_COPY), _at(sweep, LARGE)
    return Ceiling(
        copy_GBps=_rate(copy, "copy_us"),
        read_GBps=_rate(large, "read_us"),
        write_GBps=_rate(large, "write_us"),
        launch_us=launch_us,
        event_overhead_us=event_overhead_us,
        launch_overhead_us=launch_overhead_us(device),
        sweep=tuple(point for point in sweep if min(point.copy_us, point.read_us, point.write_us) > 0),
    )


def one_element(device: Device) -> Callable[[], None]:
    """Return what enqueues the shortest kernel: one thread that moves one element."""
    source, target = device.allocate(4), device.allocate(4)
    plan = harness_plan("one_element", CLOCK, 1, 1, Pointer("source"), Pointer("target"))
    run = _bound(device, plan, source, target)

    def enqueue() -> None:
        _ = source, target  # they live as long as the work
        run()

    return enqueue


def _point(device: Device, size: int, source: Buffer, target: Buffer) -> CeilingPoint:
    """Time a copy of half the size, and a read and a write of the size."""
    half, whole = size // 2, size
    return CeilingPoint(
        size,
        _fastest(device, _copies(device, _Part(source, 0, half), _Part(target, 0, half))),
        _fastest(device, _reads(device, _Part(source, 0, whole), target)),
        _fastest(device, _fills(device, _Part(target, 0, whole))),
    )


def _at(sweep: Sequence[CeilingPoint], wanted: int) -> CeilingPoint:
    """Return the point of that many bytes, or the largest below; the smallest where all are above."""
    fitting = [point for point in sweep if point.bytes <= wanted]
    return max(fitting, key=lambda point: point.bytes, default=sweep[0])


def _rate(point: CeilingPoint, kind: str) -> float | None:
    """Return the rate in GB/s; None where no candidate took any time."""
    time: float = getattr(point, kind)
    return round(point.bytes / time / 1e3, 1) if time > 0 else None


def _pair(device: Device, size: int) -> tuple[Buffer, Buffer]:
    """Two buffers with contents that no memory compression can shorten: random bytes, doubled until they fill."""
    import numpy

    source, target = device.allocate(size), device.allocate(size)
    words = numpy.random.default_rng(1).integers(0, 256, min(size, 2**26), numpy.uint8)
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


def _fastest(device: Device, candidates: Runs) -> float:
    """Return the least time in microseconds."""
    return min(_median(device, run) for run in candidates)


def _bound(device: Device, plan: Plan, source: Buffer, target: Buffer) -> Callable[[], None]:
    """Bind a plan of the harness to its two buffers, which the caller keeps."""
    addresses = {"source": source.address, "target": target.address}
    return device.bind(plan, addresses, device.allocate(0)).run


def _over_vectors(device: Device, name: str, source: Buffer, target: Buffer, *arguments: Pointer | Value) -> Runs:
    """Bind the kernel `name` over all vectors of the source, once an unroll."""
    count = source.nbytes // VECTOR_BYTES
    runs = []
    for unroll in UNROLLS:
        grid = -(-count // (THREADS * unroll))
        plan = harness_plan(f"{name}<{unroll}>", SOURCE, grid, THREADS, *arguments)
        runs.append(_bound(device, plan, source, target))
    return runs


def _copies(device: Device, source: Buffer, target: Buffer) -> Runs:
    arguments = (Pointer("source"), Pointer("target"), _uint64(source.nbytes // VECTOR_BYTES))
    own = _over_vectors(device, "copy", source, target, *arguments)
    return [*own, lambda: device.copy(source, target)]


def _reads(device: Device, source: Buffer, target: Buffer) -> Runs:
    count = _uint64(source.nbytes // VECTOR_BYTES)
    return _over_vectors(device, "read", source, target, Pointer("source"), Pointer("target"), count, _uint32(MAGIC))


def _fills(device: Device, target: Buffer) -> Runs:
    arguments = (Pointer("target"), _uint64(target.nbytes // VECTOR_BYTES), _uint32(MAGIC))
    own = _over_vectors(device, "fill", target, target, *arguments)
    return [*own, lambda: device.fill(target, MAGIC & 0xFF)]


def _uint32(value: int) -> Value:
    return Value(value.to_bytes(4, "little"))


def _uint64(value: int) -> Value:
    return Value(value.to_bytes(8, "little"))
