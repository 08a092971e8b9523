"""Lines as `walked_lines` goes through them: over the dims that are not summed, as in y, in vectors or tiles."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Problem, Value
from gpubench.operators.coalesce import coalesce
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.geometry.vectors import vector_items
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
    y_apart="i8",
    places=(WALK_DIM, MAX_DIMS),
)


@dataclass(frozen=True, slots=True)
class Walk:
    """Lines in the order of y, in vectors of `items` of them: sizes, and the strides of x and y, in elements.

    far: the dim whose neighbours share sectors of x where those of the last dim do not, None where these do as well.
    Vectors then lie along that dim, and their lines y_apart from each other in y.
    """

    items: int
    sizes: Steps
    x_steps: Steps
    y_steps: Steps
    length: int
    x_row: int
    y_row: int
    far: int | None
    y_apart: int = 0

    @property
    def vectors(self) -> int:
        """How many threads have work."""
        return math.prod(self.sizes)


def lines_of(problem: Problem[Any]) -> Walk | None:
    """Return the lines of a problem, each by itself; None where y is not contiguous, or nothing is there."""
    x, y, dim = problem.operand("x").view, problem.operand("y").view, problem.params.dim
    if not y.is_contiguous or x.size == 0 or not x.shape:
        return None
    others = [place for place in range(len(x.shape)) if place != dim]
    strides = ([view.strides[place] for place in others] for view in (x, y))
    sizes, (x_steps, y_steps) = coalesce([x.shape[place] for place in others], *strides)
    return Walk(1, sizes, x_steps, y_steps, x.shape[dim], x.strides[dim], y.strides[dim], None)


def walk_of(problem: Problem[Any]) -> Walk | None:
    """Return the lines of a problem in vectors, and in tiles where that helps; None as above."""
    walk = lines_of(problem)
    if walk is None or not walk.sizes:
        return walk
    x = problem.operand("x")
    itemsize, last = dtypes.dtype(x.dtype).itemsize, len(walk.sizes) - 1
    if walk.x_steps[last] == walk.y_steps[last] == 1:
        items = vector_items(problem)
        whole = _stands_on(items, x.view.offset, walk, last) and not any(
            step % items for step in (walk.y_row, *walk.y_steps[:last])
        )
        return _widened(walk, last, items) if whole else walk
    far = _far_dim(walk.x_steps, SECTOR // itemsize)
    if far is None or walk.sizes[far] * walk.sizes[last] <= tuning.WALK_THREADS[0]:
        return walk  # a block without tiles holds both dims
    items = max(min(tuning.FAR_ITEMS, tuning.FAR_BYTES // itemsize), 1) if walk.x_steps[far] == 1 else 1
    least = tuned("FAR_LEAST", tuning.FAR_LEAST)
    while not _stands_on(items, x.view.offset, walk, far) or (items > 1 and walk.vectors < items * least):
        items //= 2
    return dataclasses.replace(_widened(walk, far, items), far=far, y_apart=walk.y_steps[far])


def _stands_on(items: int, offset: int, walk: Walk, dim: int) -> bool:
    """Tell whether x stands on vectors of so many neighbours along a dim, wherever lines and rows begin."""
    steps = (offset, walk.x_row, walk.sizes[dim], *walk.x_steps[:dim], *walk.x_steps[dim + 1 :])
    return all(step % items == 0 for step in steps)


def _widened(walk: Walk, dim: int, items: int) -> Walk:
    """Return a walk with vectors of so many neighbours along a dim in the place of its lines."""
    shares = [items if place == dim else 1 for place in range(len(walk.sizes))]
    return dataclasses.replace(
        walk,
        items=items,
        sizes=tuple(size // share for size, share in zip(walk.sizes, shares, strict=True)),
        x_steps=tuple(step * share for step, share in zip(walk.x_steps, shares, strict=True)),
        y_steps=tuple(step * share for step, share in zip(walk.y_steps, shares, strict=True)),
    )


def _far_dim(x_steps: Steps, sector: int) -> int | None:
    """Return the dim whose places lie closest in x, if several share a sector and those of the last dim are further."""
    near = [(step, dim) for dim, step in enumerate(x_steps) if 0 < step < sector]
    step, dim = min(near, default=(0, None))
    return dim if dim is not None and step < x_steps[-1] else None


def near_places(walk: Walk, x_itemsize: int, y_itemsize: int, threads: int) -> int:
    """Return the places of a tile that are neighbours in y, a power of two: WALK_RUN of bytes, fewer or more where
    either dim is short; 0 where there are no tiles.

    A short dim that a tile holds whole is not cut: what is left of it would be a tile as well.
    """
    if walk.far is None:
        return 0
    whole = power_of_two(walk.sizes[-1])
    if threads // whole * walk.items * x_itemsize >= SECTOR // 2:
        return whole
    wanted = max(tuning.WALK_RUN // y_itemsize, 1)
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
