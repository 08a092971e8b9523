"""The host rule of cumsum/walked_lines.cu: a thread walks a few neighbouring lines, whatever the layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.coalesce import coalesce
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.geometry.vectors import items_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import MAX_DIMS, divided_strided, int32, int64

Steps = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """Lines in the order of y, in vectors of `items` of them: sizes, and the strides of x and y, in elements."""

    items: int
    sizes: Steps
    x_steps: Steps
    y_steps: Steps
    length: int
    x_step: int
    y_step: int

    @property
    def vectors(self) -> int:
        """How many threads have work."""
        count = 1
        for size in self.sizes:
            count *= size
        return count


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
    return Walk(items, sizes, x_steps, y_steps, x.shape[dim], x.strides[dim], y.strides[dim])


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
        if walk.vectors >= 2**31 or len(walk.sizes) > MAX_DIMS:
            return Refused(f"takes fewer than 2^31 vectors of lines, of at most {MAX_DIMS} dims")
        few = (
            size
            for size in tuning.WALK_THREADS
            if walk.vectors >= tuned("WALK_BLOCKS", tuning.WALK_BLOCKS) * size * device.sm_count
        )
        threads = next(few, tuning.WALK_THREADS[-1])
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        rows = rows_at_once(walk, device)
        launch = Launch(
            self.source,
            kernel(x, y, walk.items, rows),
            (-(-walk.vectors // threads), 1, 1),
            (threads, 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                divided_strided(walk.sizes, walk.x_steps),
                divided_strided(walk.sizes, walk.y_steps),
                int32(walk.vectors),
                int64(walk.length),
                int64(walk.x_step),
                int64(walk.y_step),
            ),
        )
        notes = {"items": walk.items, "threads": threads, "rows": rows}
        return Plan(self.name, (launch,), bound(problem), notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of rows, for vectors and for single lines."""
        y = sum_dtype(dtype)
        counts = dict.fromkeys((items_of(dtype, y), 1))
        return [(self.source, kernel(dtype, y, items, rows)) for items in counts for rows in tuning.WALK_ROWS]


def rows_at_once(walk: Walk, device: DeviceInfo) -> int:
    """Return the rows under way: more where threads are few, or bring single elements."""
    usual, more = tuning.WALK_ROWS
    few = walk.vectors < tuned("WALK_FEW", tuning.WALK_FEW) * device.sm_count
    return more if walk.length > usual and (few or walk.items == 1) else usual


def kernel(x: str, y: str, items: int, rows: int) -> str:
    """Return the name expression."""
    return "gpubench::cumsum::walked_lines" + template(x, y, items, rows)
