"""`gpubench doctor`, on machines of every kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.devices import health, nvml
from gpubench.devices.health import Finding, Level
from gpubench.engine import machine
from gpubench.engine.lock import device_lock
from gpubench.kernels import nvrtc

H200 = {"name": "NVIDIA H200\x1b[31m", "uuid": "GPU-test-of-doctor", "pci_bus_id": "0", "compute_capability": "9.0"}


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Give a machine with one GPU about which everything is good."""

    def good(area: str) -> Finding:
        return Finding(area, "machine", "good", "fine.")

    monkeypatch.setattr(machine, "driver", lambda: [good("driver")])
    monkeypatch.setattr(
        machine, "gpus", lambda: iter([(Finding("opening", "cuda:0", "good", f"{H200['name']} opens."), H200)])
    )
    monkeypatch.setattr(machine, "compilers", lambda arch: [Finding("nvrtc", "machine", "good", f"compiles {arch}.")])
    monkeypatch.setattr(machine, "host_compiler", lambda: good("compiler"))
    monkeypatch.setattr(health, "gpu_findings", lambda spec, bus: [Finding("ecc", spec, "good", f"bus {bus}.")])
    monkeypatch.setattr(machine, "places", lambda folder: iter([good("results")] if folder.is_dir() else []))
    monkeypatch.setattr(machine, "host_state", lambda: iter([good("load")]))
    return monkeypatch


@pytest.mark.usefixtures("quiet")
def test_a_good_machine_is_0(capsys: pytest.CaptureFixture[str]) -> None:
    """With a GPU and nothing against it: exit 0, a line a finding, nothing that acts on the terminal."""
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "Nothing was found that would spoil a measurement." in shown
    assert "compiles sm_90." in shown
    assert "NVIDIA H200\\x1b[31m opens." in shown
    assert all(line.startswith("good ") for line in shown.splitlines()[:-2])


@pytest.mark.parametrize(("level", "code"), [("note", 0), ("spoils", 3), ("blocks", 2)])
def test_the_exit_code_is_that_of_the_worst(
    quiet: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], level: Level, code: int
) -> None:
    """A note changes nothing, what spoils gives 3, what blocks 2; the JSON has the same code and every finding."""
    quiet.setattr(machine, "driver", lambda: [Finding("driver", "machine", level, "well\nnow")])
    assert main(["doctor"]) == code
    assert f"{level} " in capsys.readouterr().out
    assert main(["doctor", "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["exit_code"], document["worst"]) == (code, level)
    assert document["findings"][0] == {"area": "driver", "subject": "machine", "level": level, "message": "well\nnow"}


@pytest.mark.usefixtures("quiet")
def test_another_run_on_the_gpu_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """While another gpubench holds the device's lock, the times would be wrong: exit 3."""
    with device_lock(str(H200["uuid"])):
        assert main(["doctor"]) == 3
    assert "another gpubench measures on it now" in capsys.readouterr().out


def test_gpus_are_opened_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every GPU is opened in a worker until there are no more; one that cannot be opened does not hide the next."""
    from gpubench.errors import DeviceError, NoDeviceError
    from gpubench.model import Ceiling

    class Supervisor:
        def __init__(self, options: Any) -> None:
            self.spec = options.worker.device

        def __enter__(self) -> Supervisor:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def open(self, ceiling: Ceiling) -> tuple[dict[str, Any], Ceiling]:
            if self.spec == "cuda:0":
                raise DeviceError("the device was not open after 90 s")
            if self.spec == "cuda:2":
                raise NoDeviceError("no more")
            return {"device": {"name": "G"}}, ceiling

    monkeypatch.setattr(machine, "Supervisor", Supervisor)
    monkeypatch.setattr(nvml, "bus_ids", lambda: ["a", "b"])
    found = list(machine.gpus())
    assert [(finding.subject, finding.level) for finding, _ in found] == [("cuda:0", "blocks"), ("cuda:1", "good")]
    assert "not open after 90 s" in found[0][0].message


def _real(folder: Path, **environment: str) -> tuple[int, dict[str, Any]]:
    """Run the command on this very machine; without NVML, it may lack a GPU."""
    done = subprocess.run(
        [sys.executable, "-m", "gpubench", "doctor", "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_a_machine_without_a_gpu_is_told_what_is_missing(tmp_path: Path) -> None:
    """With no GPU to be seen the command still looks at everything else, and ends with 2."""
    code, document = _real(tmp_path, CUDA_VISIBLE_DEVICES="", GPUBENCH_CACHE_DIR=str(tmp_path / "cache"))
    assert code == 2
    areas = {finding["area"] for finding in document["findings"]}
    assert areas >= {"driver", "opening", "headers", "nvrtc", "compiler", "results", "cache", "lock", "memory", "load"}
    assert any(finding["area"] == "opening" and finding["level"] == "blocks" for finding in document["findings"])


def _levels(findings: Iterator[Finding]) -> dict[str, Level]:
    return {finding.area: finding.level for finding in findings}


def test_places_that_cannot_be_written_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A results folder that refuses files blocks; a cache that does is a note; a full disk would stop a run."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GPUBENCH_CACHE_DIR", str(blocked))
    assert _levels(machine.places(blocked))["results"] == "blocks"
    assert _levels(machine.places(tmp_path)) == {"results": "good", "cache": "note", "lock": "good"}
    monkeypatch.setattr(machine, "DISK_BYTES", 2**62)
    assert _levels(machine.places(tmp_path))["results"] == "spoils"


def test_a_busy_or_small_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other work on the cores spoils numpy's times; too little memory means skipped cases."""
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    monkeypatch.setattr(machine, "free_host_bytes", lambda: 10**9)
    assert _levels(machine.host_state()) == {"memory": "note", "load": "spoils", **_levels(machine._governor())}
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(machine, "free_host_bytes", lambda: 10**11)
    assert _levels(machine.host_state()) == {"memory": "good", "load": "good", **_levels(machine._governor())}


def test_an_nvrtc_that_the_driver_cannot_serve_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA 13's compiler under a driver of CUDA 12 blocks, with the extra to install."""
    monkeypatch.setattr(nvml, "cuda_version", lambda: 12080)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    monkeypatch.setattr(machine, "compile_instance", lambda *_: type("Compiled", (), {"cached": True}))
    levels = [(finding.level, finding.message) for finding in machine._nvrtc("sm_90")]
    assert [level for level, _ in levels] == ["good", "blocks"]
    assert "install cupy-cuda12x" in levels[1][1].replace("'", "")
