"""What a cluster's worker does: measures one GPU by a supervisor of its own, and keeps a journal of its own.

`measure` is the task. It returns nothing: a record is in the journal here, then on its way to the command, and never in
a future. An attempt runs once, however often the scheduler starts it; the next attempt sends what the command lacks
from the journal, and measures only what has no record anywhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gpubench
from gpubench.engine.events import ContenderStarted, Event, Note
from gpubench.engine.fleet.order import Brought, Order, pack, read_order
from gpubench.engine.identity import device_key, kernels_sha256, measuring_sha256
from gpubench.engine.journal import Journal, Loaded, load, refuse_changes
from gpubench.engine.lock import device_lock
from gpubench.engine.supervisor import RunOptions, Supervisor
from gpubench.engine.workers import WorkerOptions
from gpubench.errors import GpubenchError
from gpubench.findings import Work
from gpubench.model import Ceiling, Json, Record
from gpubench.own.folder import Files
from gpubench.own.registry import Staged, staged_from_json
from gpubench.results.format import ceiling_to_json
from gpubench.results.paths import slug
from gpubench.results.records import ceiling_from_json
from gpubench.results.strict import Node

DEVICE = "GPUBENCH_FLEET_DEVICE"
"""Environment variable of a worker: the device that it measures, `cuda:0` without it."""
STATE = "GPUBENCH_STATE_DIR"
"""Environment variable: the folder of the workers' journals, in place of the user's own for such things."""
KEPT_S = 14 * 86400.0
"""For so long a run can be resumed from what its workers kept."""
ALIVE_S = 2.0
"""How often a worker says that it is at work, and looks whether its work is still wanted."""


def describe() -> dict[str, Json]:
    """Return what the command must know of this worker before it gives it work."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0]
    return {
        "host": socket.gethostname(),
        "device": os.environ.get(DEVICE, "cuda:0"),
        "visible": visible,
        "gpubench": gpubench.__version__,
        "kernels_sha256": kernels_sha256(),
        "code_sha256": measuring_sha256(),
    }


def measure(text: str) -> None:
    """Carry an order out. Everything that is to be known is reported; nothing is returned or raised."""
    from distributed import get_worker

    order = read_order(text)
    worker = get_worker()

    def report(kind: str, **more: Json) -> None:
        worker.log_event(order.topic, {"attempt": order.attempt, "kind": kind, **more})

    def wanted() -> bool:
        task = worker.state.tasks.get(order.key)
        return worker.status.name == "running" and task is not None and task.state in ("executing", "long-running")

    carry_out(order, report, wanted)


def carry_out(order: Order, report: Callable[..., None], wanted: Callable[[], bool]) -> None:
    """Measure what an order asks for; `report` takes a kind and its content, `wanted` tells whether to go on."""
    place = _folder() / slug(order.run)
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _prune(place.parent)
        (place / f"{slug(order.member)}-{slug(order.attempt)}.attempt").touch(exist_ok=False)
    except FileExistsError:
        return  # the scheduler started a task again that had run
    except OSError as error:
        report("refused", message=f"{place}: cannot be written: {error.strerror or error}")
        return
    try:
        _Work(order, report, place / f"{slug(order.member)}.journal.jsonl").run(wanted)
    except GpubenchError as error:
        report("refused", message=str(error))
    except KeyboardInterrupt:
        report("end", stopped="interrupted", interrupted=True)


def _prune(folder: Path) -> None:
    """Remove the journals of runs that nobody has touched for KEPT_S."""
    for place in folder.iterdir():
        with contextlib.suppress(OSError):
            if place.is_dir() and time.time() - place.stat().st_mtime > KEPT_S:
                shutil.rmtree(place)


def _folder() -> Path:
    import platformdirs

    named = os.environ.get(STATE)
    return Path(named or platformdirs.user_state_dir("gpubench", appauthor=False)) / "fleet"


