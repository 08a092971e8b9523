"""The host rule of cumsum/walked_lines.cu: a thread walks a few neighbouring lines, whatever the layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value
from gpubench.operators.coalesce import coalesce
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.geometry.vectors import items_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divider

Steps = tuple[int, ...]

SECTOR = 32
"""Bytes that the L1 cache brings at once."""

WALK_DIM = Struct("gpubench::WalkDim", "gpubench/movement/walk.cuh", size=INTEGER_DIVIDER, padding="i4", x="i8", y="i8")
LINE_WALK = Struct(
    "gpubench::LineWalk",
    "gpubench/movement/walk.cuh",
    vectors="u4",
    length="i4",
    **dict.fromkeys(("x_row", "y_row", "x_slow", "y_slow"), "i8"),
    **dict.fromkeys(("dims", "near_bits", "near", "far"), "i4"),
    places=(WALK_DIM, MAX_DIMS),
)


@dataclass(frozen=True, slots=True)
class Walk:
    """Lines in the order of y, in vectors of `items` of them: sizes, and the strides of x and y, in elements.

    far: the dim whose neighbours share sectors of x where those of the last dim do not, None where these do as well.
    """

    items: int
    sizes: Steps
    x_steps: Steps
    y_steps: Steps
    length: int
    x_row: int
    y_row: int
    far: int | None

    @property
    def vectors(self) -> int:
        """How many threads have work."""
        return math.prod(self.sizes)


def walk_of(problem: Problem[Any]) -> Walk | None:
    """Return the lines of a problem; None where y is not contiguous, or nothing is there."""
    x, y, dim = problem.operand("x").view, problem.operand("y").view, problem.params.dim
    if not y.is_contiguous or x.size == 0 or not x.shape:
        return None
    others = [place for place in range(len(x.shape)) if place != dim]
    strides = ([view.strides[place] for place in others] for view in (x, y))
    sizes, (x_steps, y_steps) = coalesce([x.shape[place] for place in others], *strides)
    items = vector_items(problem)
    rest = (x.offset, x.strides[dim], y.strides[dim], *x_steps[:-1], *y_steps[:-1])
    beside = sizes and x_steps[-1] == y_steps[-1] == 1 and sizes[-1] % items == 0
    if not beside or any(step % items for step in rest):
        items = 1
    else:
        sizes = (*sizes[:-1], sizes[-1] // items)
        x_steps, y_steps = (*x_steps[:-1], items), (*y_steps[:-1], items)
    far = _far_dim(x_steps, SECTOR // dtypes.dtype(problem.operand("x").dtype).itemsize)
    return Walk(items, sizes, x_steps, y_steps, x.shape[dim], x.strides[dim], y.strides[dim], far)


def _far_dim(x_steps: Steps, sector: int) -> int | None:
    """Return the dim whose places lie closest in x, if several share a sector and those of the last dim are further."""
    near = [(step, dim) for dim, step in enumerate(x_steps) if 0 < step < sector]
    step, dim = min(near, default=(0, None))
    return dim if dim is not None and step < x_steps[-1] else None


class WalkedLines:
    """Many lines, short ones or of any layout."""

    name: str = "walked_lines"
    summary: str = "a thread walks a few neighbouring lines, several rows on their way at a time"
    origin: str = "the naive walk with vectors, merged dims and loads ahead"
    source = "cumsum/walked_lines.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; blocks as small as spreads them over all SMs."""
        walk = walk_of(problem)
        if walk is None:
            return Refused("takes only a contiguous y with elements")
        if max(walk.vectors, walk.length) >= 2**31 or len(walk.sizes) > MAX_DIMS:
            return Refused(f"takes fewer than 2^31 elements a line, and vectors of lines of at most {MAX_DIMS} dims")
        few = (
            size
            for size in tuning.WALK_THREADS
            if walk.vectors >= tuned("WALK_BLOCKS", tuning.WALK_BLOCKS) * size * device.sm_count
        )
        threads = next(few, tuning.WALK_THREADS[-1])
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        rows, near = rows_at_once(walk, dtypes.dtype(x).itemsize, device), near_places(walk, y, threads)
        launch = Launch(
            self.source,
            kernel(x, y, walk.items, rows, walk.far is not None),
            (walk_blocks(walk, near, threads), 1, 1),
            (threads, 1, 1),
            (Pointer("x"), Pointer("y"), walk_argument(walk, near, threads)),
        )
        notes = {"items": walk.items, "threads": threads, "rows": rows} | ({"near": near} if near else {})
        return Plan(self.name, (launch,), bound(problem), notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of rows, for vectors, for single lines and for tiles of them."""
        y = sum_dtype(dtype)
        shapes = dict.fromkeys(((items_of(dtype, y), False), (1, False), (1, True)))
        return [
            (self.source, kernel(dtype, y, items, rows, tiled))
            for items, tiled in shapes
            for rows in tuning.WALK_ROWS
            if rows < tuning.WALK_ROWS[-1] or items * dtypes.dtype(dtype).itemsize <= tuning.WALK_BYTES
        ]


def near_places(walk: Walk, y: str, threads: int) -> int:
    """Return the places of a tile that are neighbours in y, a power of two: WALK_RUN of bytes, fewer or more where
    either dim is short; 0 where there are no tiles.
    """
    if walk.far is None:
        return 0
    wanted = max(tuning.WALK_RUN // dtypes.dtype(y).itemsize, 1)
    least = ceil_div(threads, power_of_two(walk.sizes[walk.far]))
    return min(max(wanted, least), power_of_two(walk.sizes[-1]), threads)


def walk_tiles(walk: Walk, near: int, threads: int) -> tuple[int, int]:
    """Return how many tiles there are along the last dim and along the far one."""
    assert walk.far is not None
    return -(-walk.sizes[-1] // near), -(-walk.sizes[walk.far] // (threads // near))


def walk_blocks(walk: Walk, near: int, threads: int) -> int:
    """Return the blocks of a walk."""
    if walk.far is None:
        return -(-walk.vectors // threads)
    rest = walk.vectors // (walk.sizes[-1] * walk.sizes[walk.far])
    return rest * math.prod(walk_tiles(walk, near, threads))


def walk_argument(walk: Walk, near: int, threads: int) -> Value:
    """Return the kernel's `LineWalk`."""
    dims = list(zip(walk.sizes, walk.x_steps, walk.y_steps, strict=True))
    first = []
    if walk.far is not None:
        ends = dims.pop(), dims.pop(walk.far)
        first = [(tiles, *steps) for tiles, (_, *steps) in zip(walk_tiles(walk, near, threads), ends, strict=True)]
    (_, *slow), *quick = dims or [(1, 0, 0)]
    places = [(divider(size), 0, *steps) for size, *steps in (*first, *reversed(quick))]
    return LINE_WALK.value(
        walk,
        dims=len(places),
        x_slow=slow[0],
        y_slow=slow[1],
        near=walk.sizes[-1] if first else 0,
        far=walk.sizes[walk.far] if walk.far is not None else 0,
        near_bits=max(near.bit_length() - 1, 0),
        places=places + [(divider(1), 0, 0, 0)] * (MAX_DIMS - len(places)),
    )


def rows_at_once(walk: Walk, itemsize: int, device: DeviceInfo) -> int:
    """Return the rows under way: no more than there are; more where threads are few, or bring single elements."""
    *_, usual, more, most = tuning.WALK_ROWS
    few = walk.vectors < tuned("WALK_FEW", tuning.WALK_FEW) * device.sm_count
    narrow = walk.items * itemsize <= tuning.WALK_BYTES
    wanted = most if few and narrow else more if few or walk.items == 1 else usual
    return next(rows for rows in tuning.WALK_ROWS if rows >= min(walk.length, wanted))


def kernel(x: str, y: str, items: int, rows: int, tiled: bool) -> str:
    """Return the name expression."""
    return "gpubench::cumsum::walked_lines" + template(x, y, items, rows, tiled)
