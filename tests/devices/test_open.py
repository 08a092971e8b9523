"""Finding and opening devices."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpubench import devices
from gpubench.devices import cuda, list_devices, nvml, open_device
from gpubench.errors import MissingExtraError, NoDeviceError, UsageError


def test_a_fake_device_opens_by_its_script(tmp_path: Path) -> None:
    """`fake:PATH` reads the script."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"info": {"name": "Scripted", "sm_count": 7}}))
    device = open_device(f"fake:{script}")
    assert (device.info.kind, device.info.name, device.info.sm_count) == ("fake", "Scripted", 7)


@pytest.mark.parametrize("spec", ["gpu", "GPU:0", "gpus"])
def test_a_gpu_by_another_name_is_pointed_to_cuda(spec: str) -> None:
    """`gpu` is no kind: the message says how a GPU is called, and offers no device that is for tests."""
    with pytest.raises(UsageError, match=r"Known are: auto, cuda, host\.") as caught:
        open_device(spec)
    assert "fake" not in str(caught.value)
    assert ("cuda:0" in str(caught.value)) == spec.lower().startswith("gpu:") or spec in ("gpu", "gpus")


@pytest.mark.parametrize("spec", ["gpu", "", "cuda:first", "fake:", "fake:/nowhere/script.json"])
def test_a_wrong_spec_is_a_usage_error(spec: str) -> None:
    """Never an exception of Python's own."""
    with pytest.raises(UsageError):
        open_device(spec)


def test_auto_tells_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no device at all the message says why each kind failed."""

    def none(argument: str) -> Any:
        raise NoDeviceError(f"nothing here{argument}")

    def missing(argument: str) -> Any:
        raise MissingExtraError(f"cupy{argument}", "cuda13")

    modules = {"cuda": SimpleNamespace(open_device=missing), "host": SimpleNamespace(open_device=none)}
    monkeypatch.setattr(devices, "_module", modules.get)
    with pytest.raises(NoDeviceError, match=r"(?s)cupy-cuda13x.*host: nothing here"):
        open_device("auto")


def test_auto_prefers_the_gpu_and_never_takes_a_fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first kind that opens is taken; a test's device only when it is named."""
    opened = SimpleNamespace(open_device=lambda _: "a device")
    monkeypatch.setattr(devices, "_module", {"cuda": opened, "host": None}.get)
    assert str(open_device("auto")) == "a device"
    monkeypatch.setattr(devices, "_module", {"fake": opened}.get)
    with pytest.raises(NoDeviceError):
        open_device("auto")


def test_listing_goes_on_after_a_kind_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU is told, and the others are listed."""

    def none() -> Any:
        raise NoDeviceError("no driver")

    kinds = {"cuda": SimpleNamespace(list_devices=none), "host": SimpleNamespace(list_devices=lambda: ["host"])}
    monkeypatch.setattr(devices, "_module", kinds.get)
    found, reasons = list_devices()
    assert [str(device) for device in found] == ["host"]
    assert reasons == ["cuda: no driver"]


def test_gpus_are_listed_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML alone shows them, with the missing extra as their problem."""

    def missing() -> int:
        raise MissingExtraError("cupy", "cuda13")

    monkeypatch.setattr(cuda, "_count", missing)
    monkeypatch.setattr(nvml, "bus_ids", lambda: ["0000:01:00.0"])
    monkeypatch.setattr(nvml, "facts", lambda _: {"name": "NVIDIA H200", "driver": "580"})
    monkeypatch.setattr(nvml, "compute_capability", lambda _: (9, 0))
    monkeypatch.setattr(nvml, "memory_bytes", lambda _: 10)
    (listed,) = cuda.list_devices()
    assert (listed.spec, listed.info.name, listed.info.compute_capability) == ("cuda:0", "NVIDIA H200", (9, 0))
    assert "cupy-cuda13x" in str(listed.problem)


def test_a_gpu_number_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how many there are."""
    monkeypatch.setattr(cuda, "_count", lambda: 2)
    with pytest.raises(NoDeviceError, match="no cuda:2: CUDA shows 2 devices"):
        cuda.open_device("2")
