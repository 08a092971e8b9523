"""One launch of a test kernel on the host device, from arrays to arrays."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options
from gpubench.model import Accuracy, Launch, Plan, Pointer, Value
from gpubench.operators.structs import int32

Array = np.ndarray[Any, np.dtype[Any]]

PLANTED = Path(__file__).parent / "planted"
SPACE = "gpubench::planted::"
SCHEDULES = ("forward", "reverse", "random:1", "random:2")
BUGS = (
    "missing_barrier",
    "divergent_barrier",
    "early_exit",
    "off_by_one",
    "shared_off_by_one",
    "uninitialised",
    "wrong_mask",
    "absent_lane",
    "lane_outside_mask",
    "misaligned",
    "overflow",
    "lost_update",
    "lost_global_update",
    "overlapping_outputs",
    "endless_wait",
    "wild_pointer",
    "deep_recursion",
)


@functools.cache
def host(options: str = "") -> HostDevice:
    """Return the device with these options, able to run the kernels beside this file."""
    return HostDevice(parse_options(options), sources=(PLANTED,))


def launch(
    device: HostDevice,
    source: str,
    kernel: str,
    grid: int,
    block: int | tuple[int, int, int],
    arrays: Mapping[str, Array],
    values: Sequence[Value] = (),
    shared_bytes: int = 0,
    waits_for_blocks: bool = False,
) -> dict[str, Array]:
    """Run a kernel that takes a pointer to each array, then the values; return what the arrays hold afterwards."""
    buffers = {name: device.allocate(array.nbytes) for name, array in arrays.items()}
    for name, array in arrays.items():
        device.upload(array, buffers[name])
    one = Launch(
        source,
        SPACE + kernel,
        (grid, 1, 1),
        block if isinstance(block, tuple) else (block, 1, 1),
        (*(Pointer(name) for name in arrays), *values),
        shared_bytes,
        waits_for_blocks,
    )
    addresses = {name: buffer.address for name, buffer in buffers.items()}
    device.bind(Plan("test", (one,), Accuracy(1, "float32")), addresses, device.allocate(0)).run()
    results = {}
    for name, array in arrays.items():
        results[name] = np.empty_like(array)
        device.download(buffers[name], results[name])
    return results


def block_sum(device: HostDevice, bug: str, blocks: int = 4, threads: int = 128) -> tuple[Array, Array]:
    """Run the planted kernel; return the sums that it found and the right ones."""
    x = np.random.default_rng(7).integers(-100, 100, (blocks, 4 * threads)).astype(np.float32)
    arrays = {"x": x, "y": np.zeros(blocks, np.float32), "flag": np.zeros(1, np.uint32)}
    kernel = f"block_sum<{SPACE}Bug::{bug}>"
    found = launch(device, "block_sum.cu", kernel, blocks, threads, arrays, (int32(4 * threads),))
    return found["y"], x.sum(axis=1)