class _Work:
    """One attempt at work."""

    def __init__(self, order: Order, report: Callable[..., None], path: Path) -> None:
        self._order = order
        self._report = report
        self._path = path
        self._losses = _Losses(path.with_suffix(".begun"))
        self._stack = contextlib.ExitStack()
        self._stored = 0

    def run(self, wanted: Callable[[], bool]) -> None:
        order = self._order
        loaded = load(self._path) if self._path.exists() else None
        staged = tuple(self._staged(suite) for suite in order.brought)
        worker = WorkerOptions(
            os.environ.get(DEVICE, "cuda:0"),
            memory_limit=order.memory_limit,
            soak_s=order.soak_s,
            digests=True,
            staged=staged,
        )
        options = RunOptions(worker, order.seed, order.retries, order.stop_after)
        with self._stack, Supervisor(options, self._handle) as supervisor, _watched(supervisor, wanted, self._report):
            environment, ceiling = supervisor.open(_ceiling(loaded), self._claim)
            journal = self._journal(loaded, environment, ceiling)
            self._report("ready", environment=environment, ceiling=ceiling_to_json(ceiling))
            done = {(record.case.id, record.contender): record for record in (loaded.records if loaded else ())}
            for work, record in done.items():
                if work not in order.known:
                    self._send(record)
            cases = {case.id: case for case in order.cases}
            for case, contender in order.known:
                if (case, contender) not in done and case in cases:
                    done[case, contender] = Record(cases[case], contender, "skipped", "the command has it", None)

            def store(record: Record) -> None:
                journal.append(record)
                self._send(record)

            for record in self._losses.crashed(order, done):
                store(record)
                done[record.case.id, record.contender] = record
            outcome = supervisor.run(order.cases, store, done.values())
            self._losses.forget()
            self._report(
                "end",
                stopped=outcome.stopped,
                interrupted=outcome.interrupted,
                error=None if outcome.error is None else str(outcome.error),
                workers=outcome.workers,
                seconds=outcome.seconds,
                ceiling=ceiling_to_json(outcome.ceiling),
                soak=outcome.soak,
                sent=self._stored,
            )

    def _staged(self, brought: Brought) -> Staged:
        """Put a suite's files into a private folder for as long as the attempt lasts."""
        folder = self._stack.enter_context(Files(brought.files).staged())
        return replace(staged_from_json(brought.staged), folder=str(folder))

    def _claim(self, environment: dict[str, Json]) -> None:
        """Take the GPU's lock on this host, as a run here would."""
        if environment["device"]["kind"] == "cuda" and not self._order.share_device:
            self._stack.enter_context(device_lock(device_key(environment)))

    def _journal(self, loaded: Loaded | None, environment: dict[str, Json], ceiling: Ceiling) -> Journal:
        identity = {**self._order.identity, "device": device_key(environment)}
        if loaded is None:
            header = {**identity, "environment": environment, "ceiling": ceiling_to_json(ceiling)}
            return self._stack.enter_context(Journal.create(self._path, header))
        refuse_changes(self._path, loaded.header, identity)
        return self._stack.enter_context(Journal.reopen(self._path, loaded))

    def _send(self, record: Record) -> None:
        self._stored += 1
        self._report("record", record=pack(record))

    def _handle(self, event: Event) -> None:
        match event:
            case ContenderStarted(case, contender, stage):
                self._losses.begin((case, contender))
                self._report("begin", case=case, contender=contender, stage=stage)
            case Note(message, is_warning):
                self._report("note", message=message, is_warning=is_warning)
            case _:
                pass


def _ceiling(loaded: Loaded | None) -> Ceiling | None:
    return None if loaded is None else ceiling_from_json(Node(loaded.header.get("ceiling") or {}, "journal", "ceiling"))


@contextlib.contextmanager
def _watched(supervisor: Supervisor, wanted: Callable[[], bool], report: Callable[..., None]) -> Iterator[None]:
    """Say every moment that work goes on, and end it when the command, the scheduler or the worker has gone."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(ALIVE_S):
            if not wanted():
                supervisor.interrupt()
            report("alive", time=time.time())

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Losses:
    """How often this process was lost while a contender was at work. A file that a kill leaves behind tells."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts: dict[Work, int] = {}
        self._now: Work | None = None
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            document: Any = json.loads(path.read_text(encoding="utf-8"))
            self._counts = {(count[0], count[1]): int(count[2]) for count in document["counts"]}
            if document["now"] is not None:
                lost = document["now"][0], document["now"][1]
                self._counts[lost] = self._counts.get(lost, 0) + 1

    def begin(self, work: Work) -> None:
        """Note who is at work now; work that serves all contenders of a case is nobody's."""
        now = work if work[1] else None
        if now != self._now:
            self._now = now
            counts = [[*key, count] for key, count in self._counts.items()]
            with contextlib.suppress(OSError):
                self._path.write_text(json.dumps({"counts": counts, "now": now}), encoding="utf-8")

    def crashed(self, order: Order, done: dict[Work, Record]) -> list[Record]:
        """Return a record for each contender that the process was lost with more often than retries allow."""
        found = []
        for case in order.cases:
            for contender in dict.fromkeys(case.contenders):
                lost = self._counts.get((case.id, contender), 0)
                if lost > order.retries + 1 and (case.id, contender) not in done:
                    message = f"the cluster's worker was lost {lost} times while this was at work"
                    found.append(Record(case, contender, "crashed", message, None))
        return found

    def forget(self) -> None:
        """Forget them: the attempt came to its end, and nobody is at fault."""
        with contextlib.suppress(OSError):
            self._path.unlink()
