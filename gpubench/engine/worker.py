"""The worker: owns one device, runs the jobs it is given, and dies with its parent (its keeper sees to that).

Started as `python -m gpubench.engine.worker COMMANDS MESSAGES`: the descriptors of the two pipes. What it or a library
prints goes elsewhere and can never be taken for a message.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.engine.messages import (
    TO_WORKER,
    Begin,
    Fault,
    Finished,
    FromWorker,
    Job,
    JobDone,
    Lines,
    Measure,
    Measured,
    Ready,
    Soak,
    Soaked,
    Start,
    StartFailed,
    Stop,
    ToWorker,
    decode,
    encode,
)
from gpubench.errors import FatalDeviceError, GpubenchError, UsageError
from gpubench.results.format import ceiling_to_json, record_to_json
from gpubench.results.records import case_from_json, ceiling_from_json
from gpubench.results.strict import Node

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.engine.pipeline import Pipeline

LEAST_BYTES = 256 * 2**20
"""What a worker must at least have beside its libraries to do anything."""


def limit_memory(limit: int | None) -> None:
    """Cap the address space, so that a case that asks for too much gets a MemoryError and not the machine.

    UsageError when the process alone takes as much: libraries that cannot get memory fall over, or try for ever.
    """
    if limit is not None and sys.platform != "win32":
        import resource

        import numpy.linalg  # noqa: F401 - with its threads, whose stacks count

        import gpubench.engine.pipeline  # noqa: F401 - all that a job needs, before there is too little for it

        used = address_space()
        if limit < used + LEAST_BYTES:
            raise UsageError(
                f"--memory-limit: {limit / 1e6:.0f} MB leave no room for work. The worker itself takes "
                f"{used / 1e6:.0f} MB of address space here; give it at least {(used + LEAST_BYTES) / 1e6:.0f} MB."
            )
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def address_space() -> int:
    """Return the size of this process's address space in bytes, 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def end_with_a_thread(found: threading.ExceptHookArgs) -> None:
    """End the process: what a dead thread should have done, others would wait for without end."""
    name = found.thread.name if found.thread is not None else "?"
    error = found.exc_value if found.exc_value is not None else found.exc_type.__name__
    with contextlib.suppress(OSError):
        os.write(2, f"the thread {name!r} died: {type(error).__name__}: {error}\n".encode(errors="replace"))
    os._exit(1)


class Line:
    """Both directions of the talk with the supervisor."""

    def __init__(self, commands: int, messages: int) -> None:
        for descriptor in (commands, messages):
            os.set_inheritable(descriptor, False)  # a compiler started from here must not hold the pipes open
        self._messages = messages
        self._commands = commands
        self._inbox: queue.SimpleQueue[ToWorker] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True, name="commands").start()

    def _read(self) -> None:
        """Read commands until the supervisor closes the pipe: without it there is nothing left to work for."""
        lines = Lines()
        stopping = False
        while data := os.read(self._commands, 65536):
            for line in lines.feed(data):
                message = decode(line, TO_WORKER)
                stopping = stopping or isinstance(message, Stop)
                self._inbox.put(message)
        if not stopping:
            with contextlib.suppress(OSError):
                os.killpg(0, signal.SIGKILL)
            os._exit(1)

    def receive(self) -> ToWorker:
        """Wait for the next command."""
        return self._inbox.get()

    def say(self, message: FromWorker) -> None:
        """Send a message. It is in the pipe when this returns, whatever happens next."""
        data = encode(message)
        while data:
            data = data[os.write(self._messages, data) :]


def main(arguments: Sequence[str]) -> int:
    """Open the device, run jobs until told to stop."""
    commands, messages = (int(argument) for argument in arguments[:2])
    threading.excepthook = end_with_a_thread
    line = Line(commands, messages)
    start = line.receive()
    if not isinstance(start, Start):
        return 1
    device = _open(start, line)
    if device is None:
        return 1
    from gpubench.engine.pipeline import Pipeline

    pipeline = Pipeline(device, start.digests)
    while not isinstance(command := line.receive(), Stop):
        if isinstance(command, Soak | Measure) and not _prepare(device, command, line):
            return 1
        if isinstance(command, Job) and not _run(pipeline, command, line):
            os._exit(1)  # a lost context can hang in its own clean-up
    with contextlib.suppress(GpubenchError):
        device.close()
    return 0


def _open(start: Start, line: Line) -> Device | None:
    """Open the device and tell the supervisor of it; None when that failed, with the reason told."""
    from gpubench.devices import open_device
    from gpubench.devices.visible import show_only
    from gpubench.engine.environment import environment
    from gpubench.own.registry import register, staged_from_json
    from gpubench.tuning.active import active, find, use

    try:
        limit_memory(start.memory_limit)
        device = open_device(show_only(start.device))
        register(staged_from_json(suite) for suite in (start.staged or {}).get("suites", ()))
        use(find(device.info))
        line.say(Ready(environment(device.info, active().to_json())))
    except GpubenchError as error:
        line.say(StartFailed(str(error), isinstance(error, UsageError)))
        return None
    except (MemoryError, OSError, ValueError, ImportError) as error:
        line.say(StartFailed(f"the device cannot be opened: {type(error).__name__}: {error}", False))
        return None
    return device


def _prepare(device: Device, command: Soak | Measure, line: Line) -> bool:
    """Warm the device up, or measure its ceiling, and tell the supervisor; False when that failed, the reason told."""
    from gpubench.engine.soak import soak

    what = "be warmed up" if isinstance(command, Soak) else "have its ceiling measured"
    try:
        if isinstance(command, Soak):
            line.say(Soaked(soak(device, command.seconds)))
            return True
        before = None if command.before is None else ceiling_from_json(Node(command.before, "measure", "before"))
        line.say(Measured(ceiling_to_json(device.ceiling(before))))
    except (GpubenchError, MemoryError, OSError, ValueError, ImportError) as error:
        line.say(StartFailed(f"the device cannot {what}: {error}", False))
        return False
    return True


def _run(pipeline: Pipeline, job: Job, line: Line) -> bool:
    """Run one job; False when the device is lost."""
    from gpubench.engine.outcome import describe

    try:
        seconds = pipeline.run(
            case_from_json(Node(job.case, "job", "case")),
            job.contenders,
            ceiling_from_json(Node(job.ceiling, "job", "ceiling")),
            job.seed,
            lambda contender, stage: line.say(Begin(job.number, contender, stage)),
            lambda record: line.say(Finished(job.number, record_to_json(record))),
            None if job.upcoming is None else case_from_json(Node(job.upcoming, "job", "upcoming")),
        )
    except FatalDeviceError as error:
        line.say(Fault(job.number, error.contender, "device_error", describe(error)))
        return False
    line.say(JobDone(job.number, seconds))
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
