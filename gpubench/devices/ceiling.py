"""The rates a device's memory reaches at best: own kernels and the device's own copy and fill, whichever is faster."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpubench.model import Accuracy, Ceiling, Launch, Plan, Pointer, Value

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device

SOURCE = "harness/ceiling.cu"
LARGE = 2**30
"""Bytes of the operands at which the one ceiling of a run is measured: many times any L2 cache."""

VECTOR_BYTES = 16
THREADS = 256
UNROLLS = (1, 2, 4, 8)
SAMPLES = 15
WARM_UP = 3
MAGIC = 0x9E3779B9
"""What the fill writes, and the fold at which the read would store."""

Runs = Sequence[Callable[[], None]]
_ACCURACY = Accuracy(0, "float32")


def nothing() -> None:
    """Enqueue nothing: the restore of work that changes none of its inputs."""


def measure_ceiling(device: Device, sizes: Sequence[int] = (LARGE,)) -> dict[int, Ceiling]:
    """Return the ceilings at each operand size in bytes (a copy of size s moves 2 s), all timed cold.

    Sizes are rounded down to whole vectors of 16 bytes (at least one) and to what memory allows: a quarter of what is
    free. The key is the size asked for. `launch_us` (the time of a one-element kernel) and `event_overhead_us`
    (of an event pair around nothing) are the same at every size.
    """
    element = device.allocate(4)
    one_element = _kernel("one_element", "harness/clock.cu", 1, 1, Pointer("source"), Pointer("target"))
    launch_us = _median(device, _bound(device, one_element, element, element))
    event_overhead_us = _median(device, nothing)
    ceilings: dict[int, Ceiling] = {}
    for wanted in sizes:
        size = max(min(wanted, device.free_bytes() // 4) // VECTOR_BYTES, 1) * VECTOR_BYTES
        source, target = _pair(device, size)
        ceilings[wanted] = Ceiling(
            copy_GBps=_fastest(device, 2 * size, _copies(device, source, target)),
            read_GBps=_fastest(device, size, _reads(device, source, target)),
            write_GBps=_fastest(device, size, _fills(device, target)),
            launch_us=launch_us,
            event_overhead_us=event_overhead_us,
        )
    return ceilings


def _pair(device: Device, size: int) -> tuple[Buffer, Buffer]:
    """Two buffers with contents that no memory compression can shorten."""
    import numpy

    source, target = device.allocate(size), device.allocate(size)
    words = numpy.random.default_rng(1).integers(0, 256, min(size, 2**26), numpy.uint8)
    for start in range(0, size, words.size):
        device.upload(words[: size - start], _Part(source, start, min(words.size, size - start)))
    device.copy(source, target)
    return source, target


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


def _fastest(device: Device, moved: int, candidates: Runs) -> float | None:
    """Return the best rate in GB/s; None where no candidate took any time."""
    best = min((_median(device, run) for run in candidates), default=0.0)
    return round(moved / best / 1e3, 1) if best > 0 else None


def _bound(device: Device, plan: Plan, source: Buffer, target: Buffer) -> Callable[[], None]:
    """Bind a plan of the harness to its two buffers, which the caller keeps."""
    addresses = {"source": source.address, "target": target.address}
    return device.bind(plan, addresses, device.allocate(0)).run


def _kernel(name: str, source: str, grid: int, threads: int, *arguments: Pointer | Value) -> Plan:
    launch = Launch(source, f"gpubench::harness::{name}", (grid, 1, 1), (threads, 1, 1), arguments)
    return Plan(name, (launch,), _ACCURACY)


def _over_vectors(device: Device, name: str, source: Buffer, target: Buffer, *arguments: Pointer | Value) -> Runs:
    """Bind the kernel `name` over all vectors of the source, once an unroll."""
    count = source.nbytes // VECTOR_BYTES
    runs = []
    for unroll in UNROLLS:
        grid = -(-count // (THREADS * unroll))
        plan = _kernel(f"{name}<{unroll}>", SOURCE, grid, THREADS, *arguments)
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
