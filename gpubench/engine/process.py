"""One worker process as the supervisor sees it: started, spoken to, listened to without ever blocking, killed."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import gpubench
from gpubench.children import Child, Limits
from gpubench.engine.memory import free_host_bytes
from gpubench.engine.messages import FROM_WORKER, FromWorker, Lines, ProtocolError, Stop, ToWorker, decode, encode
from gpubench.model import Status

MAX_OUTPUT = 16 * 1024
"""How much of the end of a worker's own output is kept, to be shown when it dies."""
_CHUNK = 65536
_GRACE_S = 5.0
"""How long a worker that was told to stop may take to end by itself."""
_LAST_S = 1.0
"""How long one whose pipe has closed may take, so that its exit code can be told."""
_SHARE_OF_MEMORY = 0.95
"""Of what the machine can still give, how much a worker may take together with all that it starts."""


class WorkerEndedError(Exception):
    """The worker is gone. The message says how it ended, with the end of what it printed; `status` is its fault's."""

    def __init__(self, message: str, status: Status = "crashed") -> None:
        super().__init__(message)
        self.status: Status = status


class WorkerProcess:
    """A worker in a session of its own. Everything that it starts dies with it, and it with this process.

    memory_bytes: what all of them may take together; without it, nearly all that the machine can give.
    """

    def __init__(
        self, module: str = "gpubench.engine.worker", arguments: Iterable[str] = (), memory_bytes: int | None = None
    ) -> None:
        if memory_bytes is None and (free := free_host_bytes()) is not None:
            memory_bytes = max(int(free * _SHARE_OF_MEMORY), 1)
        command_read, command_write = os.pipe()
        message_read, message_write = os.pipe()
        fds = (command_read, message_write)
        self._limits = Limits(memory_bytes)
        try:
            self._child = Child(
                [sys.executable, "-P", "-m", module, *map(str, fds), *arguments],
                self._limits,
                pass_fds=fds,
                env=_environment(),
            )
        except OSError:
            os.close(command_write)
            os.close(message_read)
            raise
        finally:
            os.close(command_read)
            os.close(message_write)
        self._process = self._child.process
        self._commands = command_write
        self._messages = message_read
        self._lines = Lines()
        self._inbox: deque[FromWorker] = deque()
        self._outbox = bytearray()
        self._output = bytearray()
        self._message_end = False
        self._broken: ProtocolError | None = None
        self._selector = selectors.DefaultSelector()
        assert self._process.stdout is not None
        for descriptor, events in (
            (self._messages, selectors.EVENT_READ),
            (self._process.stdout.fileno(), selectors.EVENT_READ),
        ):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, events)
        os.set_blocking(self._commands, False)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of the group and the session."""
        return self._child.pid

    @property
    def output(self) -> str:
        """The end of what the worker printed on stdout and stderr."""
        return bytes(self._output).decode("utf-8", "replace").strip()

    def send(self, message: ToWorker) -> None:
        """Queue a message; it goes out while `receive` waits, so that a worker that does not read cannot block us."""
        self._outbox += encode(message)
        self._flush()

    def receive(self, timeout: float) -> FromWorker | None:
        """Return the next message, None when none came in `timeout` seconds.

        ProtocolError when the worker wrote something else, WorkerEndedError when it is gone: both only after every
        message that came before.
        """
        end = time.monotonic() + timeout
        while not self._inbox:
            ended = self._process.poll() is not None
            self._wait(0.0 if ended else max(0.0, min(end - time.monotonic(), 0.1)))
            if self._inbox:
                break
            if self._broken is not None:
                raise self._broken
            if ended or self._message_end:
                self._report_end()
            if time.monotonic() >= end:
                return None
        return self._inbox.popleft()

    def _wait(self, timeout: float) -> None:
        """Move bytes for at most `timeout` seconds."""
        assert self._process.stdout is not None
        for key, _ in self._selector.select(timeout):
            if key.fd == self._commands:
                self._flush()
            elif key.fd == self._messages:
                self._read_messages()
            else:
                self._read_output()

    def _flush(self) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._outbox:
                del self._outbox[: os.write(self._commands, self._outbox[:_CHUNK])]
        waiting = self._commands in self._selector.get_map()
        if self._outbox and not waiting:
            self._selector.register(self._commands, selectors.EVENT_WRITE)
        elif not self._outbox and waiting:
            self._selector.unregister(self._commands)

    def _read_messages(self) -> None:
        data = _read(self._messages)
        if data == b"":
            self._selector.unregister(self._messages)
            self._message_end = True
        try:
            for line in self._lines.feed(data or b""):
                self._inbox.append(decode(line, FROM_WORKER))
        except ProtocolError as error:
            self._broken = error
            if not self._message_end:
                self._selector.unregister(self._messages)

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        data = _read(self._process.stdout.fileno())
        if data == b"":
            self._selector.unregister(self._process.stdout.fileno())
        self._output += data or b""
        del self._output[:-MAX_OUTPUT]

    def _report_end(self) -> None:
        """Raise WorkerEndedError, once every byte that the worker left behind has been read."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_S)
        before = -1
        while before != (before := len(self._inbox) + self._lines.partial + len(self._output)):
            self._wait(0.0)
        if self._inbox:
            return
        if self._broken is not None:
            raise self._broken
        broken = self._process.returncode is not None and self._child.broken() == "memory"
        how = self._describe_greed() if broken else describe_end(self._process.returncode)
        cut = f", in the middle of a message ({self._lines.partial} bytes)" if self._lines.partial else ""
        said = f". Its last output:\n{self.output}" if self.output else ""
        raise WorkerEndedError(f"the worker {how}{cut}{said}", "out_of_memory" if broken else "crashed")

    def _describe_greed(self) -> str:
        most = (self._limits.memory_bytes or 0) / 1e9
        return f"and what it started took more than {most:.3g} GB of the host's memory, nearly all there was: killed"

    def stop(self) -> None:
        """Ask the worker to end, then end it."""
        with contextlib.suppress(OSError):
            self.send(Stop())
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_S)
        self.kill()

    def kill(self) -> None:
        """Kill the worker with all that it started and give its descriptors back. May be called twice."""
        self.kill_now()
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the driver: it will go when the driver lets go
            self._process.wait(_GRACE_S)
        if self._commands >= 0:
            self._selector.close()
            os.close(self._commands)
            os.close(self._messages)
            self._commands = self._messages = -1
            self._child.close()

    def kill_now(self) -> None:
        """Have all killed and return; safe in a signal handler."""
        self._child.end()


def describe_end(code: int | None) -> str:
    """Say how a process ended: `was killed by SIGSEGV`, `ended with exit code 3`."""
    if code is None:
        return "closed its line but goes on running"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (often the system's answer to too little memory)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def _read(descriptor: int) -> bytes | None:
    """Return what is there, b"" at the end, None when nothing is there yet."""
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return None


def _environment() -> dict[str, str]:
    """Return the environment in which the worker finds the same gpubench, installed or not."""
    environment = dict(os.environ)
    root = Path(gpubench.__file__).parents[1]
    if root.name not in ("site-packages", "dist-packages"):
        paths = [str(root), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment
