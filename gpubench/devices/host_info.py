"""What the host device is: the processor's name and memory, and the limits of the GPU that it simulates."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from gpubench.devices.host_compiler import Compiler
from gpubench.model import DeviceInfo

SM_COUNT = 4
"""Small, so that launch rules that fill the device choose grids that a simulator gets through."""

LARGEST_ELEMENTS = 1 << 20
"""Operands with more elements than this take a simulator too long."""


def host_info(compiler: Compiler, options: str = "", largest: int = LARGEST_ELEMENTS) -> DeviceInfo:
    """Describe this machine, with the limits of compute capability 9.0, so that launch rules behave as on a GPU."""
    return DeviceInfo(
        kind="host",
        name=processor_name(),
        compute_capability=(9, 0),
        sm_count=SM_COUNT,
        l2_bytes=_sysconf("SC_LEVEL3_CACHE_SIZE") or _sysconf("SC_LEVEL2_CACHE_SIZE") or 1 << 20,
        memory_bytes=_sysconf("SC_PHYS_PAGES") * _sysconf("SC_PAGE_SIZE"),
        max_shared_bytes=227 * 1024,
        simulated=True,
        properties={
            "compiler": compiler.version,
            "cores": os.cpu_count(),
            "options": options,
            "largest_elements": largest,
        },
    )


def processor_name() -> str:
    """Return the processor's name as the system gives it, the architecture where it gives none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return value.strip()
    return platform.processor() or platform.machine() or "unknown processor"


def available_bytes() -> int:
    """Return the memory that can be had without swapping; all of it where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return _sysconf("SC_PHYS_PAGES") * _sysconf("SC_PAGE_SIZE")


def _sysconf(name: str) -> int:
    """Return a figure of the system, 0 where it has none."""
    try:
        return max(os.sysconf(name), 0)
    except (ValueError, OSError):
        return 0
