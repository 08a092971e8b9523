from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.engine.lock import device_lock
from gpubench.errors import UsageError
from gpubench.results.read import read
from tests.engine.bed import own_sources, script

SUITE = """
name: little
defaults: {contenders: ["gpubench:naive", numpy], timing: {min_samples: 6, max_samples: 9, rounds: 2}}
cases:
  - {operator: sum, shape: [[4, 5], [7]], dim: [0]}
  - {operator: cumsum, shape: [6], dim: 0, dtype: [float32, int32]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite in it."""
    (tmp_path / "little.yaml").write_text(SUITE)
    return tmp_path


def start(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start `gpubench run little.yaml` there."""
    return subprocess.Popen(
        [sys.executable, "-m", "gpubench", "run", "little.yaml", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=own_sources(folder),
        **options,
    )


def finish(process: subprocess.Popen[str], seconds: float = 60) -> tuple[int, str, str]:
    """Wait for a command; no command ever shows a traceback."""
    output, error = process.communicate(timeout=seconds)
    assert "Traceback" not in output + error
    return process.returncode, output, error


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


SLOW = {"seconds_per_sample": 0.05}


def _wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.02)
    pytest.fail("the run did not get that far")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_keeps_what_is_there(number: int, folder: Path) -> None:
    """One signal: journal complete, result written with the rest `skipped`, exit 130; --resume goes on."""
    device = script(folder, **SLOW)
    process = start(folder, "--device", device, "-q", "-o", "r.json")
    journal = folder / "r.journal.jsonl"
    _wait_for(journal, 3)
    process.send_signal(number)
    code, _, error = finish(process, 30)
    assert code == 130
    assert "--resume" in error
    result = read(folder / "r.json")
    done = [record for record in result.records if record.status != "skipped"]
    assert 2 <= len(done) < 8
    assert len(result.records) == 8
    assert result.extra["stopped"] == "interrupted"
    assert journal.read_bytes().count(b"\n") == 1 + len(done)
    code, _, error = finish(start(folder, "--device", device, "-q", "-o", "r.json", "--resume", "r.json"))
    assert code == 0, error
    again = read(folder / "r.json")
    assert [record.status for record in again.records] == ["ok"] * 8
    kept = {(record.case.id, record.contender): record.timing for record in again.records}
    assert all(kept[record.case.id, record.contender] == record.timing for record in done)
    assert not journal.exists()
    code, _, error = finish(start(folder, "--device", device, "--resume", "r.json"))
    assert code == 2
    assert "this run is complete" in error


def test_the_second_signal_ends_at_once(folder: Path) -> None:
    """Two signals end a run whose worker hangs, at once, with 130; the journal stays."""
    device = script(folder, faults=[{"at": "sample", "kernel": "gpubench::cumsum::*", "do": "hang"}])
    process = start(folder, "--device", device, "-q", "-o", "r.json")
    _wait_for(folder / "r.journal.jsonl", 5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    assert finish(process, 30)[0] == 130
    assert time.monotonic() - began < 20
    assert (folder / "r.journal.jsonl").exists()


def test_a_changed_suite_is_not_resumed(folder: Path) -> None:
    """--resume refuses a suite or an option that is not that of the unfinished run, and touches nothing."""
    device = script(folder, **SLOW)
    process = start(folder, "--device", device, "-q", "-o", "r.json")
    journal = folder / "r.journal.jsonl"
    _wait_for(journal, 2)
    process.send_signal(signal.SIGINT)
    finish(process)
    before = journal.read_bytes()
    code, _, error = finish(start(folder, "--device", device, "--resume", "r.json", "--rounds", "5"))
    assert code == 2
    assert "an option of the measurement has changed" in error
    (folder / "little.yaml").write_text(SUITE + "# another word\n")
    code, _, error = finish(start(folder, "--device", device, "--resume", "r.json"))
    assert code == 2
    assert "the suite has changed" in error
    assert journal.read_bytes() == before


def test_a_complete_run_is_not_resumed(folder: Path) -> None:
    """By its result or by the journal that it had: a run that is complete is said to be, and nothing is measured."""
    device = ("--device", script(folder), "-q", "-o", "r.json")
    assert finish(start(folder, *device))[0] == 0
    for name in ("r.json", "r.journal.jsonl"):
        code, _, error = finish(start(folder, *device, "--resume", name))
        assert code == 2
        assert "r.json: this run is complete; there is nothing to resume." in error


def test_a_full_disk_loses_nothing(folder: Path) -> None:
    """When files can grow no more: exit 2 with a sentence, the earlier result intact, and --resume finishes the run."""
    (folder / "r.json").write_text("earlier")
    device = script(folder)
    process = start(
        folder,
        *("--device", device, "-q", "-o", "r.json"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)),
    )
    code, _, error = finish(process)
    assert code == 2
    assert "File too large" in error
    assert "--resume" in error
    assert (folder / "r.json").read_text() == "earlier"
    kept = (folder / "r.journal.jsonl").read_bytes()
    assert kept.endswith(b"\n")
    assert kept.count(b"\n") >= 2
    code, _, error = finish(start(folder, "--device", device, "-q", "--resume", "r.json"))
    assert code == 0, error
    result = read(folder / "r.json")
    assert [record.status for record in result.records] == ["ok"] * 8
    assert result.extra["resumed_records"] == kept.count(b"\n") - 1


def test_a_closed_standard_error_stops_nothing(folder: Path) -> None:
    """A run whose terminal is gone measures on, and its result is complete."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "gpubench", "run", "little.yaml", "--device", script(folder), "-o", "r.json"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=writer,
        env=own_sources(folder),
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


def killed_before_its_result(folder: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the journal of a run that ended after its last record and before its result was written."""
    code = (
        "import os, sys\n"
        "import gpubench.engine.run as run\n"
        "run.write = lambda *_: os._exit(9)\n"
        "from gpubench.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    del monkeypatch
    command = [sys.executable, "-c", code, "run", "little.yaml", "--device", device, "-q", "-o", "r.json"]
    assert subprocess.run(command, cwd=folder, env=own_sources(folder), timeout=60).returncode == 9
    assert not (folder / "r.json").exists()
    return folder / "r.journal.jsonl"


def test_a_run_whose_records_are_all_there_can_be_finished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill after the last record and before the result costs nothing: --resume writes the result."""
    device = script(folder)
    journal = killed_before_its_result(folder, device, monkeypatch)
    before = len(journal.read_bytes().splitlines())
    code, _, error = finish(start(folder, "--device", device, "-o", "r.json", "--resume", str(journal)))
    assert code == 0, error
    result = read(folder / "r.json")
    assert [record.status for record in result.records] == ["ok"] * 8
    assert result.extra["resumed_records"] == before - 1 == 8
    assert not journal.exists()


def test_a_disk_that_fills_at_the_end_costs_nothing(folder: Path) -> None:
    """A result that cannot be written leaves the journal with all records, and --resume finishes elsewhere."""
    device = script(folder)
    process = start(folder, "--device", device, "-q", "-o", "sub/r.json", "--resume", "none.json")
    assert finish(process)[0] == 2
    limits = (resource.RLIMIT_FSIZE, (9000, 9000))  # a journal grows by lines and the result comes at once
    process = start(folder, "--device", device, "-q", "-o", "r.json", preexec_fn=lambda: resource.setrlimit(*limits))
    code, _, error = finish(process)
    journal = folder / "r.journal.jsonl"
    assert code == 2
    assert "--resume" in error
    assert journal.exists()
    code, _, error = finish(start(folder, "--device", device, "-q", "-o", "again.json", "--resume", str(journal)))
    assert code == 0, error
    assert [record.status for record in read(folder / "again.json").records] == ["ok"] * 8
