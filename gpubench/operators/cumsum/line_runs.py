"""The host rule of cumsum/line_runs.cu: short lines whose neighbours are one run of y, for `walked_lines`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Value
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import run_tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import short_rows_of
from gpubench.operators.cumsum.transposed_tuning import ACROSS
from gpubench.operators.cumsum.walks import Steps, lines_of
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.vectors import VECTOR_BYTES, accumulator_bytes, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.sectors import SECTOR
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divided_strided, divider

SOURCE = "cumsum/line_runs.cu"

LINE_RUNS = Struct(
    "gpubench::LineRuns",
    "gpubench/movement/line_runs.cuh",
    groups="u4",
    **dict.fromkeys(("at_once", "group", "length", "share", "totals"), "i4"),
    lines=INTEGER_DIVIDER,
    inner=INTEGER_DIVIDER,
    x_row="i8",
    x_line="i8",
)

WARP = 32


@dataclass(frozen=True, slots=True)
class LineRuns:
    """Lines in `groups` of `inner` that lie side by side in y, each group a run of it. Distances in elements.

    landed: groups of x are runs as well, in the same order. Otherwise neighbouring lines are neighbours in x.
    x_line: in x from line to line of a group, where it is landed. x: (sizes, strides) of all lines in the order of y.
    """

    groups: int
    inner: int
    length: int
    landed: bool
    x_row: int
    x_line: int
    x: tuple[Steps, Steps]

    @property
    def group(self) -> int:
        """Elements of a group."""
        return self.inner * self.length


@dataclass(frozen=True, slots=True)
class RunCut:
    """What a block has: `at_once` groups, `shares` of `share` rows a line, of which a thread holds `rows` at most.

    stage_bytes: of shared memory, for the run of x and then that of y; the shares' totals stand behind it.
    """

    rows: int
    shares: int
    share: int
    at_once: int
    threads: int
    stage_bytes: int
    shared_bytes: int


def runs_of(problem: Problem[Any]) -> LineRuns | None:
    """Return the lines as groups; None where groups of x are no runs and lines side by side in y are not so in x."""
    walk = lines_of(problem)
    if walk is None or not walk.sizes or walk.length < 2 or walk.vectors * walk.length >= 2**31:
        return None
    inner = walk.y_row
    groups, group, last = walk.vectors // inner, inner * walk.length, walk.x_steps[-1]
    ends = walk.sizes[-1] == inner > 1 and walk.y_steps[-1] == 1
    follow = walk.x_steps[:-1] == walk.y_steps[:-1] and walk.y_steps[:-1] in ((), (group,))
    landed = ends and follow and (last, walk.x_row) in ((1, inner), (walk.length, 1))
    beside = walk.sizes[-1] >= WARP or walk.x_steps[-2:-1] == (walk.sizes[-1],)
    crossed = last == 1 and walk.x_row > 1 and beside and len(walk.sizes) <= MAX_DIMS
    if not landed and not crossed:
        return None
    return LineRuns(groups, inner, walk.length, landed, walk.x_row, last, (walk.sizes, walk.x_steps))


def taken_runs(problem: Problem[Any], device: DeviceInfo) -> tuple[LineRuns, RunCut] | None:
    """Return the groups, and what a block has of them, where runs of y are better than a line a thread; else None."""
    runs = runs_of(problem)
    if runs is None or not _are_better(problem, runs):
        return None
    cut = cut_of(problem, runs, device)
    return None if cut is None else (runs, cut)


def _are_better(problem: Problem[Any], runs: LineRuns) -> bool:
    """Tell whether there are enough elements, and rows or ends of lines cut vectors, or sectors, of y."""
    size, itemsize = problem.operand("x").view.size, dtypes.dtype(problem.operand("y").dtype).itemsize
    row, line = runs.inner * itemsize, runs.length * itemsize
    wide = runs.landed and runs.x_line == 1 and runs.inner <= run_tuning.RUN_SIDE_ITEMS
    narrow = runs.inner > 1 and row <= tuned("RUN_SIDE", run_tuning.RUN_SIDE) * (2 if wide else 1)
    if not runs.landed:
        cut = runs.length >= vector_items(problem) and line % SECTOR != 0 and line > VECTOR_BYTES
        least = tuned("RUN_CROSSED_LEAST", run_tuning.RUN_CROSSED_LEAST)
        return size >= least and (cut if runs.inner == 1 else narrow and row % VECTOR_BYTES != 0)
    little = line < tuned("RUN_LINE", run_tuning.RUN_LINE) and not _is_short_line_worth(problem, runs)
    if size < tuned("RUN_LEAST", run_tuning.RUN_LEAST) or little or not narrow:
        return False
    if runs.x_line == 1:  # two columns side by side, or four, are rows of them
        worth = row % VECTOR_BYTES != 0 or _are_halves_worth(problem, runs)
        return worth and row % SECTOR != 0 and short_rows_of(problem) is None
    long = runs.length >= tuned("RUN_LENGTH", run_tuning.RUN_LENGTH)
    return long and (row % SECTOR != 0 or runs.inner < ACROSS)


def _is_short_line_worth(problem: Problem[Any], runs: LineRuns) -> bool:
    """Tell whether lines of less than RUN_LINE bytes have enough elements, or are enough."""
    x = problem.operand("x").view
    much = x.size >= run_tuning.RUN_SHORT and dtypes.dtype(problem.operand("x").dtype).itemsize >= 4
    return runs.length >= run_tuning.RUN_LINE_ITEMS or (much and runs.length >= run_tuning.RUN_SHORT_ITEMS)


def _are_halves_worth(problem: Problem[Any], runs: LineRuns) -> bool:
    """Tell whether rows of whole vectors, of which one is half of a sector, are enough, and in few shares a line."""
    x = problem.operand("x")
    rows = rows_forms(dtypes.dtype(x.dtype).itemsize)[-1]
    few = ceil_div(runs.length, rows) <= run_tuning.RUN_HALF_SHARES
    return few and x.view.size >= tuned("RUN_HALVES", run_tuning.RUN_HALVES)


def cut_of(problem: Problem[Any], runs: LineRuns, device: DeviceInfo) -> RunCut | None:
    """Return what a block has; None where a group, or its lines' shares, are too much for one."""
    x, y = (problem.operand(name).dtype for name in ("x", "y"))
    itemsizes = dtypes.dtype(x).itemsize, dtypes.dtype(y).itemsize
    rows, shares, share = shares_of(runs.length, rows_forms(itemsizes[0]), odd=runs.x_row == 1)
    nbytes = runs.group * max(itemsizes)
    most = min(run_tuning.RUN_MOST_THREADS // (runs.inner * shares), run_tuning.RUN_BYTES // nbytes)
    wanted = tuned("RUN_THREADS", run_tuning.RUN_THREADS) // (runs.inner * shares)
    if not runs.landed:
        side = max(run_tuning.RUN_CROSSED // max(itemsizes), WARP)
        wanted = max(wanted, ceil_div(side, runs.inner))
    at_once = _on_whole(min(max(wanted, 1), most), runs.group * itemsizes[1])
    lines = at_once * runs.inner
    most_shares = run_tuning.RUN_SHARES if runs.landed else run_tuning.RUN_CROSSED_SHARES
    if shares > most_shares or lines < (1 if runs.landed else WARP):
        return None
    return block_of(y, (rows, shares, share), at_once, lines, at_once * nbytes, device)


def block_of(
    y: str, shares: tuple[int, int, int], at_once: int, lines: int, nbytes: int, device: DeviceInfo
) -> RunCut | None:
    """Return what a block has of so many lines, whose run has so many bytes; None where it is too much for one.

    y: dtype. shares: of `shares_of`.
    """
    rows, count, share = shares
    stage = ceil_div(nbytes, VECTOR_BYTES) * VECTOR_BYTES + 2 * VECTOR_BYTES  # both ends cut a vector
    totals = lines * count * accumulator_bytes(y) if count > 1 else 0
    if stage + totals > device.max_shared_bytes:
        return None
    threads = ceil_div(lines * count, WARP) * WARP
    return RunCut(rows, count, share, at_once, threads, stage, stage + totals)


def shares_of(length: int, forms: Sequence[int], *, odd: bool) -> tuple[int, int, int]:
    """Return the elements that a thread can hold, the shares of a line, and the elements of a share.

    odd: these are an odd number, so that threads with neighbouring shares of a line along x meet different banks.
    """
    rows = next((rows for rows in forms if rows >= length), forms[-1])
    shares = ceil_div(length, rows)
    share = ceil_div(length, shares)
    if shares > 1 and odd and share % 2 == 0:
        share = share + 1 if share < rows else rows - 1
        shares = ceil_div(length, share)
    return rows, shares, share


def _on_whole(most: int, nbytes: int) -> int:
    """Return how many groups of so many bytes a block takes, at most: runs then end on whole cache lines, or less."""
    for unit in (128, SECTOR, VECTOR_BYTES):
        several = unit // math.gcd(unit, nbytes)
        if 4 * (most // several * several) >= 3 * most:
            return most // several * several
    return most


def rows_forms(itemsize: int) -> Sequence[int]:
    """Return the numbers of elements of so many bytes that a thread may hold."""
    fitting = [rows for rows in run_tuning.RUN_ROWS if rows * itemsize <= run_tuning.RUN_ROW_BYTES]
    return fitting or run_tuning.RUN_ROWS[:1]


def plan_runs(name: str, problem: Problem[Any], runs: LineRuns, cut: RunCut) -> Plan:
    """Return the plan: a block a run."""
    instance = kernel(problem.operand("x").dtype, problem.operand("y").dtype, runs.landed, cut.rows)
    places = () if runs.landed else (divided_strided(*runs.x),)
    return plan_of(name, problem, runs, cut, instance, *places, groups=cut.at_once)


def plan_of(
    name: str, problem: Problem[Any], runs: LineRuns, cut: RunCut, instance: str, *arguments: Value, **notes: int
) -> Plan:
    """Return the plan of an instance whose blocks have runs of groups. arguments: behind the runs' own."""
    shape = LINE_RUNS.value(
        cut,
        runs,
        totals=cut.stage_bytes // VECTOR_BYTES,
        lines=divider(cut.at_once * runs.inner),
        inner=divider(runs.inner),
    )
    launch = Launch(
        SOURCE,
        instance,
        (ceil_div(runs.groups, cut.at_once), 1, 1),
        (cut.threads, 1, 1),
        (Pointer("x"), Pointer("y"), shape, *arguments),
        shared_bytes=cut.shared_bytes,
    )
    allowed = bound(problem, 2 * cut.share + cut.shares if cut.shares > 1 else None)
    return Plan(name, (launch,), allowed, notes={**notes, "rows": cut.rows, "shares": cut.shares})


def instances(dtype: str) -> Sequence[tuple[str, str]]:
    """Return an instance a form and number of elements of a thread."""
    forms = rows_forms(dtypes.dtype(dtype).itemsize)
    return [(SOURCE, kernel(dtype, sum_dtype(dtype), landed, rows)) for landed in (True, False) for rows in forms]


def kernel(x: str, y: str, landed: bool, rows: int) -> str:
    """Return the name expression; rows: elements of a thread."""
    return f"gpubench::cumsum::{'landed' if landed else 'crossed'}_runs" + template(x, y, rows)
