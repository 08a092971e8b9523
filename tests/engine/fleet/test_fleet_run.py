from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpubench.engine.events import ContenderStarted, RecordFinished
from gpubench.engine.fleet.members import devices, local_members
from gpubench.errors import ExitCode, UsageError
from gpubench.fleet import Fleet
from gpubench.results.fleets import read_fleet
from gpubench.results.paths import journal_path
from gpubench.results.read import read
from tests.engine.bed import NAIVE, case, own_sources
from tests.engine.fleet.bed import fleet_run, gpu, new_fleet

CASES = [case("cumsum", {"shape": [n, 3], "dim": 0}) for n in (5, 6, 7)]


def test_each_gpu_gets_an_ordinary_result_with_the_same_work_in_the_same_order(tmp_path: Path) -> None:
    """Cases, seeds, options and answers are the same on all members; a manifest ties them, with place and start."""
    run = fleet_run(CASES, new_fleet([gpu(tmp_path, n) for n in range(2)], soak_s=0.05), tmp_path / "out")
    assert run.members() == ExitCode.FINE
    fleet = read_fleet(tmp_path / "out")
    results = [read(tmp_path / "out" / member.result) for member in fleet.members]
    assert [[record.case for record in result.records] for result in results] == [CASES, CASES]
    digests = [[record.check.answer_sha256 for record in result.records if record.check] for result in results]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 3
    assert None not in digests[0]
    for place, (member, result) in enumerate(zip(fleet.members, results, strict=True)):
        assert (member.status, member.position, member.uuid) == ("measured", place, f"GPU-{place:08x}")
        assert result.extra["fleet"]["member"] == member.key
        assert result.extra["fleet"]["at_once"] is False
        assert result.extra["soak"]["seconds"] >= 0.05
        assert result.extra["soak"]["before"]["temperature_c"] == 45
    first, second = (member.started_s for member in fleet.members)
    assert first is not None
    assert second is not None
    assert 0 < first < second


@pytest.mark.parametrize("at_once", [False, True])
def test_gpus_work_in_turn_unless_they_are_asked_to_work_at_once(tmp_path: Path, at_once: bool) -> None:
    """In turn, all events of one member come before those of the next; at once, they mix."""
    seen: list[str] = []

    def note(key: str, event: object) -> None:
        if isinstance(event, ContenderStarted | RecordFinished):
            seen.append(key)

    specs = [gpu(tmp_path, n, seconds_per_sample=0.02 * at_once) for n in range(2)]
    cases = CASES if at_once else CASES[:1]
    run = fleet_run(cases, new_fleet(specs, at_once=at_once), tmp_path / "out", note)
    assert run.members() == ExitCode.FINE
    assert (len(list(itertools.groupby(seen))) > 2) is at_once


def test_a_gpu_that_cannot_be_opened_or_dies_leaves_the_others_alone(tmp_path: Path) -> None:
    """A missing device is `missing` with its reason, a crash is that member's record, and the rest is measured."""
    crash = [{"at": "run", "kernel": "*", "do": "exit", "after": 8, "times": 1, "once_file": "died"}]
    specs = [f"fake:{tmp_path}/none.json", gpu(tmp_path, 1, faults=crash), gpu(tmp_path, 2)]
    run = fleet_run(CASES, new_fleet(specs), tmp_path / "out")
    assert run.members() == ExitCode.FAILED_CASE
    fleet = read_fleet(tmp_path / "out")
    assert [member.status for member in fleet.members] == ["missing", "measured", "measured"]
    assert "none.json cannot be read" in str(fleet.members[0].message)
    statuses = [Counter(r.status for r in read(tmp_path / "out" / m.result).records) for m in fleet.members[1:]]
    assert statuses[0]["crashed"] == 1
    assert sum(statuses[0].values()) == 3
    assert statuses[1]["crashed"] == 0


def _command(folder: Path, specs: list[str], *more: str) -> subprocess.Popen[str]:
    words = ["run", "suite.yaml", "--devices", ",".join(specs), "-q", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "gpubench", *words], cwd=folder, text=True, stderr=subprocess.PIPE,
        stdout=subprocess.PIPE, env=own_sources(folder),
    )  # fmt: skip


