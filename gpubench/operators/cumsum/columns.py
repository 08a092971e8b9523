"""The host rules of cumsum/columns.cu: sums across contiguous memory, for any dim but the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import aligned_items, column_items, columns_of, in_parts
from gpubench.operators.cumsum.tuning import StripShape
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.cuts import Cut, cut_columns
from gpubench.operators.geometry.vectors import accumulator_bytes, published_bytes
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int32

NOT_COLUMNS = "takes only dims with neighbouring columns behind them, in one piece"


def strip_items(problem: Problem[Any], columns: Columns) -> int:
    """Return the columns of one thread of columns.cu: a vector, or less where that would take too many registers."""
    return min(aligned_items(problem, columns), tuning.STRIP_ITEMS)


def strip_columns(shape: StripShape, items: int) -> int:
    """Return the columns of a strip."""
    return shape.lanes * items


def tile_rows(shape: StripShape) -> int:
    """Return the rows of a tile."""
    return shape.warps * 32 // shape.lanes * shape.rows


def cut(columns: Columns, shape: StripShape, items: int) -> Cut:
    """Cut columns into strips of this shape, for one block each."""
    return cut_columns(columns, strip_columns(shape, items), tile_rows(shape))


def strip_kernel(dtype: str, items: int, shape: StripShape, linked: bool) -> str:
    """Return the name expression: `columns` takes lanes and warps when it is launched."""
    if not linked:
        return "gpubench::cumsum::columns" + template(dtype, sum_dtype(dtype), items, shape.rows)
    numbers = (items, shape.lanes, shape.rows, shape.warps, shape.blocks)
    return "gpubench::cumsum::linked_columns" + template(dtype, sum_dtype(dtype), *numbers)


def strip_plan(name: str, problem: Problem[Any], columns: Columns, shape: StripShape, one: Cut) -> Plan | Refused:
    """Return the plan of a cut problem. Refuses more blocks than a grid has."""
    linked, items = name == "linked_columns", strip_items(problem, columns)
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    strips = one.strips * columns.outer
    if strips * one.share >= 2**31:
        return Refused("has more strips than a grid has blocks")
    tables = 2 * (shape.warps + 1) * shape.lanes * items * accumulator_bytes(y)
    more = (Workspace(0), Workspace(16)) if linked else (int32(shape.lanes.bit_length() - 1),)
    launch = Launch(
        Strips.source,
        strip_kernel(x, items, shape, linked),
        (strips * one.share, 1, 1),
        (32 * shape.warps, 1, 1),
        (Pointer("x"), Pointer("y"), one.argument(columns), *more),
        shared_bytes=0 if linked else tables,
        waits_for_blocks=linked,
    )
    additions = shape.rows + 5 + shape.warps + 3 + 2 * -(-one.tiles // one.share) + (one.share if linked else 0)
    sums = strips * one.tiles * strip_columns(shape, items) if linked else 0
    return Plan(
        name,
        (launch,),
        bound(problem, additions),
        workspace_bytes=16 + sums * published_bytes(y) if linked else 0,
        workspace_zeroed=linked,
        notes={"items": items, "lanes": shape.lanes, "rows": shape.rows, "tiles": one.tiles, "share": one.share},
    )


def shapes_of(dtype: str, items: int, linked: bool) -> tuple[StripShape, ...]:
    """Return the shapes for y's dtype to choose from, widest strip first."""
    if items == 1:
        shapes = tuning.SINGLE_STRIPS if accumulator_bytes(dtype) <= 4 else tuning.SINGLE_STRIPS_WIDE
        return shapes[:1] if linked else shapes  # narrower strips are more, of fewer tiles: fewer blocks would share
    if items == 8:
        return tuning.LINKED_STRIPS_8 if linked else tuning.STRIPS_8
    return tuning.LINKED_STRIPS if linked else tuning.STRIPS


def short_shape(columns: Columns, items: int) -> StripShape | None:
    """Return the shape for columns of few rows, None for longer ones."""
    needed = -(-columns.inner // items)
    width = next((lanes for lanes in (4, 8, 16) if lanes >= needed), 32)
    fitting = (shape for shape in tuning.SHORT_STRIPS if shape.lanes == width and tile_rows(shape) >= columns.length)
    return next(fitting, None)


def strip_cut(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> tuple[StripShape, Cut]:
    """Return the cut of `columns`: the widest strips that are enough for the device and not half empty."""
    items = strip_items(problem, columns)
    short = short_shape(columns, items)
    if short is not None:
        return short, cut(columns, short, items)
    wanted = tuned("STRIP", None)
    if wanted is not None and strip_columns(StripShape(*wanted), items) < 2 * columns.inner:
        return StripShape(*wanted), cut(columns, StripShape(*wanted), items)
    *wide, narrowest = shapes_of(problem.operand("y").dtype, items, False)
    for shape in wide:
        one = cut(columns, shape, items)
        enough = tuned("FULL_SHARE", tuning.FULL_SHARE) * device.sm_count * shape.blocks
        if strip_columns(shape, items) < 2 * columns.inner and one.strips * columns.outer >= enough:
            return shape, one
    return narrowest, cut(columns, narrowest, items)


class Strips:
    """Many strips of columns: a block walks each from top to bottom."""

    name: str = "columns"
    summary: str = "columns: a block walks a strip down, the carry in registers"
    origin: str = "one pass, no exchange between blocks; wants about as many strips as blocks run at once"
    source = "cumsum/columns.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block a strip; the widest strips that still give every SM its blocks."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        problem, columns = in_parts(problem, columns)
        return strip_plan(self.name, problem, columns, *strip_cut(problem, columns, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of rows, for whole vectors and for single columns."""
        return strip_instances(dtype, False)


def strip_instances(dtype: str, linked: bool) -> list[tuple[str, str]]:
    """Return the instances of a dtype, without repeats."""
    shorts = () if linked else tuning.SHORT_STRIPS
    names = [
        strip_kernel(part, items, shape, linked)
        for part, items in column_items(dtype)
        for shape in (*shapes_of(sum_dtype(part), items, linked), *shorts)
    ]
    return [(Strips.source, name) for name in dict.fromkeys(names)]


class LinkedStrips:
    """Few strips of many rows: resident blocks take a strip's tiles in turn."""

    name: str = "linked_columns"
    summary: str = "few columns, many rows: blocks share a strip and carry its sums forward"
    origin: str = "as carry_forward, a sum a column; needs all blocks resident"
    source = Strips.source

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch of resident blocks."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        problem, columns = in_parts(problem, columns)
        best = linked_cut(problem, columns, device)
        if best is None:
            return Refused("has too many strips for blocks to share one, or a single tile in each")
        return strip_plan(self.name, problem, columns, *best)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape, for whole vectors and for single columns."""
        return strip_instances(dtype, True)


def linked_cut(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> tuple[StripShape, Cut] | None:
    """Return the first cut with which at least two resident blocks share a strip of several tiles."""
    items = strip_items(problem, columns)
    for shape in shapes_of(problem.operand("y").dtype, items, True):
        one = cut(columns, shape, items)
        share = min(shape.blocks * device.sm_count // (one.strips * columns.outer), one.tiles)
        if share >= 2:
            return shape, Cut(one.strips, one.tiles, share)
    return None
