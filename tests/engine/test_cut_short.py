"""Runs that a signal, a kill or a full disk cuts short: what is there is kept, and --resume goes on from it."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpubench.results.read import read
from tests.engine.bed import own_sources, script
from tests.engine.commands import SUITE, finish, start

SLOW = {"seconds_per_sample": 0.05}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite in it."""
    (tmp_path / "little.yaml").write_text(SUITE)
    return tmp_path


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
