"""The host rules of cumsum/columns.cu: sums across contiguous memory, for any dim but the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import aligned_items, column_items, columns_of, in_parts
from gpubench.operators.cumsum.strips import best_strips, strip_rows, tile_rows
from gpubench.operators.cumsum.tuning import StripShape
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.cuts import Cut, cut_columns
from gpubench.operators.geometry.vectors import accumulator_bytes, published_bytes
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int32

NOT_COLUMNS = "takes only dims with neighbouring columns behind them, in one piece"


def strip_kernel(dtype: str, items: int, shape: StripShape, linked: bool, single: bool) -> str:
    """Return the name expression: `columns` takes lanes and warps when it is launched. single: one tile a block."""
    if not linked:
        return "gpubench::cumsum::columns" + template(dtype, sum_dtype(dtype), items, shape.rows, single)
    numbers = (items, shape.lanes, shape.rows, shape.warps, shape.blocks, single)
    return "gpubench::cumsum::linked_columns" + template(dtype, sum_dtype(dtype), *numbers)


def strip_plan(
    name: str, problem: Problem[Any], columns: Columns, items: int, shape: StripShape, one: Cut
) -> Plan | Refused:
    """Return the plan of a cut problem, `items` columns a thread. Refuses more blocks than a grid has."""
    linked = name == "linked_columns"
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    strips = one.strips * columns.outer
    if strips * one.share >= 2**31:
        return Refused("has more strips than a grid has blocks")
    tables = 2 * (shape.warps + 1) * shape.lanes * items * accumulator_bytes(y)
    more = (Workspace(0), Workspace(16)) if linked else (int32(shape.lanes.bit_length() - 1),)
    launch = Launch(
        ColumnStrips.source,
        strip_kernel(x, items, shape, linked, one.tiles <= one.share),
        (strips * one.share, 1, 1),
        (32 * shape.warps, 1, 1),
        (Pointer("x"), Pointer("y"), one.argument(columns), *more),
        shared_bytes=0 if linked else tables,
        waits_for_blocks=linked,
    )
    additions = shape.rows + 5 + shape.warps + 3 + 2 * -(-one.tiles // one.share) + (one.share if linked else 0)
    sums = strips * one.tiles * shape.lanes * items if linked else 0
    return Plan(
        name,
        (launch,),
        bound(problem, additions),
        workspace_bytes=16 + sums * published_bytes(y) if linked else 0,
        workspace_zeroed=linked,
        notes={
            "items": items,
            "lanes": shape.lanes,
            "rows": shape.rows,
            "warps": shape.warps,
            "tiles": one.tiles,
            "share": one.share,
        },
    )


def linked_shapes(x: str, y: str, items: int) -> tuple[StripShape, ...]:
    """Return the shapes for the dtypes of x and y of strips that blocks share, tallest first."""
    if items > 1:
        return tuning.LINKED_STRIPS_8 if items == 8 else tuning.LINKED_STRIPS
    if accumulator_bytes(y) <= 4:
        return tuning.LINKED_SINGLES
    return tuning.LINKED_SINGLES_WIDENED if dtypes.dtype(x).itemsize <= 4 else tuning.LINKED_SINGLES_WIDE


class ColumnStrips:
    """Many strips of columns: a block walks each from top to bottom."""

    name: str = "columns"
    summary: str = "columns: a block walks a strip down, the carry in registers"
    origin: str = "one pass, no exchange between blocks; wants about as many strips as blocks run at once"
    source = "cumsum/columns.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block a strip; of all cuts the one that is estimated to take least time."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        problem, columns = in_parts(problem, columns)
        best = best_strips(problem, columns, device)
        return strip_plan(self.name, problem, columns, best.items, best.shape, best.cut)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of columns and rows of a thread."""
        found: dict[str, None] = {}
        for part, most in column_items(dtype):
            for items in (1, 2, 4, 8):
                if items <= min(most, tuning.STRIP_ITEMS):
                    for rows in strip_rows(dtypes.dtype(part).itemsize, items):
                        for single in (True, False):
                            found[strip_kernel(part, items, StripShape(32, rows, 1, 1), False, single)] = None
        return [(self.source, name) for name in found]


class LinkedStrips:
    """Few strips of many rows: resident blocks take a strip's tiles in turn."""

    name: str = "linked_columns"
    summary: str = "few columns, many rows: blocks share a strip and carry its sums forward"
    origin: str = "as carry_forward, a sum a column; needs all blocks resident"
    source = ColumnStrips.source

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch of resident blocks."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        problem, columns = in_parts(problem, columns)
        items = linked_items(problem, columns)
        best = linked_cut(problem, columns, items, device)
        if best is None:
            return Refused("has too many strips for blocks to share one, or a single tile in each")
        return strip_plan(self.name, problem, columns, items, *best)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape, for whole vectors and for single columns."""
        names = [
            strip_kernel(part, min(most, tuning.STRIP_ITEMS), shape, True, single)
            for single in (True, False)
            for part, most in column_items(dtype)
            for shape in linked_shapes(part, sum_dtype(part), min(most, tuning.STRIP_ITEMS))
        ]
        return [(self.source, name) for name in dict.fromkeys(names)]


def linked_items(problem: Problem[Any], columns: Columns) -> int:
    """Return the columns of a thread where blocks share strips."""
    return min(aligned_items(problem, columns), tuning.STRIP_ITEMS)


def linked_cut(
    problem: Problem[Any], columns: Columns, items: int, device: DeviceInfo
) -> tuple[StripShape, Cut] | None:
    """Return the first cut with which at least two resident blocks share a strip, each with several tiles of it, or,
    by the last shape, fewer.
    """
    shapes = linked_shapes(problem.operand("x").dtype, problem.operand("y").dtype, items)
    for shape in shapes:
        one = cut_columns(columns, shape.lanes * items, tile_rows(shape))
        share = min(shape.blocks * device.sm_count // (one.strips * columns.outer), one.tiles)
        if share >= 2 and (one.tiles >= tuned("LINKED_TURNS", tuning.LINKED_TURNS) * share or shape is shapes[-1]):
            return shape, Cut(one.strips, one.tiles, share)
    return None
