"""Does a case fit? Worked out before anything is allocated, so that too big a case is skipped and not a crash."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.dtypes import dtype
from gpubench.engine.guards import room
from gpubench.model import DeviceInfo, Operand, Problem
from gpubench.operators.chunks import BLOCK, thread_count

_SLACK = 64 * 2**20
"""What allocators round up, and small buffers of the harness itself."""
_REFERENCE_BYTES = 32
"""Host bytes an output element takes while it is checked: value, magnitude and what they are worked out from."""
_BLOCKS_AT_WORK = 2 * thread_count()
"""Blocks of a reference that exist at once while it is worked out and not kept."""


@dataclass(frozen=True, slots=True)
class Part:
    """One share of what a case needs."""

    name: str
    bytes: int


def storage_bytes(operand: Operand) -> int:
    """Return the size of an operand's storage."""
    return operand.view.storage * dtype(operand.dtype).itemsize


def device_parts(problem: Problem[Any], workspaces: Sequence[int], l2_bytes: int, keep_inputs: bool) -> list[Part]:
    """Return what the device must hold at once for contenders with these workspaces.

    One contender at a time has its operands and workspace; the outputs of all stay until they are checked. The
    pristine copies of in-place operands (with `keep_inputs`, of all inputs) stay for the whole case.
    """
    outputs = sum(storage_bytes(operand) for operand in problem.operands if operand.role != "in")
    pristine = sum(
        storage_bytes(operand)
        for operand in problem.operands
        if operand.role == "inout" or (keep_inputs and operand.role == "in")
    )
    largest = max(workspaces, default=0)
    guarded = [storage_bytes(operand) for operand in problem.operands] + [largest]
    kept = [storage_bytes(operand) for operand in problem.operands if operand.role != "in"] * len(workspaces)
    return [
        Part("operands", sum(storage_bytes(operand) for operand in problem.operands)),
        Part("pristine inputs", pristine),
        Part("outputs kept for the check", outputs * len(workspaces)),
        Part("workspace", largest),
        Part("guards", sum(room(nbytes) - nbytes for nbytes in guarded + kept)),
        Part("L2 flush", 2 * l2_bytes),
        Part("slack", _SLACK),
    ]


def reference_room(free: int | None) -> int:
    """Return how many bytes of right answers are kept between contenders; others are worked out block by block anew."""
    return (free or 0) // 4


def host_parts(problem: Problem[Any], free: int | None = None) -> list[Part]:
    """Return what the host must hold: inputs, one downloaded output, and the reference, as far as `free` bytes let it
    be kept.
    """
    outputs = [operand for operand in problem.operands if operand.role != "in"]
    reference = _REFERENCE_BYTES * sum(output.view.size for output in outputs)
    if free is not None:
        reference = min(reference, reference_room(free) + _REFERENCE_BYTES * BLOCK * _BLOCKS_AT_WORK)
    return [
        Part("inputs", sum(storage_bytes(operand) for operand in problem.operands if operand.role != "out")),
        Part("output", 2 * sum(storage_bytes(output) for output in outputs)),
        Part("reference", reference),
        Part("slack", _SLACK),
    ]


def total(parts: Sequence[Part]) -> int:
    """Return the sum of the parts."""
    return sum(part.bytes for part in parts)


def shortage(parts: Sequence[Part], free: int | None, where: str) -> str | None:
    """Return why the parts do not fit into `free` bytes, None when they do (or when `free` is not known)."""
    need = total(parts)
    if free is None or need <= free:
        return None
    listed = ", ".join(f"{part.name} {part.bytes / 1e9:.3g} GB" for part in parts if part.bytes)
    return f"needs {need / 1e9:.4g} GB on the {where} ({listed}); {free / 1e9:.4g} GB are free"


def beyond_simulation(problem: Problem[Any], info: DeviceInfo) -> str | None:
    """Return why a simulated device would take too long over the problem, None when it would not (or is real)."""
    limit = info.properties.get("largest_elements")
    size = max((operand.view.size for operand in problem.operands), default=0)
    if limit is None or size <= limit:
        return None
    return f"an operand of {size} elements; the simulator takes at most {limit}"


def free_host_bytes() -> int | None:
    """Return how much memory the host can still give, with its container's and this process's limits; None: unknown."""
    known = [value for value in (_available(), _container_rest(), _limit_rest()) if value is not None]
    return min(known, default=None)


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _container_rest() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text(encoding="ascii").strip()
        if limit == "max":
            return None
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        statistics = dict(
            line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines() if line
        )
        return max(int(limit) - used + int(statistics.get("inactive_file", 0)), 0)
    except (OSError, ValueError):
        return None


def _limit_rest() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return limit
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 0)
