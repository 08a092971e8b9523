"""Kills at random moments. GPUBENCH_KILLS sets how many: 200 of them take minutes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gpubench.engine.process import WorkerProcess
from gpubench.engine.supervisor import Outcome, RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import DeviceError
from gpubench.model import Record
from gpubench.results.read import read
from tests.engine.bed import NAIVE, case, own_sources, script

KILLS = int(os.environ.get("GPUBENCH_KILLS", "20"))


def test_kills_of_the_worker_lose_nothing(tmp_path: Path) -> None:
    """Workers killed at random moments: each record comes once, right or `crashed`, and no more faults than kills."""
    chance = random.Random(1)
    cases = [case("cumsum", {"shape": [n, 3], "dim": 0}, contenders=(NAIVE, "numpy")) for n in range(1, 5 * KILLS)]
    living: list[WorkerProcess] = []
    killed: list[int] = []
    over = threading.Event()
    stored: list[Record] = []

    def spawn() -> WorkerProcess:
        living.append(WorkerProcess())
        return living[-1]

    def killer() -> None:
        while len(killed) < KILLS and not over.wait(chance.uniform(0.0, 0.4)):
            there = len(stored)
            while chance.random() < 0.995 and len(stored) == there and not over.wait(0.005):
                pass  # mostly at work, at times while it starts
            if living and living[-1].pid not in killed:
                killed.append(living[-1].pid)
                living[-1].kill_now()

    options = RunOptions(WorkerOptions(script(tmp_path, seconds_per_sample=0.002)), stop_after=0)
    thread = threading.Thread(target=killer)
    thread.start()
    outcome: Outcome | None = None
    while outcome is None or outcome.stopped is not None:  # a row of workers killed while starting ends a run: go on
        with contextlib.suppress(DeviceError), Supervisor(options, spawn=spawn) as supervisor:
            supervisor.open()
            outcome = supervisor.run(cases, stored.append, tuple(stored))
    over.set()
    thread.join()
    assert "crashed" in {record.status for record in stored}, "no worker was killed at work"
    found = Counter((record.case.id, record.contender) for record in stored)
    assert found == Counter((case.id, name) for case in cases for name in case.contenders)
    assert {record.status for record in stored} <= {"ok", "crashed"}
    crashed = [record for record in stored if record.status == "crashed"]
    assert all("SIGKILL" in str(record.message) for record in crashed)
    assert len({record.case.id for record in crashed}) <= len(killed)
    assert all(
        record.check is not None and record.check.ok
        for record in stored
        if record.contender == NAIVE and record.status == "ok"
    )
    print(f"{len(killed)} workers killed, {len(stored)} records, {len(crashed)} crashed, 0 lost, 0 repeated")
    assert len(killed) >= KILLS // 2


def _lines(journal: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a journal after the header."""
    lines = journal.read_bytes().splitlines(keepends=True)[1:]
    return [json.loads(line.rpartition(b"\t")[0]) for line in lines if line.endswith(b"\n")]


def _measured(record: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured: what follows from all records of a run is worked out at its end."""
    return {key: value for key, value in record.items() if key not in ("status", "message", "summary")}


def _wait_for_growth(journal: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the journal has more in it than now, or the process has ended."""
    size = journal.stat().st_size if journal.exists() else 0
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > size):
        time.sleep(0.005)


def test_kills_of_the_supervisor_lose_nothing(tmp_path: Path) -> None:
    """A run killed by kill -9 and resumed, again and again, ends with every record once, none measured twice."""
    chance = random.Random(2)
    wanted = max(KILLS // 3, 3)
    cases = 8 * wanted
    device = script(tmp_path, seconds_per_sample=0.008)
    suite = tmp_path / "s.yaml"
    suite.write_text(
        "name: killed\ndefaults: {contenders: ['gpubench:naive', numpy], timing: {min_samples: 6, max_samples: 9}}\n"
        f"cases: [{{operator: sum, shape: ['{{n}}'], dim: [0], n: {{range: [1, {cases}, 1]}}}}]\n"
    )
    result, journal = tmp_path / "r.json", tmp_path / "r.journal.jsonl"
    command = [sys.executable, "-m", "gpubench", "run", str(suite), "--device", device, "-q", "-o", str(result)]
    environment = own_sources(tmp_path)
    before: list[dict[str, Any]] = []
    kills = resumed = 0
    for _ in range(10 * KILLS):
        resumed = len(before)
        resume = ["--resume", str(journal)] if journal.exists() else []
        process = subprocess.Popen([*command, *resume], stderr=subprocess.PIPE, text=True, env=environment)
        if kills < wanted and chance.random() < 0.8:  # mostly at work, at times while it starts, however slow that is
            _wait_for_growth(journal, process)
        try:
            process.wait(chance.uniform(0.0, 0.8) if kills < wanted else 120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        _, error = process.communicate()
        assert "Traceback" not in error
        assert process.returncode in (0, -signal.SIGKILL), error
        if process.returncode == 0:
            break
        if journal.exists():
            now = _lines(journal)
            assert now[: len(before)] == before
            before = now
        if result.exists():  # killed behind the last step but one: the result is whole, the journal may still be there
            journal.unlink(missing_ok=True)
            break
    records = json.loads(result.read_text())["records"]
    assert kills >= wanted // 2
    assert before
    assert len(records) == 2 * cases
    assert len({(record["case"]["id"], record["contender"]) for record in records}) == 2 * cases
    kept = [_measured(record) for record in records]
    assert all(_measured(record) in kept for record in before)
    assert {record["status"] for record in records} <= {"ok", "noisy"}
    assert read(result).extra.get("resumed_records", 0) == resumed
    assert not journal.exists()
    print(f"{kills} runs killed, {len(records)} records, 0 lost, 0 repeated, {resumed} kept over the last kill")
