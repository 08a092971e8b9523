"""The host rule of cumsum/walked_lines.cu: a thread walks a few lines of any layout, or several share one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import line_runs, spread_runs, walk_tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.walks import (
    SHORT_DIMS,
    Walk,
    is_short,
    lines_of,
    near_places,
    rows_at_once,
    short_argument,
    walk_argument,
    walk_blocks,
    walk_forms,
    walk_of,
)
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.geometry.vectors import items_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import MAX_DIMS

SHORT_SOURCE = "cumsum/short_lines.cu"
"""Where the kernel of lines that are one turn stands."""


class WalkedLines:
    """Many lines, short ones or of any layout."""

    name: str = "walked_lines"
    summary: str = (
        "a thread walks a few neighbouring lines, several rows on their way at a time; of few, many share a line"
    )
    origin: str = "the naive walk with vectors, merged dims and loads ahead"
    source = "cumsum/walked_lines.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; blocks as small as spreads them over all SMs."""
        walk = walk_of(problem)
        if walk is None:
            return Refused("takes only a contiguous y with elements")
        if max(walk.vectors, walk.length) >= 2**31 or len(walk.sizes) > MAX_DIMS:
            return Refused(f"takes fewer than 2^31 elements a line, and vectors of lines of at most {MAX_DIMS} dims")
        if (taken := line_runs.taken_runs(problem, device)) is not None:
            return line_runs.plan_runs(self.name, problem, *taken)
        if (spread := spread_runs.taken_spread(problem, device)) is not None:
            return spread_runs.plan_spread(self.name, problem, *spread)
        return _shared(problem) if shares_lines(problem, device) else _alone(problem, walk, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of rows, for vectors, single lines and tiles; those of shared lines and of runs."""
        y = sum_dtype(dtype)
        itemsize, y_itemsize = dtypes.dtype(dtype).itemsize, dtypes.dtype(y).itemsize
        forms = [
            (items, rows, tiled, runs)
            for items, tiled, runs in walk_forms(itemsize, y_itemsize)
            for rows in walk_tuning.WALK_ROWS
            if rows >= max(runs) and (rows < walk_tuning.WALK_ROWS[-1] or items * itemsize <= walk_tuning.WALK_BYTES)
        ]
        walked = [kernel(dtype, y, *form) for form in forms]
        short = [
            short_kernel(dtype, y, items, rows, dims, runs)
            for items, rows, tiled, runs in forms
            if not tiled
            for dims in range(1, SHORT_DIMS + 1)
        ]
        staged = [
            staged_kernel(dtype, y, items, rows) for items, rows, tiled, runs in forms if tiled and max(runs) == 1
        ]
        shared = [shared_kernel(dtype, y, vectors) for vectors in (0, *shared_vectors(items_of(dtype, y)))]
        names = [(self.source, name) for name in (*walked, *staged, *shared)]
        runs = [*line_runs.instances(dtype), *spread_runs.instances(dtype)]
        return [*names, *((SHORT_SOURCE, name) for name in short), *runs]


def _alone(problem: Problem[Any], walk: Walk, device: DeviceInfo) -> Plan:
    """Return the plan by which each thread has a vector of lines."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    x_itemsize, y_itemsize = (dtypes.dtype(name).itemsize for name in (x, y))
    rows = rows_at_once(walk, x_itemsize, device)
    least = tuned("WALK_BLOCKS", walk_tuning.WALK_BLOCKS) * device.sm_count
    fit = (
        size
        for size in walk_tuning.WALK_THREADS
        if walk.vectors * walk.lanes >= least * size
        and _stage_bytes(walk, size, rows, y_itemsize) <= walk_tuning.STAGED_BYTES
    )
    threads = next(fit, walk_tuning.WALK_THREADS[-1])
    places = threads // walk.lanes
    near = near_places(walk, x_itemsize, y_itemsize, places)
    short = is_short(walk, rows, problem.bytes)
    launch = Launch(
        SHORT_SOURCE if short else WalkedLines.source,
        _kernel_of(walk, x, y, rows, short=short),
        (walk_blocks(walk, near, places), 1, 1),
        (threads, 1, 1),
        (Pointer("x"), Pointer("y"), short_argument(walk) if short else walk_argument(walk, near, places)),
        shared_bytes=_stage_bytes(walk, threads, rows, y_itemsize),
    )
    notes = {"items": walk.items, "threads": threads, "rows": rows} | ({"near": near} if near else {})
    notes |= {"staged": True} if walk.staged else {}
    notes |= {"x_run": walk.x_run, "y_run": walk.y_run} if max(walk.x_run, walk.y_run) > 1 else {}
    return Plan(WalkedLines.name, (launch,), bound(problem), notes=notes)


def _kernel_of(walk: Walk, x: str, y: str, rows: int, *, short: bool) -> str:
    """Return the name expression of a walk of so many rows at once."""
    runs = walk.x_run, walk.y_run
    if short:
        return short_kernel(x, y, walk.items, rows, max(len(walk.sizes) - 1, 1), runs)
    if walk.staged:
        return staged_kernel(x, y, walk.items, rows)
    return kernel(x, y, walk.items, rows, walk.far is not None, runs)


def _stage_bytes(walk: Walk, threads: int, rows: int, y_itemsize: int) -> int:
    """Return the shared memory in which a tile waits, none unless it does; a lone element for each run of it, too, at
    most one a thread's line: so runs begin in different banks.
    """
    return threads * walk.items * (min(walk.length, rows) + 1) * y_itemsize if walk.staged else 0


def takes_one_turn(problem: Problem[Any], device: DeviceInfo) -> bool:
    """Tell whether a line comes in one turn: all its rows are under way at once."""
    walk = walk_of(problem)
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    return walk is not None and walk.length <= rows_at_once(walk, itemsize, device)


def shares_lines(problem: Problem[Any], device: DeviceInfo, *, columns: bool = False) -> bool:
    """Tell whether a walk would take several turns, or one that `_is_slow`, for so little data that threads had better
    share a line. columns: whether strips are the other way, not a walk or a copy.
    """
    lines = lines_of(problem)
    if lines is None or (takes_one_turn(problem, device) and not _is_slow(lines, device)):
        return False
    apart = max((lines.x_row != 1) + (lines.y_row != 1), 1)
    few = lines.length >= walk_tuning.LONG_WALK and lines.vectors <= walk_tuning.WALKS and not columns
    most = tuned("WALK_SHARED", walk_tuning.WALK_SHARED) * (2 if few else 1)
    little = lines.vectors * lines.length * apart <= most
    items = vector_items(problem)
    fits = ceil_div(lines.length, items) <= 32 * 32 * shared_vectors(items)[-1]
    return little and fits


def _is_slow(lines: Walk, device: DeviceInfo) -> bool:
    """Tell whether one turn is long for so few threads, and lanes would read x along its lines."""
    few = lines.vectors <= walk_tuning.SHARED_FEW * device.sm_count
    return few and lines.x_row == 1 < lines.y_row and lines.length >= walk_tuning.SHARED_LINE


def shared_vectors(items: int) -> tuple[int, ...]:
    """Return the vectors of a thread where a block has a line: few, or as many as its registers hold."""
    return (2, 4) if items <= 4 else (2,)


def _shared(problem: Problem[Any]) -> Plan:
    """Return the plan by which some lanes, or a block, have a line."""
    walk, items = lines_of(problem), vector_items(problem)
    assert walk is not None
    vectors = ceil_div(walk.length, items)
    by_block = next((count for count in shared_vectors(items) if vectors <= 32 * 32 * count), 0) if vectors > 32 else 0
    lanes = 32 * ceil_div(vectors, 32 * by_block) if by_block else power_of_two(vectors)
    threads = lanes if by_block else walk_tuning.WALK_THREADS[0]
    launch = Launch(
        WalkedLines.source,
        shared_kernel(problem.operand("x").dtype, problem.operand("y").dtype, by_block),
        (walk.vectors if by_block else ceil_div(walk.vectors * lanes, threads), 1, 1),
        (threads, 1, 1),
        (Pointer("x"), Pointer("y"), walk_argument(walk, 0 if by_block else lanes, threads)),
    )
    allowed = bound(problem, items + by_block + min(lanes, 32).bit_length() + lanes // 32)
    return Plan(WalkedLines.name, (launch,), allowed, notes={"lanes": lanes, "vectors": max(by_block, 1)})


def kernel(x: str, y: str, items: int, rows: int, tiled: bool, runs: tuple[int, int]) -> str:
    """Return the name expression; runs: of x and of y, elements that move at once."""
    return "gpubench::cumsum::walked_lines" + template(x, y, items, rows, tiled, *(runs if max(runs) > 1 else ()))


def short_kernel(x: str, y: str, items: int, rows: int, dims: int, runs: tuple[int, int]) -> str:
    """Return the name expression of lines that are one turn, over so many quick dims; runs: as of `kernel`."""
    return "gpubench::cumsum::short_lines" + template(x, y, items, rows, dims, *(runs if max(runs) > 1 else ()))


def staged_kernel(x: str, y: str, items: int, rows: int) -> str:
    """Return the name expression of tiles that go to y through shared memory."""
    return "gpubench::cumsum::staged_lines" + template(x, y, items, rows)


def shared_kernel(x: str, y: str, vectors: int) -> str:
    """Return the name expression; vectors: of a thread of a block that has a line, 0 where lanes do."""
    return "gpubench::cumsum::shared_lines" + template(x, y, max(vectors, 1), vectors > 0)
