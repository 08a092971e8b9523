"""Work in processes of their own, which end as soon as their parent stops waiting for them, for whatever reason."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from gpubench.children import bind, most_compiler_bytes
from gpubench.errors import CompileError

MOST_SECONDS = 600.0
"""Processor time of one job. The costliest program of ours takes a hundredth of it."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Job = TypeVar("Job")
Result = TypeVar("Result")


def each(work: Callable[[Job], Result], jobs: Sequence[Job], processes: int) -> Generator[tuple[int, Result]]:
    """Yield (number of the job, what `work` made of it) as they come. No job may take more than MOST_SECONDS.

    The processes are killed when the iteration ends before its time (close the iterator to be sure of it). They die
    with this process, and what a terminal sends is this process's business alone. CompileError when one is lost.
    """
    context = multiprocessing.get_context("spawn")  # a forked copy of a process that uses a GPU could not go on
    others = set(multiprocessing.active_children())
    parent = (os.getpid(), most_compiler_bytes())
    with _undisturbed():
        pool = ProcessPoolExecutor(min(processes, len(jobs)), context, initializer=bind, initargs=parent)
    done = False
    try:
        with _undisturbed():  # the first job starts all processes
            numbers = {pool.submit(_within, MOST_SECONDS, work, job): number for number, job in enumerate(jobs)}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
        done = True
    except BrokenProcessPool as error:
        raise CompileError(
            "a process that compiled was killed, or crashed: the machine may lack the memory for so many (--jobs), or "
            f"one compilation took more than {MOST_SECONDS:.0f} s of processor time"
        ) from error
    finally:
        if not done:
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
        pool.shutdown(cancel_futures=True)


def _within(seconds: float, work: Callable[[Job], Result], job: Job) -> Result:
    """Work on a job under a limit of processor time of its own: whatever the machine's load, the same work fits."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = math.ceil(used.ru_utime + used.ru_stime + seconds)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (end if hard == resource.RLIM_INFINITY else min(end, hard), hard))
    return work(job)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off what would interrupt this process: one that is half started would be waited for without end.

    What is started inherits what is blocked: it never hears of Ctrl-C or a closed terminal, not even while it loads.
    """
    held: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    is_main = threading.current_thread() is threading.main_thread()  # handlers run there, whatever thread was chosen
    handlers = {name: signal.signal(name, lambda number, _: held.append(number)) for name in SIGNALS if is_main}
    try:
        yield
    finally:
        for name, handler in handlers.items():
            signal.signal(name, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in held[:1]:
            signal.raise_signal(number)
