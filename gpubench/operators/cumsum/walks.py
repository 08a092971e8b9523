"""Lines as `walked_lines` goes through them: over the dims that are not summed, as in y, in vectors or tiles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Problem, Value
from gpubench.operators.coalesce import coalesce
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import walk_tuning
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.geometry.vectors import VECTOR_BYTES, vector_items
from gpubench.operators.sectors import SECTOR
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divider

Steps = tuple[int, ...]

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

SHORT_DIM = Struct("gpubench::ShortDim", "gpubench/movement/walk.cuh", size=INTEGER_DIVIDER, x="i4", y="i4")
SHORT_DIMS = 2
SHORT_WALK = Struct(
    "gpubench::ShortWalk",
    "gpubench/movement/walk.cuh",
    vectors="u4",
    length="i4",
    **dict.fromkeys(("x_row", "y_row", "x_slow", "y_slow"), "i4"),
    quick=(SHORT_DIM, SHORT_DIMS),
)

MOST_SHORT = 2**31
"""Elements between the first and the last of a `ShortWalk`, at most: also what a thread's last step adds up to."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Lines in the order of y, in vectors of `items` of them: sizes, and the strides of x and y, in elements.

    far: the dim whose neighbours share sectors of x where those of the last dim do not, None where these do as well.
    Vectors then lie along that dim, and their lines y_apart from each other in y.
    x_run, y_run: rows that lie side by side in x, in y, and move at once, a power of two; they divide `length`.
    lanes: that have the same lines, and of each sector of y store a part.
    staged: tiles go to y through shared memory, for their lines are contiguous there, in runs of less than a sector.
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
    x_run: int = 1
    y_run: int = 1
    lanes: int = 1
    staged: bool = False

    @property
    def vectors(self) -> int:
        """How many threads, or pairs of them, have work."""
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
    """Return the lines of a problem in vectors or runs, and in tiles where that helps; None as above."""
    walk = lines_of(problem)
    if walk is None or not walk.sizes:
        return walk
    x = problem.operand("x")
    itemsize, last = dtypes.dtype(x.dtype).itemsize, len(walk.sizes) - 1
    y_itemsize = dtypes.dtype(problem.operand("y").dtype).itemsize
    if walk.x_steps[last] == walk.y_steps[last] == 1:
        most = vector_items(problem)
        items = _longest_run(most, walk.y_row, *walk.y_steps[:last], *_steps_of(x.view.offset, walk, last))
        few = walk.vectors < items * tuned("FAR_LEAST", walk_tuning.FAR_LEAST)
        return walk if items < most and few else _widened(walk, last, items)
    walk = _in_runs(walk, x.view.offset, itemsize, y_itemsize)
    far = _far_dim(walk.x_steps, SECTOR // itemsize)
    if far is None or not _is_worth_tiles(walk, far, itemsize):
        return _widened(walk, last, _neighbours(walk, last, _lines_a_vector(walk, y_itemsize), x.view.offset))
    items = _far_items(itemsize) if walk.y_steps[far] >= walk_tuning.FAR_ITEMS else 1  # else stores full of gaps
    widened = _widened(walk, far, _neighbours(walk, far, items, x.view.offset))
    staged = walk.y_row == walk.x_run == walk.lanes == 1 and walk.y_run < walk.length
    staged = staged and x.view.size >= tuned("STAGED_LEAST", walk_tuning.STAGED_LEAST)
    y_run = 1 if staged else walk.y_run
    return dataclasses.replace(widened, far=far, y_apart=walk.y_steps[far], staged=staged, y_run=y_run)


def _is_worth_tiles(walk: Walk, far: int, itemsize: int) -> bool:
    """Tell whether tiles along a far dim bring fewer sectors of x than blocks of lines that follow each other in y.

    Those hold all of that dim where it and what is behind it are few. Where tiles would leave a block mostly empty,
    they are worth it if none of its lines shared sectors, of which a run along the dim fills at least one; but not for
    little x of which a few lines side by side go to y.
    """
    most = walk_tuning.WALK_THREADS[0]
    if math.prod(walk.sizes[far:]) <= most:
        return False
    if walk.sizes[far] * walk.sizes[-1] > most:
        return True
    filled = walk.sizes[far] * itemsize >= SECTOR and itemsize <= walk_tuning.EMPTY_BYTES
    much = walk.vectors * walk.length * itemsize >= walk_tuning.EMPTY_MUCH
    alone = min(walk.x_steps[far + 1 :]) * itemsize >= SECTOR
    return filled and alone and (much or walk.sizes[-1] >= walk_tuning.EMPTY_NARROW)


def _far_items(itemsize: int) -> int:
    """Return the lines of a thread, at most, that are neighbours in x alone."""
    return max(min(walk_tuning.FAR_ITEMS, walk_tuning.FAR_BYTES // itemsize), 1)


def _in_runs(walk: Walk, offset: int, itemsize: int, y_itemsize: int) -> Walk:
    """Return a walk by runs of its lines where these are contiguous: of up to a vector in x, of up to a sector in y.

    Two lanes write a sector of y at once, even where its line has no neighbours: in part it might leave the L2 cache.
    """
    x_run = _longest_run(VECTOR_BYTES // itemsize, walk.length, offset, *walk.x_steps) if walk.x_row == 1 else 1
    y_run = _longest_run(SECTOR // y_itemsize, walk.length) if walk.y_row == 1 else 1
    y_run = min(x_run, y_run) if x_run > 1 else y_run  # for fewer forms
    return dataclasses.replace(walk, x_run=x_run, y_run=y_run, lanes=2 if y_run * y_itemsize == SECTOR else 1)


def _longest_run(most: int, *steps: int) -> int:
    """Return the largest divisor of `most`, a power of two, that divides all these numbers."""
    return math.gcd(most, *steps)


def _lines_a_vector(walk: Walk, y_itemsize: int) -> int:
    """Return the lines of a vector of y, where each is a run of less, and neighbours are so in x and in y."""
    beside = walk.x_steps[-1] == 1 and walk.y_steps[-1] == walk.y_run == walk.length
    return max(VECTOR_BYTES // (walk.length * y_itemsize), 1) if beside else 1


def _neighbours(walk: Walk, dim: int, most: int, offset: int) -> int:
    """Return the lines of a thread, neighbours in x along a dim: `most`, or fewer where x does not stand on so many or
    few threads would be left.
    """
    items, least = most if walk.x_steps[dim] == 1 else 1, tuned("FAR_LEAST", walk_tuning.FAR_LEAST)
    while not _stands_on(items, offset, walk, dim) or (items > 1 and walk.vectors < items * least):
        items //= 2
    return items


def _stands_on(items: int, offset: int, walk: Walk, dim: int) -> bool:
    """Tell whether x stands on vectors of so many neighbours along a dim, wherever lines and rows begin."""
    return all(step % items == 0 for step in _steps_of(offset, walk, dim))


def _steps_of(offset: int, walk: Walk, dim: int) -> Steps:
    """Return what must be whole vectors of neighbours along a dim: the distances in x, and how many there are."""
    return (offset, walk.x_row, walk.sizes[dim], *walk.x_steps[:dim], *walk.x_steps[dim + 1 :])


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
    run = min(walk.length, walk_tuning.WALK_ROWS[-1]) if walk.staged else walk.y_run
    wanted = power_of_two(max(walk_tuning.WALK_RUN // (y_itemsize * run), 1))
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


def short_argument(walk: Walk) -> Value:
    """Return the kernel's `ShortWalk` of a walk that `is_short`."""
    (_, *slow), *quick = list(zip(walk.sizes, walk.x_steps, walk.y_steps, strict=True)) or [(1, 0, 0)]
    dims = [(divider(size), *steps) for size, *steps in reversed(quick)]
    unused = [(divider(1), 0, 0)] * (SHORT_DIMS - len(dims))
    return SHORT_WALK.value(walk, x_slow=slow[0], y_slow=slow[1], quick=dims + unused)


def is_short(walk: Walk, rows: int, nbytes: int) -> bool:
    """Tell whether a line is one turn of so many rows, in few dims, whose distances in x and y fit 32 bits; and the
    rows, or the bytes of x and y, so few that the code counts.
    """
    if walk.far is not None or walk.length > rows or len(walk.sizes) > SHORT_DIMS + 1:
        return False
    if rows > walk_tuning.SHORT_TURN and nbytes > walk_tuning.SHORT_BYTES:
        return False
    sizes = (*walk.sizes, rows)
    x_end, y_end = sum(map(mul, sizes, (*walk.x_steps, walk.x_row))), sum(map(mul, sizes, (*walk.y_steps, walk.y_row)))
    return bool(max(x_end, y_end, walk.vectors * walk.lanes) < MOST_SHORT)


def rows_at_once(walk: Walk, itemsize: int, device: DeviceInfo) -> int:
    """Return the rows under way: no more than there are; more where threads are few, or bring single elements."""
    *_, usual, more, most = walk_tuning.WALK_ROWS
    few = walk.vectors < tuned("WALK_FEW", walk_tuning.WALK_FEW) * device.sm_count
    narrow = walk.items * itemsize <= walk_tuning.WALK_BYTES
    single = walk.items == 1 or walk.items * itemsize <= walk_tuning.WALK_WORD
    wanted = max(most if few and narrow else more if few or single else usual, walk.y_run)
    if walk.staged:  # a whole line, for less is stored in pieces that cut sectors
        wanted = most if narrow and walk.length <= most else more
    return next(rows for rows in walk_tuning.WALK_ROWS if rows >= min(walk.length, wanted))


def walk_forms(itemsize: int, y_itemsize: int) -> Sequence[tuple[int, bool, tuple[int, int]]]:
    """Return (items, tiled, (x_run, y_run)) of the walks of elements of so many bytes in x and in y, each form once."""
    vector = max(VECTOR_BYTES // max(itemsize, y_itemsize), 1)
    x_runs, y_runs = _powers(VECTOR_BYTES // itemsize), _powers(SECTOR // y_itemsize)
    forms = [
        *((items, False, (1, 1)) for items in reversed(_powers(vector))),
        *((items, True, (1, run)) for items in _powers(_far_items(itemsize)) for run in y_runs),
        *((1, tiled, (run, side)) for tiled in (False, True) for run in x_runs for side in (1, min(run, y_runs[-1]))),
        *((items, False, (1, run)) for run in y_runs[1:] for items in _powers(VECTOR_BYTES // (run * y_itemsize))),
    ]
    return list(dict.fromkeys(forms))


def _powers(most: int) -> Sequence[int]:
    """Return the powers of two up to `most`; 1 in any case."""
    return [1 << power for power in range(max(most, 1).bit_length())]
