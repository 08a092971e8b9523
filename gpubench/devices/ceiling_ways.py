"""The ways in which the ceiling moves bytes: own kernels over 16-byte vectors, and the device's own copy and fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from gpubench.devices.harness import NAMESPACE, harness_plan
from gpubench.model import Pointer, Value

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device

Kind = Literal["copy", "read", "write"]

SOURCE = "harness/ceiling.cu"
VECTOR_BYTES = 16
THREADS, WIDE_THREADS = 256, 512
UNROLLS = (1, 2, 4, 8)
MAGIC = 0x9E3779B9
"""What the fill writes, and the fold at which the read would store."""

DEVICE_COPY, DEVICE_FILL = "device copy", "device fill"
EVICT_FIRST = " evict_first"
"""After a kernel's name: what it loads, the L2 cache gives up first."""
WIDE = " in wide blocks"
"""After a way: blocks of `WIDE_THREADS`. For reads of 256 to 512 MB with the hint 1 % faster on an H200."""
HINTS_SINCE = (8, 0)
"""The compute capability from which the L2 cache takes hints."""

WAYS: dict[Kind, tuple[str, ...]] = {
    "copy": (*(f"copy{hint}<{n}>" for hint in ("", EVICT_FIRST) for n in UNROLLS), DEVICE_COPY),
    "read": (*(f"read{hint}<{n}>" for hint in ("", EVICT_FIRST) for n in UNROLLS), f"read{EVICT_FIRST}<1>{WIDE}"),
    "write": (*(f"fill<{n}>" for n in UNROLLS), DEVICE_FILL),
}
"""What competes, by name; the record names the winners."""


def ways(device: Device, kind: Kind) -> tuple[str, ...]:
    """Return the ways that this device has."""
    hints = device.info.compute_capability >= HINTS_SINCE
    return tuple(way for way in WAYS[kind] if hints or EVICT_FIRST not in way)


def bound(device: Device, way: str, source: Buffer, target: Buffer) -> Callable[[], None]:
    """Return what enqueues one run of a way over all of the target (reads: of the source), which the caller keeps."""
    if way == DEVICE_COPY:
        return lambda: device.copy(source, target)
    if way == DEVICE_FILL:
        return lambda: device.fill(target, MAGIC & 0xFF)
    kernel, _, unroll = _parts(way)
    threads = WIDE_THREADS if way.endswith(WIDE) else THREADS
    count = (source if kernel == "read" else target).nbytes // VECTOR_BYTES
    size, magic = _uint64(count), _uint32(MAGIC)
    arguments: dict[str, tuple[Pointer | Value, ...]] = {
        "copy": (Pointer("source"), Pointer("target"), size),
        "read": (Pointer("source"), Pointer("target"), size, magic),
        "fill": (Pointer("target"), size, magic),
    }
    grid = -(-count // (threads * unroll))
    plan = harness_plan(way, SOURCE, grid, threads, *arguments[kernel], kernel=expression(way))
    addresses = {"source": source.address, "target": target.address}
    return device.bind(plan, addresses, device.allocate(0)).run


def expression(way: str) -> str:
    """Return the name expression of a way's kernel, without the harness's namespace."""
    kernel, hint, unroll = _parts(way)
    return f"{kernel}<{unroll}>" if kernel == "fill" else f"{kernel}<{NAMESPACE}Hint::{hint}, {unroll}>"


def _parts(way: str) -> tuple[str, str, int]:
    """Return kernel, hint and unroll of a way."""
    name, _, unroll = way.removesuffix(WIDE).removesuffix(">").partition("<")
    kernel = name.removesuffix(EVICT_FIRST)
    return kernel, "none" if kernel == name else "evict_first", int(unroll)


def _uint32(value: int) -> Value:
    return Value(value.to_bytes(4, "little"))


def _uint64(value: int) -> Value:
    return Value(value.to_bytes(8, "little"))
