"""The host rule of `spread_runs` in cumsum/line_runs.cu: lines that are a run of x, across y, for `walked_lines`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import run_tuning
from gpubench.operators.cumsum.line_runs import SOURCE, LineRuns, RunCut, block_of, plan_of, rows_forms, shares_of
from gpubench.operators.cumsum.walks import Steps, lines_of
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.vectors import VECTOR_BYTES, is_narrow
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.sectors import CACHE_LINE, SECTOR
from gpubench.operators.structs import MAX_DIMS, divided_strided, int64

LINES = (128, 64, 32, 16, 8, 4)
"""Lines that a block may have, most first."""


@dataclass(frozen=True, slots=True)
class SpreadLines:
    """Lines of which x is one run, `beside` of them neighbours in y. Distances in elements.

    y: (sizes, strides) of all lines in the order of x.
    """

    count: int
    length: int
    beside: int
    y_row: int
    y: tuple[Steps, Steps]


def spread_of(problem: Problem[Any]) -> SpreadLines | None:
    """Return the lines in the order of x; None where they are no run of it, or their neighbours are not so in y."""
    walk = lines_of(problem)
    if walk is None or not walk.sizes or len(walk.sizes) > MAX_DIMS or walk.vectors >= 2**31:
        return None
    if walk.x_row != 1 or walk.y_row == 1 or walk.length < 2:
        return None
    dims = sorted(zip(walk.x_steps, walk.sizes, walk.y_steps, strict=True), reverse=True)
    x_steps, sizes, y_steps = zip(*dims, strict=True)
    follow = all(step == walk.length * math.prod(sizes[dim + 1 :]) for dim, step in enumerate(x_steps))
    if not follow or y_steps[-1] != 1:
        return None
    return SpreadLines(walk.vectors, walk.length, sizes[-1], walk.y_row, (sizes, y_steps))


def taken_spread(problem: Problem[Any], device: DeviceInfo) -> tuple[SpreadLines, RunCut] | None:
    """Return the lines, and what a block has of them, as runs of x; None where others are better."""
    lines = spread_of(problem)
    if lines is None or not _are_better(problem, lines):
        return None
    cut = spread_cut(problem, lines, device)
    return None if cut is None else (lines, cut)


def _are_better(problem: Problem[Any], lines: SpreadLines) -> bool:
    """Tell whether there are enough elements, in lines that cut vectors of x or are long, and fill sectors of y."""
    x, y = (dtypes.dtype(problem.operand(name).dtype) for name in ("x", "y"))
    size, line, side = lines.count * lines.length, lines.length * x.itemsize, lines.beside * y.itemsize
    if size < tuned("RUN_SPREAD_LEAST", run_tuning.RUN_SPREAD_LEAST):
        return False
    if line % VECTOR_BYTES == 0 and not _are_vectors_worth(x.itemsize, lines):
        return False
    if is_narrow(x.name) and size >= tuned("RUN_SPREAD_NARROW", run_tuning.RUN_SPREAD_NARROW):
        return False
    little = size < tuned("RUN_SPREAD_LITTLE", run_tuning.RUN_SPREAD_LITTLE)
    if little and lines.count < run_tuning.RUN_SPREAD_LINES:
        return False
    short = little or x.itemsize <= 2
    items = tuned("RUN_SPREAD_ITEMS", run_tuning.RUN_SPREAD_ITEMS) if short else run_tuning.RUN_LENGTH
    wide = side % SECTOR == 0 or side >= tuned("RUN_SPREAD_SIDE", run_tuning.RUN_SPREAD_SIDE)
    return wide and lines.length >= items and line >= tuned("RUN_SPREAD_LINE", run_tuning.RUN_SPREAD_LINE)


def _are_vectors_worth(itemsize: int, lines: SpreadLines) -> bool:
    """Tell whether lines of whole vectors of x, which others turn by units, are as well spread: long, and of 8 bytes an
    element, or little.
    """
    if lines.length < run_tuning.RUN_SPREAD_LONG or lines.length * itemsize % CACHE_LINE == 0:
        return False
    little = lines.count * lines.length <= run_tuning.RUN_SPREAD_VECTORS
    return itemsize >= 8 or (itemsize == 4 and little and lines.beside * itemsize >= CACHE_LINE)


def spread_cut(problem: Problem[Any], lines: SpreadLines, device: DeviceInfo) -> RunCut | None:
    """Return what a block has; None where lines are too long for one."""
    x, y = (problem.operand(name).dtype for name in ("x", "y"))
    itemsize, y_itemsize = dtypes.dtype(x).itemsize, dtypes.dtype(y).itemsize
    rows, shares, share = _shares(lines, itemsize, device)
    nbytes = lines.length * itemsize
    fitting = [
        count
        for count in LINES
        if count * y_itemsize >= SECTOR
        and count * shares <= run_tuning.RUN_MOST_THREADS
        and count * nbytes <= run_tuning.RUN_BYTES
    ]
    if shares > tuned("RUN_SPREAD_SHARES", run_tuning.RUN_SPREAD_SHARES) or not fitting:
        return None
    at_once = _lines_of_block(fitting, lines, shares, y_itemsize, device)
    cut_sectors = lines.y_row * y_itemsize % SECTOR != 0 and at_once * y_itemsize < run_tuning.RUN_SPREAD_ROW // 2
    if cut_sectors and lines.count * lines.length >= run_tuning.RUN_SPREAD_CUT:
        return None
    return block_of(y, (rows, shares, share), at_once, at_once, at_once * nbytes, device)


def _shares(lines: SpreadLines, itemsize: int, device: DeviceInfo) -> tuple[int, int, int]:
    """Return the elements that a thread can hold, the shares of a line, and the elements of a share: long ones, unless
    they leave few threads.
    """
    wanted = tuned("RUN_SPREAD_THREADS", run_tuning.RUN_SPREAD_THREADS) * device.sm_count
    forms = rows_forms(itemsize)
    cuts = [shares_of(lines.length, forms[: count + 1], odd=True) for count in reversed(range(len(forms)))]
    possible = [cut for cut in cuts if cut[1] <= run_tuning.RUN_SHARES] or cuts[:1]
    return next((cut for cut in possible if lines.count * cut[1] >= wanted), possible[-1])


def _lines_of_block(
    fitting: Sequence[int], lines: SpreadLines, shares: int, y_itemsize: int, device: DeviceInfo
) -> int:
    """Return the lines of a block: a row of y of two lines of the cache, or more where that is few threads; fewer where
    it leaves few blocks or is too many threads.
    """
    blocks = tuned("RUN_SPREAD_BLOCKS", run_tuning.RUN_SPREAD_BLOCKS) * device.sm_count
    threads = tuned("RUN_THREADS", run_tuning.RUN_THREADS)
    most = max(tuned("RUN_SPREAD_ROW", run_tuning.RUN_SPREAD_ROW) // y_itemsize, threads // shares)
    enough = (
        count
        for count in fitting
        if count <= most and count * shares <= 2 * threads and ceil_div(lines.count, count) >= blocks
    )
    return next(enough, fitting[-1])


def plan_spread(name: str, problem: Problem[Any], lines: SpreadLines, cut: RunCut) -> Plan:
    """Return the plan: a block a run of lines, each a group by itself."""
    runs = LineRuns(lines.count, 1, lines.length, landed=True, x_row=1, x_line=lines.length, x=((), ()))
    instance = kernel(problem.operand("x").dtype, problem.operand("y").dtype, cut.rows)
    places = int64(lines.y_row), divided_strided(*lines.y)
    return plan_of(name, problem, runs, cut, instance, *places, lines=cut.at_once)


def instances(dtype: str) -> Sequence[tuple[str, str]]:
    """Return an instance a number of elements of a thread."""
    rows = rows_forms(dtypes.dtype(dtype).itemsize)
    return [(SOURCE, kernel(dtype, sum_dtype(dtype), each)) for each in rows]


def kernel(x: str, y: str, rows: int) -> str:
    """Return the name expression; rows: elements of a thread."""
    return "gpubench::cumsum::spread_runs" + template(x, y, rows)
