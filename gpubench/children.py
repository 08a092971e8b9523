"""Child processes that cannot outlive their parent, fill the memory or run for ever: each has a keeper."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from gpubench import keeper

MOST_COMPILER_BYTES = 4 << 30
"""What a compiler may take, its parts together. The largest of our own sources takes a sixth of it."""

Broken = Literal["memory", "time"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child and all that it starts may take; None for no limit.

    memory_bytes: resident, of all processes together. space_bytes: address space of each process. seconds: wall time.
    """

    memory_bytes: int | None = None
    space_bytes: int | None = None
    seconds: float | None = None


class Child:
    """A command at work. It ends, with all that it started, at the latest when this process does."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        *,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int = subprocess.STDOUT,
        pass_fds: Sequence[int] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it in a session of its own; its output is to be read from `process.stdout`. OSError when it cannot."""
        ours, theirs = socket.socketpair()
        words = (str(limits.memory_bytes or 0), str(limits.space_bytes or 0), str(limits.seconds or 0))
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__, str(theirs.fileno()), *words, *command],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=(theirs.fileno(), *pass_fds),
                start_new_session=True,
                env=env,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._control = ours
        self._said = b""

    @property
    def pid(self) -> int:
        """The command's own process id (0 when it could not be started), which is also its group and session."""
        self._listen(b"\n")
        number = self._said.partition(b"\n")[0]
        return int(number) if number.isdigit() else 0

    def broken(self) -> Broken | None:
        """Return which limit ended the command. To be asked when it has ended."""
        self._listen(None)
        word = self._said.partition(b"\n")[2]
        return "memory" if word == keeper.OVER_MEMORY else "time" if word == keeper.OVER_TIME else None

    def _listen(self, until: bytes | None) -> None:
        """Take what the keeper says, up to a mark or its end."""
        with contextlib.suppress(OSError):
            while (until is None or until not in self._said) and (data := self._control.recv(256)):
                self._said += data

    def end(self) -> None:
        """Have everything killed, and return at once. Safe in a signal handler; may be called twice."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Give the descriptors back. What still runs is killed."""
        self._control.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended: its exit code (negative: a signal), the beginning of its output, and the limit it broke."""

    code: int
    output: str
    broken: Broken | None


def run(
    command: Sequence[str],
    limits: Limits,
    *,
    text: str = "",
    errors: bool = True,
    most_output: int = 1 << 20,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run a command to its end. `text` is its standard input; `errors`: its standard error counts as output.

    OSError when no process can be started. A command that does not exist ends with code 127.
    """
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        told = subprocess.STDOUT if errors else subprocess.DEVNULL
        child = Child(command, limits, stdin=given, stderr=told, env=env)
    try:
        kept = bytearray()
        assert child.process.stdout is not None
        while data := child.process.stdout.read1(1 << 16):  # type: ignore[attr-defined] # a buffered reader
            kept += data[: most_output - len(kept)]
        code = child.process.wait()
        return Done(code, kept.decode(errors="replace"), child.broken())
    finally:
        child.end()
        child.process.wait()
        child.close()


def most_compiler_bytes() -> int:
    """Return what a compiler may take on this machine: half its memory, at most 4 GiB."""
    return min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2, MOST_COMPILER_BYTES)


def bind(parent: int, space_bytes: int | None = None) -> None:
    """Have this process killed when its parent ends, and bound its address space. For a process of our own making.

    `parent` is the id that the parent had when it started this process; if that is gone already, end now.
    """
    keeper.prctl(keeper.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    if space_bytes:
        keeper.lower(resource.RLIMIT_AS, space_bytes)
