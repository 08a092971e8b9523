"""NVML's figures, with a library in memory in its place."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gpubench.devices import nvml


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    """Forget handles between tests."""
    nvml._handle.cache_clear()
    yield
    nvml._handle.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, library: Any) -> None:
    """Put a library in NVML's place."""
    monkeypatch.setattr(nvml, "_nvml", lambda: library)


def refuse(*_: object) -> None:
    """Answer as NVML does for what a GPU does not know."""
    raise RuntimeError("not supported")


def test_without_nvml_everything_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No driver is an ordinary state of a machine."""
    use(monkeypatch, None)
    assert nvml.telemetry("0") == {}
    assert nvml.facts("0") == {}
    assert nvml.bus_ids() == []
    assert nvml.driver_version() is None


def test_figures_have_their_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML counts milliwatts; the record counts watts, and names the throttle reasons."""
    library = SimpleNamespace(
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetHandleByPciBusId=lambda bus: f"handle {bus}",
        nvmlDeviceGetClockInfo=lambda _, kind: {1: 1980, 2: 3201}[kind],
        nvmlDeviceGetPowerUsage=lambda _: 412_345,
        nvmlDeviceGetTemperature=refuse,
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda _: 0x4 | 0x20,
    )
    use(monkeypatch, library)
    assert nvml.telemetry("0") == {
        "sm_mhz": 1980,
        "memory_mhz": 3201,
        "power_w": 412.345,
        "temperature_c": None,
        "throttle": ["sw_power_cap", "sw_thermal_slowdown"],
    }


def test_reasons_of_the_future_are_kept() -> None:
    """A bit without a name is not dropped."""
    assert nvml.throttle_names(0x8001) == ["gpu_idle", "0x8000"]
    assert nvml.throttle_names(0) == []


@pytest.mark.parametrize(("version", "extra"), [(None, "cuda13"), (12080, "cuda12"), (13000, "cuda13")])
def test_the_extra_fits_the_driver(monkeypatch: pytest.MonkeyPatch, version: int | None, extra: str) -> None:
    """A driver of CUDA 12 cannot run what `cuda13` brings."""
    use(monkeypatch, SimpleNamespace(nvmlSystemGetCudaDriverVersion=lambda: version))
    assert nvml.suitable_extra() == extra
