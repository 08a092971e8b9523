from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.engine.lock import device_lock
from gpubench.errors import UsageError
from gpubench.results.read import read
from tests.engine.bed import own_sources, script
from tests.engine.commands import SUITE, finish, start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite in it."""
    (tmp_path / "little.yaml").write_text(SUITE)
    return tmp_path


def test_a_run_writes_a_result_and_a_table(folder: Path) -> None:
    """The result lies under runs/<device>/, holds every record, and is what the table shows; no journal is left."""
    code, output, error = finish(start(folder, "--device", script(folder)))
    assert code == 0, error
    (path,) = (folder / "runs" / "fake").iterdir()
    assert path.name.startswith("little-")
    result = read(path)
    assert [record.status for record in result.records] == ["ok"] * 8
    assert result.suite["name"] == "little"
    assert result.ceiling.copy_GBps == 1000.0
    assert set(result.extra["timings"]) >= {"start", "inputs", "numpy", "time", "check"}
    assert "cumsum/6/dim=0/float32" in output
    assert f"Result: {path.relative_to(folder)}" in error


def test_a_result_says_what_measured_and_how_the_machine_was_before_and_after(folder: Path) -> None:
    """The sweep is timed again after the last case; protocol, measuring code and libraries timed are told."""
    point = {"bytes": 65536, "copy_us": 4.0, "read_us": 3.0, "write_us": 3.5}
    device = script(folder, ceiling={"launch_us": 2.0, "event_overhead_us": 1.0, "sweep": [point]})
    code, _, error = finish(start(folder, "--device", device, "-q", "-o", "r.json"))
    assert code == 0, error
    result = read(folder / "r.json")
    assert [sweep.phase for sweep in result.ceiling.rounds] == ["start", "end"]
    assert {sweep.sweep[0].read_us for sweep in result.ceiling.rounds} == {3.0}
    assert result.harness.protocol >= 1
    assert re.fullmatch(r"[0-9a-f]{64}", result.harness.code_sha256 or "")
    assert result.environment["libraries"] == {"numpy": {"numpy": metadata.version("numpy")}}


def test_a_run_whose_end_cannot_be_measured_keeps_its_records(folder: Path) -> None:
    """A device that fails after the last case costs the rounds of the end, and a note says so; nothing else."""
    point = {"bytes": 65536, "copy_us": 4.0, "read_us": 3.0, "write_us": 3.5}
    fault = {"at": "ceiling", "after": 1, "error": "DeviceError", "message": "the cable was pulled"}
    device = script(folder, ceiling={"sweep": [point]}, faults=[fault])
    code, _, error = finish(start(folder, "--device", device, "-o", "r.json"))
    assert code == 0, error
    assert "not measured again at the end of the run" in error
    assert "the cable was pulled" in error
    result = read(folder / "r.json")
    assert [sweep.phase for sweep in result.ceiling.rounds] == ["start"]
    assert [record.status for record in result.records] == ["ok"] * 8


def test_json_and_quiet(folder: Path) -> None:
    """`--json -` prints the document alone; `--quiet` prints nothing."""
    device = script(folder)
    code, output, _ = finish(start(folder, "--device", device, "--json", "-", "-o", "r.json"))
    assert code == 0
    assert json.loads(output) == json.loads((folder / "r.json").read_text())
    assert finish(start(folder, "--device", device, "-q", "-o", "q.json")) == (0, "", "")


def test_filters_and_overrides_reach_the_records(folder: Path) -> None:
    """-k, --contender and the timing options do what they say."""
    arguments = ("-k", "cumsum and int32", "--contender", "numpy,gpubench:*", "--rounds", "3", "--min-samples", "12")
    more = ("--max-noise", "2%", "--time-limit", "1.5", "--timeout", "9", "--method", "hot", "--seed", "5")
    code, _, error = finish(start(folder, "--device", script(folder), "-q", "-o", "r.json", *arguments, *more))
    assert code == 0, error
    records = read(folder / "r.json").records
    assert {record.case.id for record in records} == {"cumsum/6/dim=0/int32"}
    timing = records[0].case.timing
    assert (timing.rounds, timing.min_samples, timing.max_samples) == (3, 12, 12)
    assert (timing.max_noise, timing.time_limit_s, timing.timeout_s, timing.method) == (0.02, 1.5, 9.0, "hot")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-k", "nothing"), "matches none"),
        (("--max-noise", "200%"), "no share between"),
        (("--memory-limit", "much"), "no size such as 8G"),
        (("--peer", "matlab"), "there is no peer 'matlab'"),
        (("--device", "fpga:0"), "There is no device 'fpga:0'"),
        (("--device", "fake:missing.json"), "cannot be read"),
        (("--resume", "missing.json"), "cannot be read"),
        (("-o", "/proc/nowhere/r.json"), "cannot be written"),
    ],
)
def test_bad_usage_is_exit_2(
    arguments: tuple[str, ...],
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the user has to change ends with 2 and a sentence that says what."""
    monkeypatch.chdir(folder)
    device = () if "--device" in arguments else ("--device", script(folder))
    assert main(["run", "little.yaml", *device, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "code", "status"),
    [
        ({"at": "run", "do": "wrong"}, 4, "wrong"),
        ({"at": "run", "do": "signal", "signal": 11}, 5, "crashed"),
        ({"at": "bind", "error": "OutOfMemoryError"}, 5, "out_of_memory"),
        ({"at": "compile", "error": "CompileError"}, 5, "compile_error"),
        ({"at": "bind", "error": "UnsupportedError"}, 0, "unsupported"),
    ],
)
def test_the_exit_code_tells_the_worst(fault: dict[str, Any], code: int, status: str, folder: Path) -> None:
    """Wrong answers give 4, failures 5, what a kernel does not take 0."""
    device = script(folder, faults=[{"kernel": "gpubench::cumsum::*", **fault}])
    got, _, error = finish(start(folder, "--device", device, "-q", "-o", "r.json"))
    assert got == code, error
    assert status in {record.status for record in read(folder / "r.json").records}


