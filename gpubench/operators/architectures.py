"""What an architecture fixes of its devices, and which instances of a variant they can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from gpubench.model import DeviceInfo
from gpubench.operators.base import Variant

_LIMITS: dict[str, tuple[int, int]] = {
    "sm_75": (64, 1024),
    "sm_80": (163, 2048),
    "sm_86": (99, 1536),
    "sm_87": (163, 1536),
    "sm_89": (99, 1536),
    "sm_90": (227, 2048),
    "sm_100": (227, 2048),
    "sm_103": (227, 2048),
    "sm_120": (99, 1536),
    "sm_121": (99, 1536),
}
"""KB of shared memory that a block may take, and threads that an SM holds ("CUDA C++ Programming Guide", table of
technical specifications per compute capability)."""


@runtime_checkable
class DependsOnDevice(Protocol):
    """A variant some of whose instances only devices with less shared memory reach."""

    def instances_on(self, dtype: str, device: DeviceInfo) -> Sequence[tuple[str, str]]:
        """Return the `instances` that plans for such devices name, whatever their number of SMs and memory."""
        ...


def device_of(arch: str) -> DeviceInfo | None:
    """Return what all devices of an architecture (`sm_90`) share; None for one that is not in the table.

    The rest (SMs, memory, L2 cache) is nobody's in particular.
    """
    limits = _LIMITS.get(arch)
    if limits is None:
        return None
    number = int(arch.removeprefix("sm_"))
    return DeviceInfo(
        kind="cuda",
        name=arch,
        compute_capability=divmod(number, 10),
        sm_count=1,
        l2_bytes=1,
        memory_bytes=1,
        max_shared_bytes=limits[0] << 10,
        max_threads_per_sm=limits[1],
    )


def reachable(variant: Variant, dtype: str, device: DeviceInfo | None) -> Sequence[tuple[str, str]]:
    """Return (source, name expression) of every instance that a case's dtype can reach on devices of this kind.

    None: on any device.
    """
    if device is not None and isinstance(variant, DependsOnDevice):
        return variant.instances_on(dtype, device)
    return variant.instances(dtype)
