"""What of a GPU's state is said to spoil a measurement."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.devices import nvml
from gpubench.devices.health import gpu_findings, judge

GOOD: dict[str, Any] = {
    "processes": [],
    "busy_percent": 0,
    "memory_free_bytes": 140 * 10**9,
    "memory_bytes": 150 * 10**9,
    "compute_mode": 0,
    "display": False,
    "mig": False,
    "ecc": True,
    "ecc_pending": True,
    "ecc_uncorrected": 0,
    "remap_pending": False,
    "remap_failed": False,
    "power_limit_w": 700.0,
    "power_default_w": 700.0,
    "temperature_c": 40,
    "slowdown_c": 90,
    "throttle": ["gpu_idle"],
    "sm_mhz": 345,
    "max_sm_mhz": 1980,
    "application_sm_mhz": 1980,
    "persistence": True,
}


def test_a_quiet_gpu_has_nothing_against_it() -> None:
    """An idle, cool, unshared GPU gets only good findings, one at least for each thing looked at."""
    found = judge("cuda:0", GOOD)
    assert {finding.level for finding in found} == {"good"}
    assert [finding.area for finding in found] == ["processes", "memory", "clocks", "throttling", "ecc"]


BAD: list[tuple[dict[str, Any], str, str, str]] = [
    ({"processes": [{"pid": 7, "name": "python", "memory_bytes": 10**9}]}, "processes", "spoils", "python (process 7)"),
    ({"processes": [{"pid": 7, "name": None, "memory_bytes": None}]}, "processes", "spoils", "a process (process 7)"),
    ({"busy_percent": 60}, "processes", "spoils", "busy 60 %"),
    ({"processes": None}, "processes", "note", "does not tell which processes"),
    ({"memory_free_bytes": 10**9}, "memory", "spoils", "1 of 150 GB are free"),
    ({"compute_mode": 2}, "access", "blocks", "prohibited"),
    ({"compute_mode": 3}, "access", "note", "exclusive"),
    ({"mig": True}, "access", "spoils", "MIG"),
    ({"display": True}, "access", "spoils", "display"),
    ({"application_sm_mhz": 1200}, "clocks", "note", "application clocks are set to 1200 MHz"),
    ({"persistence": False}, "clocks", "note", "persistence"),
    ({"throttle": ["gpu_idle", "sw_power_cap"]}, "throttling", "spoils", "by sw_power_cap"),
    ({"temperature_c": 86}, "throttling", "spoils", "86 C and slows down at 90 C"),
    ({"power_limit_w": 500.0}, "throttling", "spoils", "500 W where 700 W"),
    ({"ecc_uncorrected": 3}, "ecc", "spoils", "3 uncorrected memory errors"),
    ({"remap_pending": True}, "ecc", "spoils", "reset the GPU"),
    ({"remap_failed": True}, "ecc", "spoils", "service"),
    ({"ecc_pending": False}, "ecc", "note", "ECC is on and will be off"),
    ({"ecc": False, "ecc_pending": False}, "ecc", "good", "ECC is off"),
]


@pytest.mark.parametrize(("change", "area", "level", "words"), BAD, ids=[row[3] for row in BAD])
def test_each_disturbance_is_told(change: dict[str, Any], area: str, level: str, words: str) -> None:
    """One figure that is off gives one finding of its area and level, in words that name it."""
    found = judge("cuda:0", {**GOOD, **change})
    hits = [finding for finding in found if words in finding.message]
    assert [(hit.area, hit.level) for hit in hits] == [(area, level)]
    others = [finding.level for finding in found if finding not in hits]
    assert set(others) <= {"good"}


def test_what_is_not_known_is_never_called_good_or_bad() -> None:
    """A driver that answers none of the questions gives notes."""
    assert {finding.level for finding in judge("cuda:0", dict.fromkeys(GOOD))} == {"note"}


def test_a_gpu_without_nvml_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no NVML there is one finding, that nothing is known."""
    monkeypatch.setattr(nvml, "_nvml", lambda: None)
    nvml._handle.cache_clear()
    (one,) = gpu_findings("cuda:0", "none")
    assert one.level == "note"
    nvml._handle.cache_clear()


def test_processes_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that both computes and draws is one; what a refused question would have told is None."""
    from types import SimpleNamespace

    def refuse(*_: object) -> None:
        raise RuntimeError("not supported")

    process = SimpleNamespace(pid=12, usedGpuMemory=None)
    library = SimpleNamespace(
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetComputeRunningProcesses=lambda _: [process],
        nvmlDeviceGetGraphicsRunningProcesses=lambda _: [process],
        nvmlSystemGetProcessName=lambda pid: f"name {pid}".encode(),
        nvmlDeviceGetMemoryInfo=lambda _: SimpleNamespace(free=5, total=9),
        nvmlDeviceGetRemappedRows=lambda _: (0, 0, True, False),
        nvmlDeviceGetComputeMode=refuse,
    )
    monkeypatch.setattr(nvml, "_nvml", lambda: library)
    nvml._handle.cache_clear()
    health = nvml.health("x")
    nvml._handle.cache_clear()
    assert health["processes"] == [{"pid": 12, "name": "name 12", "memory_bytes": None}]
    assert (health["memory_free_bytes"], health["memory_bytes"]) == (5, 9)
    assert (health["remap_pending"], health["remap_failed"]) == (True, False)
    assert health["compute_mode"] is None