def test_a_run_that_measured_nothing_is_no_success(folder: Path) -> None:
    """When every contender is refused there is nothing to compare: exit 3, and the reason most records have."""
    device = script(folder, faults=[{"kernel": "gpubench::*", "at": "bind", "error": "UnsupportedError"}])
    code, _, error = finish(start(folder, "--device", device, "-o", "r.json", "--contender", "gpubench:naive"))
    assert code == 3
    assert {record.status for record in read(folder / "r.json").records} == {"unsupported"}
    assert "Nothing was measured. Of 4 records 4 say: " in error


def test_a_wrong_answer_outranks_a_crash(folder: Path) -> None:
    """With both, the exit code is that of the wrong answer."""
    faults = [
        {"at": "run", "kernel": "gpubench::cumsum::*", "do": "signal"},
        {"at": "run", "kernel": "gpubench::sum::*", "do": "wrong"},
    ]
    assert finish(start(folder, "--device", script(folder, faults=faults), "-q"))[0] == 4


def test_a_closed_standard_error_stops_nothing(folder: Path) -> None:
    """A run whose terminal is gone measures on, and its result is complete."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpubench", "run", "little.yaml", "--device", script(folder), "-o", "r.json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=writer,
        env={name: value for name, value in own_sources(folder).items() if name != "PYTHONUNBUFFERED"},
    )
    os.close(writer)
    os.close(reader)
    assert process.wait(60) == 0
    assert len(read(folder / "r.json").records) == 8


def test_two_runs_do_not_share_a_device() -> None:
    """A second run on a device that is in use is refused, until the first has ended."""
    with (
        device_lock("GPU-test-of-two-runs") as missing,
        pytest.raises(UsageError, match="--share-device"),
        device_lock("GPU-test-of-two-runs"),
    ):
        pytest.fail("both have it")
    assert missing is None
    with device_lock("GPU-test-of-two-runs") as missing:
        assert missing is None


def test_a_run_without_a_gpu_says_so_at_once(folder: Path) -> None:
    """`--device auto` that falls back to the host tells so in one line, first of all, even when quiet."""
    without = own_sources(folder) | {"CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.run(
        [sys.executable, "-m", "gpubench", "run", "little.yaml", "-k", "sum and 4x5", "--quiet"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env=without,
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr.splitlines()[0].startswith("NO GPU FOUND")
