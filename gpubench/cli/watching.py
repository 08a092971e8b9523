"""A run as one watches it: its progress, and the signals that end it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from gpubench.cli import output
from gpubench.errors import ExitCode

if TYPE_CHECKING:
    from gpubench.engine.events import Event
    from gpubench.views.progress import ProgressView


class Stoppable(Protocol):
    """What a signal can end."""

    def interrupt(self) -> None:
        """End soon, keeping what is there. Safe in a signal handler."""
        ...

    def kill(self) -> None:
        """End at once. Safe in a signal handler."""
        ...


FELL_BACK = "NO GPU FOUND: running on the host simulator. Answers are checked; its times say nothing about a GPU."


class View:
    """Turns the engine's events into what the progress view shows. A view that fails never stops a run."""

    def __init__(self, quiet: bool, device: str) -> None:
        from gpubench.views.progress import progress_view

        self._device = device
        self._view: ProgressView | None = progress_view(output.console(stderr=True), quiet)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        if self._view is not None:
            self._guarded(self._view.stop)

    def handle(self, event: Event) -> None:
        """Show an event; a warning to everybody."""
        from gpubench.engine.events import Note

        if isinstance(event, Note) and event.is_warning:
            output.report(event.message)
        elif self._view is not None:
            self._show(event, self._view)

    def _show(self, event: Event, view: ProgressView) -> None:
        from gpubench.engine import events

        match event:
            case events.RunStarted(records, resumed, environment):
                if self._device == "auto" and environment["device"]["kind"] == "host":
                    output.report(FELL_BACK)
                self._guarded(view.start, max(records - resumed, 0))  # a search does not know how many will come
                if resumed:
                    whole = f" of {records}" if records else ""
                    self._guarded(view.note, f"{resumed}{whole} records are there already")
            case events.ContenderStarted(case, contender, stage):
                self._guarded(view.working, case, contender or stage)
            case events.RecordFinished(record):
                self._guarded(view.finished, record)
            case events.Note(message):
                self._guarded(view.note, message)
            case events.RunStopped(reason):
                self._guarded(view.note, f"stopped: {reason}")
            case events.WorkerRestarted():
                pass  # the record of the contender at fault says why

    def _guarded(self, call: Any, *arguments: Any) -> None:
        try:
            call(*arguments)
        except (OSError, ValueError):  # nobody listens any more (a closed terminal): measure on
            self._view = None


@contextmanager
def stopping(work: Stoppable) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM (or a terminal that closes) end the run in good order, the second at once."""
    seen = 0

    def stop(number: int, frame: object) -> None:
        nonlocal seen
        del number, frame
        seen += 1
        work.interrupt()
        if seen > 1:
            work.kill()
            os._exit(ExitCode.INTERRUPTED)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # nohup means what it says
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
