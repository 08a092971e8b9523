"""A run over many GPUs: each has a supervisor, a journal and a result of its own; `fleet.json` ties them.

The GPUs of a host work one after the other, or all at once: side by side they share power, PCIe and the host's cores.
Hosts never wait for each other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from gpubench.engine.events import ContenderStarted, Event, RunStarted
from gpubench.engine.fleet.book import Book
from gpubench.engine.measurer import Measurer
from gpubench.engine.run import Finished, Request, exit_code
from gpubench.engine.run import execute as run_one
from gpubench.errors import ExitCode, GpubenchError, ResultFileError
from gpubench.fleet import Fleet, Member
from gpubench.results.paths import journal_path

OnEvent = Callable[[str, Event], None]
"""Called with a member's key and what happened there, by one thread at a time."""


class Supervise(Protocol):
    """Gives what measures a member; leaving the context ends its worker."""

    def __call__(
        self, member: Member, result: str, on_event: Callable[[Event], None]
    ) -> AbstractContextManager[Measurer]:
        """Return it; nothing has been started yet. `result`: the file that the measurement is for."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One measurement of one member: where its result goes, and how the manifest learns of its end."""

    member: Member
    result: str
    note: Callable[..., None]


class FleetRun:
    """Measures the members of a fleet that have no result yet. `interrupt` and `kill` may come from a signal."""

    def __init__(self, request: Request, book: Book, supervise: Supervise, on_event: OnEvent) -> None:
        """`request` is what each member runs; its output and resume are those of the member."""
        self._request = request
        self.book = book
        self._supervise = supervise
        self._on_event = on_event
        self._lock = threading.Lock()
        self._active: set[Any] = set()
        self._began = time.monotonic()
        self._codes: list[ExitCode] = []
        self._errors: list[BaseException] = []
        self.interrupted = False

    @property
    def fleet(self) -> Fleet:
        """The manifest as it is now."""
        return self.book.fleet

    def members(self) -> ExitCode:
        """Measure every member that is not measured yet. ResultFileError when results cannot be written."""
        waiting = [member for member in self.fleet.members if member.status != "measured"]
        tasks = [Task(member, member.result, self._note_member(member.key)) for member in waiting]
        return self.measure(self._lanes(tasks))

    def again(self) -> ExitCode:
        """Measure what the manifest's repeats ask for, the suspects and their controls side by side or in turn."""
        waiting = [repeat for repeat in self.fleet.repeats if repeat.status != "measured"]
        tasks = [
            Task(self.fleet.member(repeat.member), repeat.result, self._note_repeat(repeat.result))
            for repeat in waiting
        ]
        return self.measure(self._lanes(tasks))

    def measure(self, lanes: Sequence[Sequence[Task]]) -> ExitCode:
        """Work through the lanes, each in its own thread, and return the code of the whole."""
        self._codes.clear()
        threads = [threading.Thread(target=self._work, args=(lane,), name=f"lane {n}") for n, lane in enumerate(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # a signal is heard between
        if self._errors:
            raise self._errors[0]
        return worst(self._codes) if not self.interrupted else ExitCode.INTERRUPTED

    def interrupt(self) -> None:
        """End the run soon, keeping what is there."""
        self.interrupted = True
        for supervisor in list(self._active):
            supervisor.interrupt()

    def kill(self) -> None:
        """Kill every worker at once."""
        for supervisor in list(self._active):
            supervisor.kill()

    def _lanes(self, tasks: Sequence[Task]) -> list[list[Task]]:
        """Return what works side by side: the hosts, or every task."""
        if self.fleet.at_once:
            return [[task] for task in tasks]
        hosts: dict[str, list[Task]] = {}
        for task in tasks:
            hosts.setdefault(task.member.host, []).append(task)
        return list(hosts.values())

    def _note_member(self, key: str) -> Callable[..., None]:
        return lambda **changes: self.book.change(key, **changes)

    def _note_repeat(self, result: str) -> Callable[..., None]:
        known = ("status", "message")
        return lambda **changes: self.book.change_repeat(
            result, **{name: value for name, value in changes.items() if name in known}
        )

    def _work(self, lane: Sequence[Task]) -> None:
        for task in lane:
            if self.interrupted or self._errors:
                return
            try:
                self._codes.append(self._one(task))
            except BaseException as error:  # raised again by the thread that waits for this one
                self._errors.append(error)

    def _one(self, task: Task) -> ExitCode:
        """Measure one member and tell the manifest how it ended."""
        path = self.book.folder / task.result
        unfinished = journal_path(path).exists()
        if path.exists() and not unfinished:  # its run was complete when the manifest could no longer be written
            task.note(status="measured", message=None)
            return ExitCode.FINE
        fleet = self.fleet
        about = {
            "id": fleet.id,
            "member": task.member.key,
            "host": task.member.host,
            "position": task.member.position,
            "members": len(fleet.members),
            "at_once": fleet.at_once,
        }
        request = replace(
            self._request,
            output=path,
            resume=path if unfinished else None,
            extra={**self._request.extra, "fleet": about},
        )
        try:
            finished = self._execute(task, request)
        except ResultFileError:
            raise
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        except GpubenchError as error:
            task.note(status="unfinished" if journal_path(path).exists() else "missing", message=str(error))
            return ExitCode.FAILED_CASE
        if finished.error is not None:
            raise finished.error
        if finished.journal is not None:
            task.note(status="unfinished", message=str(finished.result.extra.get("stopped")))
            return exit_code(finished) if finished.interrupted else ExitCode.FAILED_CASE
        task.note(status="measured", message=None)
        return exit_code(finished)

    def _execute(self, task: Task, request: Request) -> Finished:
        begun = False

        def handle(event: Event) -> None:
            nonlocal begun
            if isinstance(event, RunStarted):
                task.note(**_identity(event))
            elif isinstance(event, ContenderStarted) and not begun:
                begun = True
                task.note(started_s=round(time.monotonic() - self._began, 3))
            with self._lock:
                self._on_event(task.member.key, event)

        with self._supervise(task.member, task.result, handle) as supervisor:
            self._active.add(supervisor)
            try:
                if self.interrupted:
                    supervisor.interrupt()
                return run_one(request, supervisor, handle)
            finally:
                self._active.discard(supervisor)


def _identity(event: RunStarted) -> dict[str, Any]:
    """Return what the manifest keeps of a device."""
    device = event.environment.get("device") or {}
    return {name: device.get(name) for name in ("uuid", "name", "pci_bus_id", "numa_node")}


def worst(codes: Sequence[ExitCode]) -> ExitCode:
    """Return the code of a run from those of its members: the first of these that one has."""
    order = (ExitCode.INTERRUPTED, ExitCode.USAGE, ExitCode.WRONG_ANSWER, ExitCode.FAILED_CASE, ExitCode.REGRESSION)
    if codes and set(codes) == {ExitCode.NOT_COMPARABLE}:
        return ExitCode.NOT_COMPARABLE
    return next((code for code in order if code in codes), ExitCode.FINE)


def default_folder(suite: str, created: str, root: Path) -> Path:
    """Return the place of a new fleet under `root`: runs/fleet/<suite>-<time>, with -2, -3 ... where that is taken."""
    from gpubench.results.paths import FOLDER, slug

    stamp = created.replace("-", "").replace(":", "")
    folder = root / FOLDER / "fleet" / f"{slug(suite)}-{stamp}"
    number = 2
    while folder.exists():
        folder = folder.with_name(f"{slug(suite)}-{stamp}-{number}")
        number += 1
    return folder
