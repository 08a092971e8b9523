"""Runs one command and ends all that it started, in a session of its own or not. Knows nothing else of the project.

Started by `children.py` as `python -I -S keeper.py CONTROL MEMORY SPACE SECONDS COMMAND...`. CONTROL is one end of a
socket whose other end the parent holds: when that closes, because the parent let go or died in whatever way, all ends.
The limits, 0 for none: MEMORY, resident bytes of all processes together; SPACE, bytes of address space of each;
SECONDS, wall time of the whole. What was broken is said on CONTROL in one word. The exit code, or signal, is the
command's own.

The keeper is a subreaper (prctl(2)): what loses its parent comes to it, so that all below stay its descendants until
they are dead. A keeper that is killed takes the command with it by its death signal.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LOOK_S = 0.5
"""How often the memory is looked at."""
SPARE_CPU_S = 10
"""What a process may compute beyond the time limit of the whole. It ends what a killed keeper can no longer end."""
GIVE_UP_S = 60.0
"""How long to try to end what cannot be killed: another user's process, or one that is stuck in a driver."""

RESTORED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that Python or the keeper treats in its own way, and the command should meet as usual."""

OVER_MEMORY = b"memory"
OVER_TIME = b"time"


def prctl(option: int, value: int) -> None:
    """Set a property of this process, where the system has such."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def processes() -> dict[int, tuple[int, int]]:
    """Return (parent, resident pages) of every process; nothing where there is no /proc."""
    found = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is not loaded here
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                    fields = file.read().rpartition(b")")[2].split()
                    found[int(name)] = (int(fields[1]), int(fields[21]))
    return found


def below(root: int) -> dict[int, int]:
    """Return the descendants of a process, each with its resident bytes."""
    known = processes()
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in known.items():
        children.setdefault(parent, []).append(pid)
    page = os.sysconf("SC_PAGE_SIZE")
    found: dict[int, int] = {}
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found[pid] = known[pid][1] * page
                waiting.append(pid)
    return found


def start(command: list[str], space: int, seconds: float) -> int:
    """Start the command in a new session, bound to this process, and return its id."""
    keeper = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        if space:
            lower(resource.RLIMIT_AS, space)
        if seconds:
            lower(resource.RLIMIT_CPU, int(seconds) + SPARE_CPU_S)
            lower(resource.RLIMIT_CORE, 0)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(127)


def lower(what: int, limit: int) -> None:
    """Set both limits of a resource, where they are not lower already."""
    _, hard = resource.getrlimit(what)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (limit, limit))


class Keeper:
    """The loop. Limits as on the command line."""

    def __init__(self, control: socket.socket, memory: int, space: int, seconds: float) -> None:
        """Become a subreaper and hear of every death below."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._control = control
        self._memory = memory
        self._space = space
        self._seconds = seconds
        self._end = time.monotonic() + seconds if seconds else None
        self._stop = False
        self._status: int | None = None
        self._wake, self._waker = os.pipe()
        for descriptor in (self._wake, self._waker):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told)

    def _told(self, *_: object) -> None:
        self._stop = True

    def run(self, command: list[str]) -> int:
        """Keep the command to its end and return its wait status."""
        self._control.set_inheritable(False)
        child = start(command, self._space, self._seconds)
        self._say(b"%d\n" % child)
        self._let_go()
        while self._status is None and not self._stop:
            self._wait()
            self._reap(child)
            if self._status is None and not self._stop:
                self._judge()
        self._end_all(child)
        return self._status if self._status is not None else signal.SIGKILL

    def _let_go(self) -> None:
        """Give back what only the command should hold: its ends of pipes."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        for name in os.listdir("/dev/fd"):  # noqa: PTH208 - pathlib is not loaded here
            if name.isdigit() and int(name) not in (0, 1, 2, self._control.fileno(), self._wake, self._waker):
                with contextlib.suppress(OSError):
                    os.close(int(name))

    def _wait(self) -> None:
        """Wait for a death, a word or the end of the parent, or until it is time to look."""
        left = LOOK_S if self._memory else 3600.0
        if self._end is not None:
            left = min(left, max(self._end - time.monotonic(), 0.0))
        ready, _, _ = select.select([self._control.fileno(), self._wake], [], [], left)
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
        if self._control.fileno() in ready:
            self._stop = True  # closed by the parent, or a word from it: there is only one

    def _reap(self, child: int) -> None:
        """Take every death there is."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == child:
                    self._status = status

    def _judge(self) -> None:
        """End what is over a limit."""
        if self._end is not None and time.monotonic() >= self._end:
            self._say(OVER_TIME)
        elif self._memory and sum(below(os.getpid()).values()) > self._memory:
            self._say(OVER_MEMORY)
        else:
            return
        self._stop = True

    def _end_all(self, child: int) -> None:
        """Kill until nothing is left below, the young of the dying too."""
        pause, end = 0.002, time.monotonic() + GIVE_UP_S
        while time.monotonic() < end:
            left = below(os.getpid()) or ({child: 0} if self._status is None else {})
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._reap(child)
            if not left:
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def _say(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._control.send(word)


def main(arguments: list[str]) -> None:
    """Keep one command and end as it ended."""
    control, memory, space, seconds, *command = arguments
    status = Keeper(socket.socket(fileno=int(control)), int(memory), int(space), float(seconds)).run(command)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        lower(resource.RLIMIT_CORE, 0)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(sys.argv[1:])
