"""Work in chunks of a fixed size, by threads: the cut never depends on the machine, so neither does any result."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import product
from typing import TypeVar

CHUNK = 1 << 20
"""Elements that one random stream draws. Part of what an input is: another value gives other inputs."""

BLOCK = 1 << 18
"""Elements that a reference works on at a time: the fastest of 2^16, 2^18 and 2^20 (its float64 temporaries, 2 MiB,
stay in cache and are not given back to the system each time)."""

Box = tuple[slice, ...]

A = TypeVar("A")
B = TypeVar("B")


def thread_count() -> int:
    """Return the number of threads to use: the CPUs that this process may run on, 32 at most."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, 32)


def ranges(size: int, chunk: int = BLOCK) -> list[slice]:
    """Return the slices of at most `chunk` that cover 0 to size."""
    return [slice(start, min(start + chunk, size)) for start in range(0, size, chunk)]


def boxes(shape: tuple[int, ...], limit: int = BLOCK) -> Iterator[tuple[Box, slice]]:
    """Cut an array into boxes of at most `limit` elements whose elements follow each other in row-major order.

    Yields (one slice a dim, the slice of the flattened array), in order. Nothing for an empty array, one for a scalar.
    """
    if 0 in shape:
        return
    dim, inner = len(shape), 1
    while dim > 0 and inner * shape[dim - 1] <= max(limit, 1):
        dim -= 1
        inner *= shape[dim]
    whole = tuple(slice(0, size) for size in shape[dim:])
    if dim == 0:
        yield whole, slice(0, inner)
        return
    cut = dim - 1
    rows = ranges(shape[cut], max(limit // inner, 1))
    for number, outer in enumerate(product(*(range(size) for size in shape[:cut]))):
        start = number * shape[cut] * inner
        before = tuple(slice(place, place + 1) for place in outer)
        for row in rows:
            yield (*before, row, *whole), slice(start + row.start * inner, start + row.stop * inner)


def ordered(function: Callable[[A], B], items: Iterable[A], threads: int | None = None) -> Iterator[B]:
    """Yield function(item) for every item, in order, worked out by threads a few items ahead (numpy frees the GIL).

    At most two results a thread wait at a time, so memory stays bounded however many items there are.
    """
    workers = threads if threads is not None else thread_count()
    if workers <= 1:
        yield from map(function, items)
        return
    waiting: collections.deque[Future[B]] = collections.deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def run(function: Callable[[A], object], items: Iterable[A], threads: int | None = None) -> None:
    """Call function(item) for every item, by threads; the first error is raised."""
    for _ in ordered(function, items, threads):
        pass
