"""The host rules of cumsum/column_ring.cu: columns by blocks with a ring of stages in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.dtypes import dtype as row_of
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.columns import (
    NOT_COLUMNS,
    Cut,
    aligned_items,
    cut,
    shape_argument,
    strip_columns,
    tile_rows,
)
from gpubench.operators.cumsum.geometry import (
    Columns,
    accumulator_bytes,
    columns_of,
    items_of,
    published_bytes,
    vector_items,
)
from gpubench.operators.cumsum.rows import template
from gpubench.operators.cumsum.tuning import RingStripShape
from gpubench.operators.results import sum_dtype

SOURCE = "cumsum/column_ring.cu"


def kernel(dtype: str, items: int, shape: RingStripShape, linked: bool) -> str:
    """Return the name expression."""
    numbers = (items, shape.lanes, shape.rows, shape.warps, shape.stages, shape.blocks, linked)
    return "gpubench::cumsum::column_ring" + template(dtype, sum_dtype(dtype), *numbers)


def ring_bytes(dtype: str, shape: RingStripShape, items: int) -> int:
    """Return the dynamic shared memory of a block."""
    return shape.stages * (tile_rows(shape) * strip_columns(shape, items) * row_of(dtype).itemsize + 32)


def block_bytes(problem: Problem[Any], shape: RingStripShape, items: int) -> int:
    """Return all the shared memory of a block: ring, sums of the warps, parts of the exchange, barriers, reserve."""
    width, threads = strip_columns(shape, items), 32 * shape.warps
    sums = 2 * shape.warps * width + max(threads, width)
    reserved = 1024 + 128  # what the system takes of a block's shared memory; barriers and rounding
    return (
        ring_bytes(problem.operand("x").dtype, shape, items)
        + sums * accumulator_bytes(problem.operand("y").dtype)
        + reserved
    )


def resident(problem: Problem[Any], shape: RingStripShape, items: int, device: DeviceInfo) -> int:
    """Return how many blocks an SM surely runs at once: by registers (`blocks`), by threads, by shared memory."""
    by_threads = device.max_threads_per_sm // (32 * shape.warps)
    by_shared = (device.max_shared_bytes + 1024) // block_bytes(problem, shape, items)
    return min(shape.blocks, by_threads, by_shared)


def fits(problem: Problem[Any], columns: Columns, shape: RingStripShape, items: int, device: DeviceInfo) -> bool:
    """Tell whether the strips can be copied in bulk: whole rows, or pieces of rows on 16 bytes; and the ring's size."""
    x = problem.operand("x")
    size = row_of(x.dtype).itemsize
    if resident(problem, shape, items, device) < 1:
        return False
    width = strip_columns(shape, items)
    if columns.contiguous and columns.inner <= width:
        return True
    pieces = (columns.row_pitch, columns.outer_pitch, columns.inner, x.view.offset, width)
    return items == vector_items(problem) and all(piece * size % 16 == 0 for piece in pieces)


def shapes_of(columns: Columns, items: int, linked: bool, whole: bool) -> tuple[RingStripShape, ...]:
    """Return the shapes to choose from, widest strip first."""
    wide = (tuning.LINKED_RINGS if linked else tuning.RING_STRIPS) if whole else ()
    if items > 1:
        return wide
    return wide + tuple(shape for shape in tuning.NARROW_RINGS if shape.lanes < 2 * columns.inner)


def ring_cut(problem: Problem[Any], columns: Columns, device: DeviceInfo, linked: bool) -> tuple[Cut, int] | None:
    """Return the cut to use and the columns of a thread; None when there is none."""
    for items in dict.fromkeys((aligned_items(problem, columns), 1)):
        shapes = shapes_of(columns, items, linked, items == vector_items(problem))
        fitting = [shape for shape in shapes if fits(problem, columns, shape, items, device)]
        if not fitting:
            continue
        choose = _shared_cut if linked else _whole_cut
        found = choose(problem, columns, device, fitting, items)
        if found is not None:
            return found, items
    return None


def _whole_cut(
    problem: Problem[Any], columns: Columns, device: DeviceInfo, shapes: Sequence[RingStripShape], items: int
) -> Cut | None:
    """Return the widest strips that leave one for nearly every SM, else the narrowest."""
    cuts = [cut(problem, columns, shape, items) for shape in shapes]
    wanted = tuning.FULL_SHARE * device.sm_count
    return next((one for one in cuts if one.strips * columns.outer >= wanted), cuts[-1])


def _shared_cut(
    problem: Problem[Any], columns: Columns, device: DeviceInfo, shapes: Sequence[RingStripShape], items: int
) -> Cut | None:
    """Return the first cut that at least two resident blocks share, at most one an SM unless there is no other."""
    for shape in shapes:
        one = cut(problem, columns, shape, items)
        blocks = resident(problem, shape, items, device) * device.sm_count // (one.strips * columns.outer)
        if blocks > device.sm_count and shape is not shapes[-1]:
            continue  # the exchange grows with the blocks that share
        share = min(blocks, one.tiles)
        if share >= 2:
            return Cut(shape, one.strips, one.tiles, share)
    return None


class ColumnRing:
    """Strips of columns, enough for every SM: each walked by one block."""

    name: str = "column_ring"
    summary: str = "columns: a block walks a strip down, tiles come by bulk copies"
    origin: str = "one pass, no exchange between blocks; rows on 16 bytes, or narrow and side by side"
    linked: bool = False

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch: `share` blocks a strip."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        found = ring_cut(problem, columns, device, self.linked)
        if found is None:
            return Refused("has rows that bulk copies cannot bring, or too many strips to share")
        one, items = found
        shape = one.shape
        assert isinstance(shape, RingStripShape)
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        strips = one.strips * columns.outer
        launch = Launch(
            SOURCE,
            kernel(x, items, shape, self.linked),
            (strips * one.share, 1, 1),
            (32 * shape.warps, 1, 1),
            (Pointer("x"), Pointer("y"), shape_argument(columns, one), Workspace(0), Workspace(16)),
            shared_bytes=ring_bytes(x, shape, items),
            waits_for_blocks=self.linked,
        )
        sums = strips * one.tiles * strip_columns(shape, items) if self.linked else 0
        additions = 2 * shape.rows + 5 + shape.warps + 3 + 2 * -(-one.tiles // one.share) + one.share
        return Plan(
            self.name,
            (launch,),
            bound(problem, additions),
            workspace_bytes=16 + sums * published_bytes(y) if self.linked else 0,
            workspace_zeroed=self.linked,
            notes={"items": items, "lanes": shape.lanes, "tile_rows": tile_rows(shape), "share": one.share},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape, for whole vectors and for single columns."""
        items = items_of(dtype, sum_dtype(dtype))
        wide = tuning.LINKED_RINGS if self.linked else tuning.RING_STRIPS
        names = [kernel(dtype, items, shape, self.linked) for shape in wide]
        names += [kernel(dtype, 1, shape, self.linked) for shape in tuning.NARROW_RINGS]
        return [(SOURCE, name) for name in names]


class LinkedRing(ColumnRing):
    """Few strips of many rows: resident blocks take a strip's tiles in turn."""

    name: str = "linked_ring"
    summary: str = "few columns, many rows: blocks share a strip, tiles come by bulk copies"
    origin: str = "as carry_forward, a sum a column; needs all blocks resident"
    linked: bool = True
