"""The line of workers of one run: one at a time, each started fresh after the one before it was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpubench.engine.messages import (
    FromWorker,
    Measure,
    Measured,
    ProtocolError,
    Ready,
    Soak,
    Soaked,
    Start,
    StartFailed,
)
from gpubench.engine.process import WorkerEndedError, WorkerProcess
from gpubench.errors import GpubenchError, NoDeviceError
from gpubench.model import Json
from gpubench.own.registry import Staged

START_TRIES = 3
SLICE_S = 0.1
"""How soon an interruption is noticed."""


class StopRunError(Exception):
    """The run ends here, for the reason given."""


class InterruptError(StopRunError):
    """The user ended the run."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker is started with. `start_timeout_s` bounds the opening of the device, ceilings included.

    soak_s: how long the first worker keeps the device at work before anything is measured. digests: see `Start`.
    staged: what the suites bring, with the folders that hold its files.
    """

    device: str = "auto"
    start_timeout_s: float = 180.0
    memory_limit: int | None = None
    soak_s: float = 0.0
    digests: bool = False
    staged: tuple[Staged, ...] = ()


class Workers:
    """Gives the worker of the moment, starting one when there is none."""

    def __init__(self, options: WorkerOptions, spawn: Callable[[], WorkerProcess]) -> None:
        self.started = 0
        self.interrupted = False
        self._options = options
        self._spawn = spawn
        self._worker: WorkerProcess | None = None

    def current(self) -> WorkerProcess:
        """Return a worker with its device open. StopRunError when none can be started."""
        for left in reversed(range(START_TRIES)):
            if self._worker is not None:
                break
            try:
                self.start()
            except InterruptError:
                raise
            except (StopRunError, GpubenchError) as error:
                if not left:
                    raise StopRunError(f"a new worker could not be started: {error}") from error
        assert self._worker is not None
        return self._worker

    def receive(self, timeout: float = SLICE_S) -> FromWorker | None:
        """Return the current worker's next message, None when none came in time. InterruptError after `interrupted`."""
        if self.interrupted:
            raise InterruptError("interrupted")
        assert self._worker is not None
        return self._worker.receive(min(timeout, SLICE_S))

    def start(self) -> Ready:
        """Start a worker and wait until its device is open. NoDeviceError, or StopRunError for what went wrong."""
        try:
            self._worker = self._spawn()
        except OSError as error:
            raise StopRunError(f"no process can be started: {error.strerror or error}") from error
        self.started += 1
        options = self._options
        staged = _listed(options.staged)
        ready = self._ask(Start(options.device, options.memory_limit, options.digests, staged))
        if isinstance(ready, Ready):
            return ready
        self.drop()
        raise StopRunError(f"unexpected {type(ready).__name__}")

    def soak(self) -> Soaked | None:
        """Let the worker that is there warm the device up; None when nothing was asked for. StopRunError."""
        if not self._options.soak_s:
            return None
        soaked = self._ask(Soak(self._options.soak_s), self._options.soak_s)
        if isinstance(soaked, Soaked):
            return soaked
        self.drop()
        raise StopRunError(f"unexpected {type(soaked).__name__}")

    def measure(self, before: dict[str, Json] | None = None) -> Measured:
        """Let the worker that is there measure the ceiling, or `before` again. StopRunError for what went wrong."""
        measured = self._ask(Measure(before))
        if isinstance(measured, Measured):
            return measured
        self.drop()
        raise StopRunError(f"unexpected {type(measured).__name__}")

    def _ask(self, question: Start | Soak | Measure, more_s: float = 0.0) -> Ready | Soaked | Measured:
        """Send and wait for the answer, `more_s` longer than usual; a worker that gives none is dropped."""
        assert self._worker is not None
        try:
            self._worker.send(question)
            return self._answer(self._options.start_timeout_s + more_s)
        except (WorkerEndedError, ProtocolError) as error:
            self.drop()
            raise StopRunError(str(error)) from error
        except BaseException:
            self.drop()
            raise

    def _answer(self, seconds: float) -> Ready | Soaked | Measured:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            match self.receive():
                case Ready() | Soaked() | Measured() as answer:
                    return answer
                case StartFailed(message, True):
                    raise NoDeviceError(message)
                case StartFailed(message, False):
                    raise StopRunError(message)
                case None:
                    pass
                case other:
                    raise ProtocolError(f"unexpected {type(other).__name__}")
        raise StopRunError(f"the device was not open after {seconds:g} s")

    def drop(self) -> None:
        """Kill the worker with all that it started; the next one will be fresh."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def kill_now(self) -> None:
        """Kill the worker at once. Safe in a signal handler."""
        if self._worker is not None:
            self._worker.kill_now()

    def stop(self) -> None:
        """End the worker in good order."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()


def _listed(staged: Sequence[Staged]) -> dict[str, Json] | None:
    """Return what suites bring as a message has it."""
    return {"suites": [suite.to_json() for suite in staged]} if staged else None
