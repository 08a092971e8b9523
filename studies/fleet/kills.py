"""A cluster on this machine whose processes are killed at random moments, and the account of what was left of it.

Scheduler, workers and the command are real; the devices are scripted. After the last kill every run is resumed to its
end. Then each record of the command's results must stand in exactly one worker's journal, once, with the same samples:
nothing lost, repeated or invented.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpubench.engine.fleet.remote import DEVICE, STATE
from gpubench.engine.journal import load
from gpubench.keeper import below
from gpubench.results.fleets import read_fleet
from gpubench.results.read import read

CASES = 24
SUITE = """
name: kills
defaults: {{contenders: ["gpubench:naive"], timing: {{rounds: 2, min_samples: 6, max_samples: 8, time_limit_s: 0.2}}}}
cases:
  - {{operator: cumsum, shape: [{shapes}], dim: 0}}
"""
VICTIMS = {"measuring": 24, "worker": 8, "nanny": 1, "command": 2, "scheduler": 1}
"""Who is killed, how often in proportion: what measures, dask's worker, its nanny, the command, the scheduler."""


@dataclass
class Account:
    """What happened: kills by victim, resumes, records by status, and what must stay empty."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    resumes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)

    def table(self) -> str:
        """Return the account as Markdown."""
        lines = ["| killed | times |", "|---|---:|", *(f"| {who} | {n} |" for who, n in sorted(self.kills.items()))]
        told = ", ".join(f"{n} {status}" for status, n in sorted(self.statuses.items()))
        wrong = f"{len(self.lost)} lost, {len(self.repeated)} repeated, {len(self.invented)} invented"
        lines += ["", f"{self.runs} runs, {self.resumes} resumed; records: {told}; {wrong}"]
        return "\n".join(lines)


class Bench:
    """A scheduler and some workers, with scripted devices or a GPU each. Use as a context manager."""

    def __init__(self, folder: Path, workers: int = 3, seconds_per_sample: float = 0.01, on_gpus: bool = False) -> None:
        self.folder = folder
        self._on_gpus = on_gpus
        self._port = _free_port()
        self._count = workers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        shapes = ", ".join(f"[{number}]" for number in range(20, 20 + CASES))
        (folder / "kills.yaml").write_text(SUITE.format(shapes=shapes))
        for number in range(workers):
            info = {"name": "Fake", "simulated": False, "properties": {"uuid": f"GPU-{number:08x}"}}
            script = {"seed": number, "info": info, "seconds_per_sample": seconds_per_sample}
            times = [{"us": 20.0, "spread": 0.01}]
            (folder / f"gpu{number}.json").write_text(json.dumps({**script, "times": times}))

    @property
    def address(self) -> str:
        """The scheduler's address."""
        return f"tcp://127.0.0.1:{self._port}"

    def __enter__(self) -> Bench:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            _end(process)

    def start(self) -> None:
        """Start what is not there."""
        if not self._is_alive("scheduler"):
            self._spawn("scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port))
            time.sleep(1.0)
        for number in range(self._count):
            if not self._is_alive(f"nanny{number}"):
                own = {"CUDA_VISIBLE_DEVICES": str(number)}
                if not self._on_gpus:
                    own[DEVICE] = f"fake:{self.folder}/gpu{number}.json"
                words = [self.address, "--nthreads", "1", "--name", f"gpu{number}", "--death-timeout", "20"]
                words += ["--local-directory", str(self.folder / f"scratch{number}")]
                self._spawn(f"nanny{number}", "dask_worker", *words, **own)

    def run(self, name: str, resume: bool) -> subprocess.Popen[bytes]:
        """Start `gpubench run` on the cluster."""
        words = ["run", "kills.yaml", "--cluster", self.address, "--parallel", "-q", "-o", name]
        words += ["--resume", name] if resume else []
        return self._popen(name, [sys.executable, "-m", "gpubench", *words])

    def wait(self) -> None:
        """Wait until all workers are there: a run measures those that it finds."""
        import distributed

        connect: Any = distributed.Client
        with (
            contextlib.suppress(OSError, TimeoutError),
            connect(self.address, timeout=30, set_as_default=False) as client,
        ):
            client.wait_for_workers(self._count, timeout=60)

    def victims(self, what: str) -> list[int]:
        """Return the processes of a kind that are alive."""
        roots = [
            process.pid
            for name, process in self._processes.items()
            if name.startswith("nanny") and process.poll() is None
        ]
        if what == "scheduler":
            return [self._processes[what].pid]
        if what == "nanny":
            return roots
        words = {"measuring": "gpubench.engine.worker", "worker": "multiprocessing.spawn"}[what]
        return [pid for root in roots for pid in below(root) if words in _line(pid) and "keeper.py" not in _line(pid)]

    def _environment(self, **more: str) -> dict[str, str]:
        root = str(Path(__file__).resolve().parents[2])
        return {**os.environ, "PYTHONPATH": root, STATE: str(self.folder / "state"), **more}

    def _spawn(self, name: str, module: str, *words: str, **own: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words, "--no-dashboard"]
        self._processes[name] = self._popen(name, command, **own)

    def _popen(self, name: str, command: list[str], **own: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=self._environment(**own), stdout=log, stderr=subprocess.STDOUT
            )

    def _is_alive(self, name: str) -> bool:
        return name in self._processes and self._processes[name].poll() is None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


def _line(pid: int) -> str:
    """Return a process's command line; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill_at_random(
    folder: Path,
    kills: int,
    seed: int,
    workers: int = 3,
    give_up_s: float = 3600.0,
    *,
    on_gpus: bool = False,
    victims: Mapping[str, int] = VICTIMS,
) -> Account:
    """Kill until `kills` were dealt or `give_up_s` seconds are over, finish every run, and return the account.

    victims: who is killed, and how often in proportion.
    """
    chance, account, until = random.Random(seed), Account(), time.monotonic() + give_up_s
    with Bench(folder, workers, on_gpus=on_gpus) as bench:
        while account.kills.total() < kills and time.monotonic() < until:
            account.runs += 1
            name = f"out{account.runs}"
            _one_run(bench, name, chance, account, kills, until, victims)
            _examine(bench.folder / name, bench.folder / "state", account)
    return account


def _one_run(
    bench: Bench,
    name: str,
    chance: random.Random,
    account: Account,
    kills: int,
    until: float,
    who: Mapping[str, int],
) -> None:
    """Run once, killing meanwhile, and resume until every member is measured."""
    names, weights = list(who), list(who.values())
    for attempt in range(40):
        bench.start()
        bench.wait()
        process = bench.run(name, resume=(bench.folder / name / "fleet.json").exists())
        account.resumes += attempt > 0
        spared = attempt > 30 or time.monotonic() > until
        while process.poll() is None:
            _wait_for_growth(bench.folder / name, process, chance)
            if spared or account.kills.total() >= kills or process.poll() is not None:
                time.sleep(0.1)
                continue
            what = chance.choices(names, weights)[0]
            victims = [process.pid] if what == "command" else bench.victims(what)
            if victims:
                os.kill(chance.choice(victims), signal.SIGKILL)
                account.kills[what] += 1
                if what in ("nanny", "scheduler"):
                    time.sleep(0.2)
                    bench.start()
        process.wait()
        if _is_whole(bench.folder / name):
            return
    account.lost.append(f"{name}: never came to its end")


def _wait_for_growth(folder: Path, process: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Wait until a record has come, so that kills meet work; one in eight meets whatever there is."""
    time.sleep(chance.uniform(0.05, 0.5))
    size = _size(folder)
    while process.poll() is None and _size(folder) == size and chance.random() < 0.997:
        time.sleep(0.05)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.json*"))


def _is_whole(folder: Path) -> bool:
    if not (folder / "fleet.json").exists():
        return False
    return all(member.status == "measured" for member in read_fleet(folder).members)


def _examine(folder: Path, state: Path, account: Account) -> None:
    """Hold each result against the journal of the worker that measured it."""
    if not _is_whole(folder):
        return
    fleet = read_fleet(folder)
    for member in fleet.members:
        result = read(folder / member.result)
        seen = Counter(record.case.id for record in result.records)
        account.repeated += [f"{folder.name} {member.key} {case}" for case, count in seen.items() if count > 1]
        if len(seen) != CASES or any(record.status == "skipped" for record in result.records):
            account.lost.append(f"{folder.name} {member.key}: {len(seen)} of {CASES} cases")
        journal = load(state / "fleet" / fleet.id / f"{Path(member.result).stem}.journal.jsonl")
        kept = {record.case.id: _samples(record) for record in journal.records}
        for record in result.records:
            account.statuses[record.status] += 1
            if kept.get(record.case.id) != _samples(record):
                account.invented.append(f"{folder.name} {member.key} {record.case.id}")


def _samples(record: Any) -> list[list[float]] | None:
    return None if record.timing is None else [[sample.us for sample in samples] for samples in record.timing.rounds]


def lines(account: Account) -> Iterator[str]:
    """Yield what went wrong, if anything did."""
    for name in ("lost", "repeated", "invented"):
        for entry in getattr(account, name):
            yield f"{name}: {entry}"
