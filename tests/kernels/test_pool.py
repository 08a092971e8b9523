"""Compilations in processes of their own: how they end, and what is told of them meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpubench.errors import CompileError
from gpubench.keeper import below
from gpubench.kernels import pool
from gpubench.kernels.estimate import Estimate

HEAVY = ["--arch", "sm_75,sm_80,sm_90,sm_100,sm_120", "--variant", "column_forward,resident_columns", "--jobs", "3"]
"""Minutes of work, in compilations of several seconds each."""

GIVE_UP_S = 60


def alive(pids: set[int]) -> set[int]:
    """Return those that are still processes, and not merely waiting to be reaped."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.add(pid)
    return found


def compiles(pid: int) -> bool:
    """Tell whether a process has loaded the compiler."""
    with contextlib.suppress(OSError):
        return "libnvrtc" in Path(f"/proc/{pid}/maps").read_text()
    return False


def wait_until(true: object, what: str) -> None:
    """Wait for a condition; fail when it does not come."""
    end = time.monotonic() + GIVE_UP_S
    while not true():  # type: ignore[operator] # a function without arguments
        assert time.monotonic() < end, what
        time.sleep(0.02)


@contextlib.contextmanager
def compiling(folder: Path) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """Start the command as a shell would, and wait until its processes are at work; yield it with all its processes."""
    with subprocess.Popen(
        [sys.executable, "-m", "gpubench", "compile", *HEAVY],
        env={**os.environ, "GPUBENCH_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:

            def at_work() -> bool:
                return sum(map(compiles, below(process.pid))) >= 3

            wait_until(lambda: process.poll() is not None or at_work(), "no process compiles")
            assert process.poll() is None, process.communicate()
            yield process, {process.pid, *below(process.pid)}
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_compilation_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, which a terminal sends to all, and SIGTERM to the command alone: exit 130, one word, nobody left."""
    with compiling(tmp_path) as (process, family):
        assert len(family) >= 4
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        out, err = process.communicate(timeout=GIVE_UP_S)
        assert process.returncode == 130
        assert not out
        assert err.splitlines()[-1] == "gpubench: interrupted"
        assert "Traceback" not in err
        wait_until(lambda: not alive(family), f"still there: {alive(family)}")


@pytest.mark.usefixtures("compiler")
def test_processes_die_with_a_command_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL leaves no time for anything; the death signal does the rest."""
    with compiling(tmp_path) as (process, family):
        process.kill()
        process.wait(GIVE_UP_S)
        wait_until(lambda: not alive(family), f"still there: {alive(family)}")


def sleep(seconds: float) -> float:
    """Take that long."""
    time.sleep(seconds)
    return seconds


def die(number: int) -> int:
    """End the process without a word."""
    os._exit(number)


def deaf(_: int) -> bool:
    """Tell whether neither Ctrl-C nor a closed terminal reaches this process."""
    return {signal.SIGINT, signal.SIGHUP} <= signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_process_is_deaf_to_the_terminal_before_it_loads_anything() -> None:
    """Ctrl-C reaches all of a terminal's processes: one that loads its modules would show where it was interrupted.

    The mask is inherited, and this process has its own back.
    """
    assert list(pool.each(deaf, [0], 1)) == [(0, True)]
    assert not deaf(0)


@pytest.mark.parametrize("number", pool.SIGNALS)
def test_a_signal_while_processes_start_waits_until_they_have_started(number: int) -> None:
    """Between the two a process would be there that nobody knows of, and the pool would wait for it without end."""
    seen = []
    before = signal.signal(number, lambda *_: seen.append("handled"))
    try:
        with pool._undisturbed():
            os.kill(os.getpid(), number)
            thread = threading.Thread(target=time.sleep, args=(0.01,))  # one that the signal may choose, as numpy's
            thread.start()
            thread.join()
            seen.append("started")
        assert seen == ["started", "handled"]
    finally:
        signal.signal(number, before)


def test_results_come_as_they_are_ready() -> None:
    """A slow job does not hold up those behind it."""
    assert [number for number, _ in pool.each(sleep, [1.5, 0.0, 0.0], 2)] == [1, 2, 0]


def test_a_lost_process_is_an_error_and_no_wait() -> None:
    """A compiler that was killed for its memory says so, in words that help."""
    with pytest.raises(CompileError, match="--jobs"):
        list(pool.each(die, [1, 2], 2))


def spin(seconds: float) -> float:
    """Take that much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def test_a_job_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has processor time of its own: a template that never ends is lost, several short jobs are not."""
    monkeypatch.setattr(pool, "MOST_SECONDS", 1.0)
    assert len(list(pool.each(spin, [0.4, 0.4, 0.4, 0.4], 1))) == 4
    with pytest.raises(CompileError, match="1 s of processor time"):
        list(pool.each(spin, [3600.0], 1))


def test_the_estimate_knows_each_source_by_its_own_kernels() -> None:
    """Each source has its own speed; one that was not met yet, the mean; processes share the work."""
    estimate = Estimate([("slow", 2), ("fast", 10), ("slow", 6), ("fast", 20), ("new", 4)], 2)
    first = estimate.after(0, 4.0)
    assert (first.done, first.total) == (2, 42)
    assert first.seconds_left == pytest.approx(2.0 * 40 / 2)
    second = estimate.after(1, 1.0)
    assert second.seconds_left == pytest.approx(6 * 2.0)  # the longest part; all together are 15.7 s for two processes
    for number, seconds in ((2, 12.0), (3, 2.0), (4, 1.0)):
        last = estimate.after(number, seconds)
    assert (last.done, last.seconds_left) == (42, 0.0)


def test_the_longest_part_bounds_what_is_left() -> None:
    """Many processes do not shorten one part."""
    estimate = Estimate([("a", 1), ("a", 10)], 16)
    assert estimate.after(0, 3.0).seconds_left == pytest.approx(30.0)
