"""Work in processes of their own, which end as soon as their parent stops waiting for them, for whatever reason."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from gpubench.children import bind, most_compiler_bytes
from gpubench.errors import CompileError

Job = TypeVar("Job")
Result = TypeVar("Result")


def each(work: Callable[[Job], Result], jobs: Sequence[Job], processes: int) -> Generator[tuple[int, Result]]:
    """Yield (number of the job, what `work` made of it) as they come.

    The processes are killed when the iteration ends before its time (close the iterator to be sure of it). They die
    with this process, and a signal from the terminal is this process's business alone. CompileError when one is lost.
    """
    context = multiprocessing.get_context("spawn")  # a forked copy of a process that uses a GPU could not go on
    others = set(multiprocessing.active_children())
    parent = (os.getpid(), most_compiler_bytes())
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, initializer=_begin, initargs=parent)
    done = False
    try:
        numbers = {pool.submit(work, job): number for number, job in enumerate(jobs)}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
        done = True
    except BrokenProcessPool as error:
        raise CompileError(
            "a process that compiled was killed, or crashed: the machine may lack the memory for so many (--jobs)"
        ) from error
    finally:
        if not done:
            for child in set(multiprocessing.active_children()) - others:
                child.kill()
        pool.shutdown(cancel_futures=True)


def _begin(parent: int, space_bytes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bind(parent, space_bytes)
