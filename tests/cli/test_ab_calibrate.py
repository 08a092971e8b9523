"""`gpubench calibrate` and `ab` on the scripted device, through real worker processes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from gpubench.analysis.calibration import calibrated
from gpubench.cli import main
from gpubench.engine.run import Finished, Request
from gpubench.errors import UsageError
from gpubench.kernels.sources import package_root
from gpubench.results.read import read

SUITE = """
name: tiny
cases:
  - operator: cumsum
    shape: [[4, 16], [2, 32]]
    dim: -1
    dtype: float32
    contenders: ["gpubench:naive"]
"""


@pytest.fixture(autouse=True)
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Work in a folder with a suite and a fake device; return the device."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(SUITE)
    script = {"info": {"name": "Fake", "simulated": False}, "times": [{"us": 100.0, "spread": 0.001}]}
    Path("fake.json").write_text(json.dumps(script))
    return "fake:fake.json"


def test_calibrate_stores_floors_that_compare_uses(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs are measured apart, merged into one result with noise floors, and that result works as a baseline."""
    assert main(["calibrate", "tiny.yaml", "--runs", "3", "--device", device, "-o", "c.json", "-q"]) == 0
    merged = read("c.json")
    known = calibrated(merged)
    assert known is not None
    assert (known.runs, len(known.spread)) == (3, 2)
    assert all(len(record.timing.rounds) == 9 for record in merged.records if record.timing)
    assert merged.extra["noise_floor"]["gates"] == 6
    assert main(["run", "tiny.yaml", "--device", device, "-o", "new.json", "-q"]) == 0
    assert main(["compare", "c.json", "new.json"]) == 0
    assert "SLOWER" not in capsys.readouterr().out


def test_ab_alternates_and_pairs_two_checkouts(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both contenders run in one process with as many rounds each; the same code from another folder is SAME."""
    shutil.copytree(package_root(), "other/cuda_src")
    command = ["ab", "tiny.yaml", "--a", "gpubench:naive", "--b-source", "other", "--device", device, "--rounds", "6"]
    assert main([*command, "-o", "ab.json", "--junit", "ab.xml"]) == 0
    shown = capsys.readouterr().out
    assert "timed alternately" in shown
    assert shown.count("SAME") == 3
    measured = read("ab.json")
    assert {record.contender for record in measured.records} == {"gpubench:naive", "gpubench:naive@b"}
    assert all(record.case.timing.order == "alternating" for record in measured.records)
    assert all(record.timing and len(record.timing.rounds) == 6 for record in measured.records)
    launches = [record.kernel["launches"][0]["source"] for record in measured.records if record.kernel]
    assert sorted(set(launches)) == ["@b/cumsum/naive.cu", "cumsum/naive.cu"]


@pytest.mark.parametrize("command", [["ab", "--a", "gpubench:naive", "--b-source", "other"], ["calibrate"]])
@pytest.mark.parametrize("shares", [False, True])
def test_what_the_hint_names_exists(
    command: list[str], shares: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that may be refused because the device is in use have the option that the refusal names."""
    asked = []

    def execute(request: Request, *_: object) -> Finished:
        asked.append(request.share_device)
        raise UsageError("enough")

    monkeypatch.setattr("gpubench.engine.run.execute", execute)
    shutil.copytree(package_root(), "other/cuda_src")
    assert main([*command, "tiny.yaml", "--device", device, *(["--share-device"] if shares else [])]) == 2
    assert asked == [shares]


@pytest.mark.parametrize(
    "options",
    [
        ["--a", "gpubench:naive"],
        ["--a", "gpubench:naive", "--b", "gpubench:naive"],
        ["--a", "gpubench:naive", "--b", "numpy"],
        ["--a", "gpubench:naive", "--b", "torhc"],
        ["--a", "gpubench:navie", "--b", "gpubench:naive"],
        ["--a", "gpubench:naive", "--b-source", "missing"],
        ["--a", "gpubench:naive", "--b", "torch", "--b-source", "."],
    ],
)
def test_ab_refuses_what_makes_no_sense(options: list[str], device: str) -> None:
    """One contender, numpy on the host, misspelled names and a folder without kernels are bad usage, before any run."""
    assert main(["ab", "tiny.yaml", "--device", device, *options]) == 2


def test_a_calibration_of_something_broken_exits_4(device: str) -> None:
    """A wrong answer during calibration is not hidden in the noise."""
    script = json.loads(Path("fake.json").read_text())
    script["faults"] = [{"at": "run", "do": "wrong"}]
    Path("fake.json").write_text(json.dumps(script))
    assert main(["calibrate", "tiny.yaml", "--runs", "2", "--device", device, "-q"]) == 4
