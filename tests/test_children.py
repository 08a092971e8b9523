"""What a run starts must end with it: by a kill, by a limit, whatever session it fled to."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpubench.children import Child, Limits, run

MARK = "GPUBENCH_TEST_FAMILY"

FLEEING = "setsid sh -c 'sleep 600' & (setsid sh -c 'sleep 600 & sleep 600' &) ; sleep 600"
"""A child in a session of its own, a daemon with a child, and the shell's own wait."""


def family(mark: str) -> set[int]:
    """Return the living processes that carry the mark in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                alive = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
                if alive and f"{MARK}={mark}\0".encode() in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
    return found


def until_gone(mark: str) -> set[int]:
    """Wait until nobody carries the mark, at most half a minute, and return who is left."""
    for _ in range(600):
        if not (left := family(mark)):
            return left
        time.sleep(0.05)
    return family(mark)


def until_large(mark: str, count: int) -> None:
    """Wait until the family has so many members."""
    for _ in range(600):
        if len(family(mark)) >= count:
            return
        time.sleep(0.05)
    pytest.fail(f"only {family(mark)} came up")


def parent_of(code: str, mark: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python program that is to be killed."""
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env={**os.environ, MARK: mark})


RUN = "import sys; from gpubench.children import Limits, run; run(['sh', '-c', sys.argv[1]], Limits())"


def test_a_kill_of_the_parent_ends_what_fled_into_other_sessions() -> None:
    """After kill -9 of the parent nothing that its child started goes on, in whatever session it is."""
    parent = parent_of(RUN, "fled", FLEEING)
    until_large("fled", 7)  # the parent, the keeper, three shells, three sleeps, one of them later
    parent.kill()
    parent.wait()
    assert until_gone("fled") == set()


def test_a_kill_of_the_keeper_ends_the_command() -> None:
    """A command whose keeper is killed does not go on without one."""
    with_mark = {**os.environ, MARK: "keeper"}
    child = Child(["sleep", "600"], Limits(), env=with_mark)
    until_large("keeper", 2)  # the command has no environment while it is being loaded
    assert child.pid in family("keeper")
    child.process.kill()
    child.process.wait()
    assert until_gone("keeper") == set()
    child.close()


def test_a_command_that_ends_leaves_nobody() -> None:
    """What a command left running ends with it, and the caller does not wait for it."""
    began = time.monotonic()
    done = run(["sh", "-c", "setsid sleep 600 & echo done"], Limits(), env={**os.environ, MARK: "left"})
    assert (done.code, done.output, done.broken) == (0, "done\n", None)
    assert family("left") == set()
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(("ending", "code"), [("exit 3", 3), ("kill -SEGV $$", -11), ("kill -KILL $$", -9)])
def test_a_command_ends_as_it_ended(ending: str, code: int) -> None:
    """The keeper passes on exit codes and signals."""
    done = run(["sh", "-c", f"echo said; {ending}"], Limits())
    assert (done.code, done.output, done.broken) == (code, "said\n", None)


def test_a_family_over_its_memory_is_ended() -> None:
    """Resident memory is counted over all processes, in other sessions too: no single one need be over the limit."""
    eater = "import time; held = bytes(range(256)) * (60 << 12); time.sleep(600)"
    command = f"setsid {sys.executable} -c '{eater}' & {sys.executable} -c '{eater}'"
    done = run(["sh", "-c", command], Limits(memory_bytes=100 << 20), env={**os.environ, MARK: "greedy"})
    assert (done.code, done.broken) == (-signal.SIGKILL, "memory")
    assert family("greedy") == set()


def test_each_process_has_a_bounded_address_space() -> None:
    """A process that asks for more than its limit is refused by the system before it is there."""
    done = run([sys.executable, "-c", "bytearray(1 << 30)"], Limits(space_bytes=500 << 20))
    assert done.code == 1
    assert "MemoryError" in done.output


def test_a_command_over_its_time_is_ended() -> None:
    """The time limit is told apart from other kills, and holds for those who fled."""
    done = run(["sh", "-c", FLEEING], Limits(seconds=0.5), env={**os.environ, MARK: "late"})
    assert (done.code, done.broken) == (-signal.SIGKILL, "time")
    assert family("late") == set()


def test_an_endless_output_is_not_kept() -> None:
    """Output beyond the limit is read and dropped, so that neither the memory fills nor the command blocks."""
    done = run(["sh", "-c", "head -c 3000000 /dev/zero; echo end >&2"], Limits(), most_output=1000)
    assert (done.code, len(done.output)) == (0, 1000)


def test_a_command_that_does_not_exist_is_told() -> None:
    """A missing program gives the shell's code and its name."""
    assert run(["no-such-program"], Limits()).code == 127


def test_ended_children_leave_no_descriptor() -> None:
    """Neither the control socket nor the output stays open."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only a count
    for _ in range(3):
        run(["true"], Limits())
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - only a count


COMPILER = """#!/bin/sh
case "$*" in *--version*) echo 'g++ (Fake) 13.1.0'; exit 0;; esac
setsid sh -c 'sleep 600' &
sleep 600
"""


def test_a_killed_run_leaves_no_compiler(tmp_path: Path) -> None:
    """After kill -9 of a run whose worker compiles, no compiler and nothing that one started goes on."""
    compiler = tmp_path / "c++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    command = [sys.executable, "-m", "gpubench", "check", "smoke", "--device", "host"]
    environment = {**os.environ, MARK: "compiler", "CXX": str(compiler), "GPUBENCH_CACHE_DIR": str(tmp_path / "cache")}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        names = [Path(f"/proc/{pid}/cmdline") for pid in family("compiler")]
        with contextlib.suppress(OSError):
            if sum(b"sleep\x00600" in name.read_bytes() for name in names) >= 2:
                break
        time.sleep(0.05)
    else:
        pytest.fail("the compiler was never called")
    process.kill()
    process.wait()
    assert until_gone("compiler") == set()
