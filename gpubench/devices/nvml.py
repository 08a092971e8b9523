"""What NVML says of the GPUs: facts that stay and figures that move. Works without CuPy; with no NVML all is empty."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from gpubench.model import Json

THROTTLE_REASONS: tuple[tuple[int, str], ...] = (
    (0x001, "gpu_idle"),
    (0x002, "applications_clocks_setting"),
    (0x004, "sw_power_cap"),
    (0x008, "hw_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "sw_thermal_slowdown"),
    (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
)
"""NVML's bits of the reasons for which clocks are lower than they could be, as the record names them."""

CUDA_13 = 13000
"""The driver's CUDA version, as NVML gives it, from which the extra `cuda13` works."""


@functools.cache
def _nvml() -> Any:
    """Return the started library, None where there is none (no driver, no permission, no package)."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        return None  # a machine without an NVIDIA driver is an ordinary machine
    return pynvml


def _ask(name: str, *arguments: object) -> Any:
    """Return what one NVML function answers, None where this GPU or driver does not know it."""
    library = _nvml()
    function: Callable[..., Any] | None = getattr(library, name, None)
    if function is None:
        return None
    try:
        answer = function(*arguments)
    except Exception:
        return None  # NVML raises one class a reason ("not supported", "no permission"): all mean "not known"
    return answer.decode() if isinstance(answer, bytes) else answer


def _scaled(value: Any, factor: float) -> float | None:
    return None if value is None else round(float(value) * factor, 3)


@functools.cache
def _handle(pci_bus_id: str) -> Any:
    return _ask("nvmlDeviceGetHandleByPciBusId", pci_bus_id)


def bus_ids() -> list[str]:
    """Return the PCI bus id of every GPU that the driver shows, in NVML's order; empty with no NVML."""
    ids = []
    for index in range(_ask("nvmlDeviceGetCount") or 0):
        info = _ask("nvmlDeviceGetPciInfo", _ask("nvmlDeviceGetHandleByIndex", index))
        bus_id = getattr(info, "busId", None)
        if bus_id is not None:
            ids.append(bus_id.decode() if isinstance(bus_id, bytes) else str(bus_id))
    return ids


def driver_version() -> str | None:
    """Return the driver's version, such as `580.159.04`; None with no driver."""
    version = _ask("nvmlSystemGetDriverVersion")
    return None if version is None else str(version)


def cuda_version() -> int | None:
    """Return the newest CUDA version that the driver runs, such as 13000; None with no driver."""
    version = _ask("nvmlSystemGetCudaDriverVersion_v2") or _ask("nvmlSystemGetCudaDriverVersion")
    return None if version is None else int(version)


def suitable_extra() -> str:
    """Return the extra that fits the driver: `cuda13`, or `cuda12` for an older one. `cuda13` with no driver."""
    version = cuda_version()
    return "cuda12" if version is not None and version < CUDA_13 else "cuda13"


def facts(pci_bus_id: str) -> dict[str, Json]:
    """Return what does not change while a run lasts: driver, uuid, limits, ECC, MIG, PCIe. Empty with no NVML.

    Unknown figures are None. `power_limit_w` in watts, clocks in MHz, `pcie_width` in lanes. `neighbours`: how many
    other processes are on the GPU now, as far as this one may see them.
    """
    handle = _handle(pci_bus_id)
    if handle is None:
        return {}
    library = _nvml()
    ecc = _ask("nvmlDeviceGetEccMode", handle)  # (current, pending)
    mig = _ask("nvmlDeviceGetMigMode", handle)
    remapped = _ask("nvmlDeviceGetRemappedRows", handle)  # (corrected, uncorrected, pending, failed)
    others = _processes(handle)
    return {
        "driver": driver_version(),
        "uuid": _ask("nvmlDeviceGetUUID", handle),
        "name": _ask("nvmlDeviceGetName", handle),
        "power_limit_w": _scaled(_ask("nvmlDeviceGetEnforcedPowerLimit", handle), 1e-3),
        "ecc": None if ecc is None else bool(ecc[0]),
        "mig": False if mig is None else bool(mig[0]),
        "persistence": _as_bool(_ask("nvmlDeviceGetPersistenceMode", handle)),
        "max_sm_mhz": _ask("nvmlDeviceGetMaxClockInfo", handle, library.NVML_CLOCK_SM),
        "application_sm_mhz": _ask("nvmlDeviceGetApplicationsClock", handle, library.NVML_CLOCK_SM),
        "max_memory_mhz": _ask("nvmlDeviceGetMaxClockInfo", handle, library.NVML_CLOCK_MEM),
        "power_default_w": _scaled(_ask("nvmlDeviceGetPowerManagementDefaultLimit", handle), 1e-3),
        "pcie_width": _ask("nvmlDeviceGetCurrPcieLinkWidth", handle),
        "pcie_max_width": _ask("nvmlDeviceGetMaxPcieLinkWidth", handle),
        "pcie_max_generation": _ask("nvmlDeviceGetMaxPcieLinkGeneration", handle),
        "ecc_uncorrected": _ask("nvmlDeviceGetTotalEccErrors", handle, 1, 0),
        "rows_remapped": None if remapped is None else int(remapped[0]) + int(remapped[1]),
        "remap_failed": None if remapped is None else bool(remapped[3]),
        "neighbours": None if others is None else sum(other["pid"] != os.getpid() for other in others),
    }


