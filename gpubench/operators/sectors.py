"""How many bytes of memory a problem touches: memory moves whole sectors of 32 bytes, whoever asks for how little.

Operands without gaps touch what they hold. Elements with gaps between them, and rows picked here and there, bring the
bytes around them as well, so no kernel can reach the rate of a plain copy on their own bytes alone.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from gpubench.dtypes import dtype
from gpubench.layout import View
from gpubench.model import Operand, Problem

SECTOR = 32
"""Bytes that a GPU's L2 cache takes from memory at a time, at least."""

CACHE_LINE = 128
"""Bytes of a line of the caches."""


def touched_bytes(problem: Problem[Any]) -> tuple[int, int]:
    """Return the bytes of all touched sectors (read, written). Nothing where the problem moves nothing."""
    if problem.touched is not None or problem.bytes == 0:
        return problem.touched or (0, 0)
    read = sum(operand_bytes(operand) for operand in problem.operands if operand.role in ("in", "inout"))
    return read, sum(operand_bytes(operand) for operand in problem.operands if operand.role in ("out", "inout"))


def operand_bytes(operand: Operand) -> int:
    """Return the bytes of the sectors that an operand's elements lie in."""
    return SECTOR * sectors(operand.view, dtype(operand.dtype).itemsize)


def sectors(view: View, itemsize: int) -> int:
    """Return the number of sectors that a view's elements lie in, in an allocation that begins with a sector.

    Dims are taken from the closest neighbours outwards. Where the gap between two runs of bytes has no room for a
    sector (under 32 bytes) they are one run; from the first dim with wider gaps on, runs are apart, and what counts is
    how far into its sector each begins. Exact for dims that do not interleave, but for sectors at the ends of two outer
    runs that come within 32 bytes of each other.
    """
    if view.size == 0:
        return 0
    dims = sorted((abs(stride) * itemsize, n) for n, stride in zip(view.shape, view.strides, strict=True) if n > 1)
    run = itemsize
    apart: list[tuple[int, int]] = []
    for distance, n in dims:
        if distance == 0:
            continue
        if not apart and distance - run < SECTOR:
            run += (n - 1) * distance
        else:
            apart.append((distance, n))
    begins = Counter({view.offset * itemsize % SECTOR: 1})
    for distance, n in apart:
        begins = _spread(begins, distance, n)
    return sum(count * -(-(begin + run) // SECTOR) for begin, count in begins.items())


def _spread(begins: Counter[int], distance: int, n: int) -> Counter[int]:
    """Return how often runs begin so many bytes into a sector when each is repeated n times at a distance."""
    period = SECTOR // math.gcd(distance, SECTOR)
    spread: Counter[int] = Counter()
    for step in range(min(period, n)):
        times = -(-(n - step) // period)
        for begin, count in begins.items():
            spread[(begin + step * distance) % SECTOR] += times * count
    return spread


def picked_sectors(distance: int, run: int, places: int, picked: int) -> int:
    """Return the expected number of sectors touched when `picked` of `places` runs of bytes are picked evenly.

    Each run has `run` bytes and begins `distance` bytes (at least `run`) after the one before. A sector that m runs
    share is touched with a chance of 1 - (1 - picked / places)^m.
    """
    if not places or not picked:
        return 0
    share = min(picked / places, 1.0)
    period = SECTOR // math.gcd(distance, SECTOR)
    periods, rest = divmod(places, period)
    return max(1, round(periods * _picked(distance, run, period, share) + _picked(distance, run, rest, share)))


def _picked(distance: int, run: int, places: int, share: float) -> float:
    """Return the expected number of sectors touched of the first runs, each picked with a chance of `share`."""
    inner = 0
    ends: Counter[int] = Counter()
    for number in range(places):
        first, last = number * distance // SECTOR, (number * distance + run - 1) // SECTOR
        inner += max(last - first - 1, 0)  # a sector between both ends of a run belongs to no other
        ends.update({first, last})
    return inner * share + sum(1 - (1 - share) ** runs for runs in ends.values())