def _journals(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the complete records of each member's journal."""
    found = {}
    for path in folder.glob("*.journal.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)[1:]
        found[path.name] = [json.loads(line.rpartition(b"\t")[0]) for line in lines if line.endswith(b"\n")]
    return found


def test_a_fleet_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """After `kill -9` of the command and a resume every record is there once, and none was measured again."""
    shapes = ", ".join(f"[{n}, 3]" for n in range(2, 14))
    timing = "{min_samples: 4, max_samples: 6, rounds: 2}"
    (tmp_path / "suite.yaml").write_text(
        f'name: s\ndefaults: {{contenders: ["{NAIVE}"], timing: {timing}}}\n'
        f"cases:\n  - {{operator: cumsum, shape: [{shapes}], dim: 0}}\n"
    )
    specs = [gpu(tmp_path, n, seconds_per_sample=0.01) for n in range(2)]
    killed = _command(tmp_path, specs, "--parallel", "-o", "out")
    until = time.monotonic() + 60
    while sum(map(len, _journals(tmp_path / "out").values())) < 8 and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=30)
    before = {name: records for name, records in _journals(tmp_path / "out").items() if records}
    assert before
    assert any(member.status == "waiting" for member in read_fleet(tmp_path / "out").members)
    again = _command(tmp_path, specs, "--parallel", "-o", "out", "--resume", "out")
    _, error = again.communicate(timeout=60)
    assert again.returncode == 0, error
    fleet = read_fleet(tmp_path / "out")
    assert [member.status for member in fleet.members] == ["measured", "measured"]
    for member in fleet.members:
        path = tmp_path / "out" / member.result
        result = read(path)
        assert len({record.case.id for record in result.records}) == len(result.records) == 12
        kept = {
            record.case.id: [[s.us for s in samples] for samples in record.timing.rounds]
            for record in result.records
            if record.timing is not None
        }
        for record in before.get(journal_path(path).name, []):
            assert kept[record["case"]["id"]] == record["rounds_us"]


def test_a_list_of_devices_is_read_as_written(tmp_path: Path) -> None:
    """Numbers, ranges and specs are told apart; nonsense and repetition are refused with the way to write it."""
    assert devices("0,2,5-7") == ("cuda:0", "cuda:2", "cuda:5", "cuda:6", "cuda:7")
    assert devices(f"fake:{tmp_path}/a.json, host") == (f"fake:{tmp_path}/a.json", "host")
    for text, word in (
        ("0,0", "twice"),
        ("gpu1", "no device"),
        ("7-3", "no range"),
        ("", "no device"),
        ("0-99999", "no device"),
    ):
        with pytest.raises(UsageError, match=word):
            devices(text)
    members = local_members(("cuda:3", "cuda:1"))
    assert [member.position for member in members] == [3, 1]
    assert len({member.result for member in members}) == 2


def test_a_fleet_goes_on_only_as_it_began() -> None:
    """A resume with another suite, seed or way of working is refused before anything is measured."""
    from gpubench.cli.fleet_run import Asked, _require_same
    from gpubench.engine.run import Request

    fleet = new_fleet(["host"])
    asked = Asked("host", None, False, True)
    _require_same(fleet, asked, Request([], fleet.suite, ()), 0.0)
    for changed, request in (
        (replace(asked, at_once=True), Request([], fleet.suite, ())),
        (asked, Request([], fleet.suite, (), seed=3)),
        (asked, Request([], {"sha256": "1" * 64}, ())),
    ):
        with pytest.raises(UsageError, match="changed since"):
            _require_same(fleet, changed, request, 0.0)


def test_members_stay_apart_whatever_hosts_are_called() -> None:
    """Two hosts whose names come to the same file name still have two files."""
    from gpubench.engine.fleet.members import new_member

    one = new_member("Node 1", "cuda:0", 0, [])
    other = new_member("node-1", "cuda:0", 0, [one.key])
    assert one.result != other.result
    assert isinstance(new_fleet(["host"]), Fleet)