def _as_bool(value: Any) -> bool | None:
    return None if value is None else bool(value)


def throttle_names(bits: int) -> list[str]:
    """Return the names of the throttle reasons in NVML's bit set; bits without a name are given as `0x...`."""
    names = [name for bit, name in THROTTLE_REASONS if bits & bit]
    rest = bits & ~sum(bit for bit, _ in THROTTLE_REASONS)
    return [*names, hex(rest)] if rest else names


def telemetry(pci_bus_id: str) -> dict[str, Json]:
    """Return the figures of this moment: sm_mhz, memory_mhz, power_w, temperature_c, throttle. Empty with no NVML."""
    handle = _handle(pci_bus_id)
    if handle is None:
        return {}
    library = _nvml()
    bits = _ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if bits is None:  # the name before driver 535
        bits = _ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    return {
        "sm_mhz": _ask("nvmlDeviceGetClockInfo", handle, library.NVML_CLOCK_SM),
        "memory_mhz": _ask("nvmlDeviceGetClockInfo", handle, library.NVML_CLOCK_MEM),
        "power_w": _scaled(_ask("nvmlDeviceGetPowerUsage", handle), 1e-3),
        "temperature_c": _ask("nvmlDeviceGetTemperature", handle, library.NVML_TEMPERATURE_GPU),
        "throttle": [] if bits is None else throttle_names(int(bits)),
    }


def memory_bytes(pci_bus_id: str) -> int | None:
    """Return the size of the GPU's memory; None where it is not known."""
    info = _ask("nvmlDeviceGetMemoryInfo", _handle(pci_bus_id))
    return None if info is None else int(info.total)


def compute_capability(pci_bus_id: str) -> tuple[int, int] | None:
    """Return the compute capability, such as (9, 0); None where it is not known."""
    pair = _ask("nvmlDeviceGetCudaComputeCapability", _handle(pci_bus_id))
    return None if pair is None else (int(pair[0]), int(pair[1]))


def health(pci_bus_id: str) -> dict[str, Json]:
    """Return what tells whether a measurement would be disturbed, beyond `facts` and `telemetry`. Unknown is None.

    processes: those that use the GPU, as far as this process may see them: pid, name, memory_bytes. Bytes, degrees
    Celsius, watts, MHz.
    """
    handle = _handle(pci_bus_id)
    if handle is None:
        return {}
    memory = _ask("nvmlDeviceGetMemoryInfo", handle)
    use = _ask("nvmlDeviceGetUtilizationRates", handle)
    ecc = _ask("nvmlDeviceGetEccMode", handle)
    remapped = _ask("nvmlDeviceGetRemappedRows", handle)  # (corrected, uncorrected, pending, failed)
    return {
        "processes": _processes(handle),
        "busy_percent": None if use is None else int(use.gpu),
        "memory_free_bytes": None if memory is None else int(memory.free),
        "memory_bytes": None if memory is None else int(memory.total),
        "compute_mode": _ask("nvmlDeviceGetComputeMode", handle),
        "display": _as_bool(_ask("nvmlDeviceGetDisplayActive", handle)),
        "ecc_pending": None if ecc is None else bool(ecc[1]),
        "ecc_uncorrected": _ask("nvmlDeviceGetTotalEccErrors", handle, 1, 0),  # uncorrected, since the driver started
        "remap_pending": None if remapped is None else bool(remapped[2]),
        "remap_failed": None if remapped is None else bool(remapped[3]),
        "power_default_w": _scaled(_ask("nvmlDeviceGetPowerManagementDefaultLimit", handle), 1e-3),
        "slowdown_c": _ask("nvmlDeviceGetTemperatureThreshold", handle, 1),
    }


def _processes(handle: Any) -> list[Json] | None:
    """Return the processes on the GPU, each once; None where NVML does not tell."""
    lists = [
        _ask(name, handle) for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")
    ]
    if all(processes is None for processes in lists):
        return None
    found = {int(process.pid): process.usedGpuMemory for processes in lists for process in processes or ()}
    return [
        {"pid": pid, "name": _ask("nvmlSystemGetProcessName", pid), "memory_bytes": None if size is None else int(size)}
        for pid, size in sorted(found.items())
    ]
