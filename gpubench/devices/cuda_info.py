"""What a CUDA device is: read from the runtime and NVML without creating a context."""

from __future__ import annotations

from typing import Any

from gpubench.devices import nvml, pci
from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_errors import reporting
from gpubench.model import DeviceInfo

# CUDA's attribute numbers, which never change; CuPy names some of them and not others, depending on its version.
ATTRIBUTES = {
    "warp_size": 10,
    "sm_count": 16,
    "memory_clock_khz": 36,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "max_threads_per_sm": 39,
    "capability_major": 75,
    "capability_minor": 76,
    "max_shared_bytes": 97,
}


def pci_bus_id(binding: Binding, index: int) -> str:
    """Return the PCI bus id, by which NVML knows the same GPU."""
    bus_id: str = binding.runtime.deviceGetPCIBusId(index)
    return bus_id


def device_info(binding: Binding, index: int) -> DeviceInfo:
    """Return the figures of CUDA device `index`. NoDeviceError when there is none."""
    runtime = binding.runtime
    with reporting(f"reading the properties of cuda:{index}"):
        properties: dict[str, Any] = runtime.getDeviceProperties(index)
        figures = {name: int(runtime.deviceGetAttribute(number, index)) for name, number in ATTRIBUTES.items()}
        bus_id = pci_bus_id(binding, index)
        versions = {"cuda_runtime": runtime.runtimeGetVersion(), "cuda_driver": runtime.driverGetVersion()}
    facts = nvml.facts(bus_id)
    return DeviceInfo(
        kind="cuda",
        name=_text(properties["name"]),
        compute_capability=(figures["capability_major"], figures["capability_minor"]),
        sm_count=figures["sm_count"],
        l2_bytes=figures["l2_bytes"],
        memory_bytes=int(properties["totalGlobalMem"]),
        max_shared_bytes=figures["max_shared_bytes"],
        max_threads_per_sm=figures["max_threads_per_sm"],
        warp_size=figures["warp_size"],
        theoretical_GBps=_theoretical(figures["memory_clock_khz"], figures["memory_bus_bits"]),
        properties={
            "pci_bus_id": bus_id,
            "numa_node": pci.numa_node(bus_id),
            **{name: value for name, value in facts.items() if name != "name"},
            **versions,
            "memory_clock_mhz": figures["memory_clock_khz"] / 1e3,
            "memory_bus_bits": figures["memory_bus_bits"],
        },
    )


def _theoretical(memory_clock_khz: int, bus_bits: int) -> float | None:
    """Two transfers a clock on every wire of the bus; None where the driver does not tell the clock."""
    rate = 2 * memory_clock_khz * 1e3 * bus_bits / 8 / 1e9
    return round(rate, 1) if rate > 0 else None


def _text(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name
