"""`gpubench devices`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpubench import devices
from gpubench.cli import main
from gpubench.devices import Listed
from gpubench.model import DeviceInfo

H200 = DeviceInfo(
    kind="cuda",
    name="NVIDIA H200\x1b[31m",
    compute_capability=(9, 0),
    sm_count=132,
    l2_bytes=60 * 2**20,
    memory_bytes=140 * 2**30,
    max_shared_bytes=232448,
    theoretical_GBps=4917.0,
    properties={"driver": "580.1", "uuid": "GPU-1", "power_limit_w": 700.0, "ecc": True, "mig": False},
)


def listing(monkeypatch: pytest.MonkeyPatch, found: list[Listed], reasons: list[str]) -> None:
    """Let the command find these."""
    monkeypatch.setattr(devices, "list_devices", lambda: (found, reasons))


def test_a_machine_without_a_gpu_is_told_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no error to have none."""
    listing(monkeypatch, [], ["cuda: no driver"])
    assert main(["devices"]) == 0
    assert capsys.readouterr().out == "No device was found.\ncuda: no driver\n"


def test_figures_are_shown_and_names_are_harmless(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures with their units; a device's name cannot colour the terminal."""
    listing(monkeypatch, [Listed("cuda:0", H200, "cupy is not installed.")], [])
    assert main(["devices"]) == 0
    text = capsys.readouterr().out
    for part in ("cuda:0", "132 SMs", "140 GiB", "60 MiB", "4917 GB/s", "700 W", "ECC on", "MIG off", "driver 580.1"):
        assert part in text
    assert "cannot be used: cupy is not installed." in text
    assert "\x1b" not in text


def test_json_holds_every_figure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, nothing rounded."""
    listing(monkeypatch, [Listed("cuda:0", H200)], ["host: none"])
    assert main(["devices", "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["missing"] == ["host: none"]
    assert document["devices"][0]["spec"] == "cuda:0"
    assert document["devices"][0]["sm_count"] == 132
    assert document["devices"][0]["properties"]["uuid"] == "GPU-1"
