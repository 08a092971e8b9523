"""Columns cut into strips, a block each: which cut takes least time.

Wide strips read whole sectors, narrow ones are more and keep more SMs busy; tall tiles are fewer, short ones take
blocks of fewer warps, of which more share an SM. All that is weighed in one sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Problem
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.tuning import StripShape, StripTimes
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.cuts import Cut, cut_columns
from gpubench.operators.geometry.vectors import vector_items
from gpubench.operators.sectors import SECTOR

MOST_WARPS = 16
"""Of an SM, by the registers of a thread."""


FULL_BLOCK = 256
"""Rows of a thread times warps with which a block takes all registers of an SM."""


@dataclass(frozen=True, slots=True)
class Elements:
    """What a cut depends on beside the columns: bytes of x and y, the widest vector on which every row starts,
    whether rows of y start within sectors, and whether these are more than the L2 cache keeps until both strips have
    written their share.
    """

    x_bytes: int
    y_bytes: int
    widest: int
    cuts_sectors: bool
    cuts_memory: bool = False


@dataclass(frozen=True, slots=True)
class Strips:
    """A cut: columns of a thread, the shape of a strip, and how many there are. us: estimated time, microseconds."""

    items: int
    shape: StripShape
    cut: Cut
    us: float


def strip_items(problem: Problem[Any], columns: Columns) -> int:
    """Return the most columns of one thread of columns.cu: the widest vector on which every row of x and y starts.

    Less than one of 16 bytes, too, where that would take too many registers.
    """
    offset, items = problem.operand("x").view.offset, min(vector_items(problem), tuning.STRIP_ITEMS)
    while not columns.on_grid(offset, items):
        items //= 2
    return items


def best_strips(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> Strips:
    """Return the cut of `columns` that is estimated to take least time."""
    x, y = (dtypes.dtype(operand.dtype).itemsize for operand in problem.operands)
    widest = strip_items(problem, columns)
    cuts = columns.inner * y % SECTOR != 0
    elements = Elements(x, y, widest, cuts, cuts and problem.bytes > device.l2_bytes)
    wanted = tuned("STRIP", None)
    if wanted is not None:
        return cut_strips(columns, elements, widest, StripShape(*wanted), device.sm_count)
    return _best(columns, elements, device.sm_count)


@lru_cache(1024)
def _best(columns: Columns, elements: Elements, sm_count: int) -> Strips:
    cuts = (cut_strips(columns, elements, items, shape, sm_count) for items, shape in _shapes(elements))
    torn = tuning.TORN_BYTES * columns.outer * columns.length / (tuning.STRIP_TIMES.sm_bytes * sm_count)
    worth = (strips for strips in cuts if _is_worth_a_try(strips))
    return min(worth, key=lambda strips: strips.us + torn * strips.cut.strips * elements.cuts_memory)


def _shapes(elements: Elements) -> Iterator[tuple[int, StripShape]]:
    """Yield the columns of a thread, and the shapes of strips, widest first."""
    items = elements.widest
    while items > 0:
        for lanes in tuning.STRIP_LANES:
            if lanes * items <= tuning.STRIP_WIDTH and (items >= lanes or lanes >= SECTOR // 4):
                for rows in strip_rows(elements.x_bytes, items):
                    yield from ((items, StripShape(lanes, rows, warps, 1)) for warps in tuning.STRIP_WARPS)
        items //= 2


def strip_rows(x_bytes: int, items: int) -> tuple[int, ...]:
    """Return the rows that a thread may take."""
    return tuning.SINGLE_ROWS if items == 1 and x_bytes <= tuning.SINGLE_BYTES else (tuning.STRIP_ROWS,)


def _is_worth_a_try(strips: Strips) -> bool:
    """Tell whether blocks have warps enough to hide their many turns through a strip."""
    return strips.cut.tiles <= 8 * strips.shape.warps or strips.shape.warps >= 8


def tile_rows(shape: StripShape) -> int:
    """Return the rows of a tile."""
    return shape.warps * 32 // shape.lanes * shape.rows


def cut_strips(columns: Columns, elements: Elements, items: int, shape: StripShape, sm_count: int) -> Strips:
    """Cut columns into strips of a shape, and estimate what they take."""
    cut = cut_columns(columns, shape.lanes * items, tile_rows(shape))
    return Strips(items, shape, cut, time_us(columns, elements, items, shape, cut, sm_count, tuning.STRIP_TIMES))


def time_us(
    columns: Columns, elements: Elements, items: int, shape: StripShape, cut: Cut, sm_count: int, of: StripTimes
) -> float:
    """Estimate the time of a cut, microseconds: blocks that share an SM take turns, each goes through its tiles.

    A tile takes what its loads wait for, a little for each step of the scan over lanes, and its bytes: those of the
    elements, some for each element's instructions, for each row's cut sectors, and for those of y between strips.
    """
    width, blocks = shape.lanes * items, cut.strips * columns.outer
    resident = max(MOST_WARPS // shape.warps, 1)
    together = min(-(-blocks // sm_count), resident)
    ends = cut.strips * width
    row = width * (columns.inner / ends * (elements.x_bytes + elements.y_bytes) + of.element_bytes) + of.row_bytes
    row += of.cut_bytes * elements.cuts_sectors
    data = together * min(tile_rows(shape), columns.length) * row / of.sm_bytes
    tile = of.tile + of.doubling * math.log2(32 / shape.lanes) + data
    share = blocks / (sm_count * resident)
    turns = of.whole_turns * math.ceil(share) + (1 - of.whole_turns) * max(share, 1.0)
    full = of.full if shape.warps * shape.rows >= FULL_BLOCK else 1.0
    return full * (of.launch + turns * (of.begin + cut.tiles * tile))


def shared_us(problem: Problem[Any], device: DeviceInfo) -> float:
    """Estimate the time of strips that blocks share, microseconds: the exchange, and what must move."""
    x = problem.operand("x").view
    work = problem.bytes + tuning.STRIP_TIMES.element_bytes * x.size
    part = tuning.SHARED_SHORT if x.shape[problem.params.dim] <= tuning.SHARED_TALL else 1.0
    return tuned("SHARED_US", tuning.SHARED_US) + work / (part * tuning.SHARED_SM_BYTES * device.sm_count)
