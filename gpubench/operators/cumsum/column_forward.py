"""The host rule of cumsum/column_forward.cu: columns by blocks whose warps have roles, with a ring of stages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.dtypes import dtype as row_of
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.columns import NOT_COLUMNS
from gpubench.operators.cumsum.geometry import aligned_items, column_items, columns_of, gives_up_x, in_parts
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.cuts import even_tile
from gpubench.operators.geometry.vectors import accumulator_bytes, published_bytes, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import Struct

SOURCE = "cumsum/column_forward.cu"
SHAPE = tuning.FORWARD

FORWARD_SHAPE = Struct(
    "gpubench::cumsum::ForwardShape",
    "cumsum/column_forward.cuh",
    **dict.fromkeys(("length", "inner", "x_outer", "x_row", "strips", "elements"), "i8"),
    **dict.fromkeys(("tiles", "share", "tile_rows", "group_rows", "joined", "groups"), "i4"),
    **dict.fromkeys(("stages", "stage_bytes", "streaming"), "i4"),
)


@dataclass(frozen=True, slots=True)
class ForwardCut:
    """A problem cut for the kernel. Sizes of tiles and groups in rows; `strips` are those of one outer block."""

    items: int
    lanes: int
    strips: int
    share: int
    tile_rows: int
    group_rows: int
    tiles: int
    joined: int
    stages: int
    stage_bytes: int
    shared_bytes: int

    @property
    def width(self) -> int:
        """Columns of a strip."""
        return self.items * self.lanes

    @property
    def groups(self) -> int:
        """Groups of joined tiles in a strip."""
        return -(-self.tiles // self.joined)

    @property
    def turns(self) -> int:
        """Tiles that the first block of a strip takes."""
        return -(-self.tiles // self.share)


def kernel(dtype: str, items: int, lanes: int) -> str:
    """Return the name expression."""
    roles = (SHAPE.consumers, SHAPE.reducers, SHAPE.linkers, SHAPE.joiners, SHAPE.producers)
    return "gpubench::cumsum::column_forward" + template(dtype, sum_dtype(dtype), items, lanes, *roles)


def packed_lanes(dtype: str, items: int) -> int:
    """Return the lanes from which a strip has a fixed number of them (`Forward::packed` in C++).

    One instance, of half as many, serves the narrower ones: it takes as many lanes as there are columns.
    """
    return 32 if items == 1 or row_of(dtype).itemsize == 4 or dtype != sum_dtype(dtype) else 8


def lanes_of(dtype: str, items: int) -> Iterator[int]:
    """Yield the lanes that a row of a strip may take, fewest first."""
    lanes = packed_lanes(dtype, items) // 2
    most = tuning.FORWARD_STRIP_BYTES[1] // row_of(dtype).itemsize if items > 1 else tuning.FORWARD_COLUMNS
    while lanes * items <= min(tuning.FORWARD_COLUMNS, most):
        yield lanes
        lanes *= 2


def parts_of(dtype: str, items: int, lanes: int, columns: int) -> tuple[int, int]:
    """Return (parts of a tile, groups of lanes in a warp), as `Forward` and `ForwardBlock::groups` in C++."""
    across = columns // items if lanes < packed_lanes(dtype, items) else min(lanes, 32)
    return SHAPE.consumers // max(lanes // 32, 1), 32 // across


def ring_of(
    row_bytes: int, contiguous: bool, sums: int, exchange: int, device: DeviceInfo
) -> tuple[int, int, int] | None:
    """Return (bytes of a stage, stages, rows that a stage holds), None where not one row fits.

    sums: bytes that a stage's sums and carries take; exchange: bytes of the linkers.
    """
    slack = 32 if contiguous else 0  # a copy keeps the address modulo 16 and is a multiple of 16
    reserved = 2048  # what the system takes of a block's shared memory; barriers and rounding
    wanted = tuned("FORWARD_STAGE", None)
    for size, stages in (*(() if wanted is None else (wanted,)), *tuning.FORWARD_STAGES):
        rows = (size - slack) // row_bytes
        if rows > 0 and stages * (size + sums) + exchange + reserved <= device.max_shared_bytes:
            return size, stages, rows
    return None


def bulk_rows(problem: Problem[Any], columns: Columns, width: int) -> bool:
    """Tell whether rows, or the pieces of them in a strip, can come by a copy each: all on 16 bytes."""
    x = problem.operand("x")
    pieces = [columns.row_pitch, columns.outer_pitch, columns.inner, x.view.offset]
    if columns.inner > width:
        pieces.append(width)
    return all(piece * row_of(x.dtype).itemsize % 16 == 0 for piece in pieces)


def cut_lanes(problem: Problem[Any], columns: Columns, items: int, lanes: int, device: DeviceInfo) -> ForwardCut | None:
    """Cut a problem into strips of so many lanes; None where they do not fit the rows or the shared memory."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    width = items * lanes
    strips = -(-columns.inner // width)
    contiguous = columns.contiguous and strips == 1
    row_bytes = min(columns.inner, width) * row_of(x).itemsize
    if not contiguous:
        narrow = strips > 1 and row_bytes < tuning.FORWARD_STRIP_BYTES[0]
        if narrow or items != vector_items(problem) or not bulk_rows(problem, columns, width):
            return None
    parts, groups = parts_of(x, items, lanes, min(columns.inner, width))
    accumulator = accumulator_bytes(y)
    sums, exchange = (parts + 1) * width * accumulator, 4 * 32 * SHAPE.linkers * accumulator
    ring = ring_of(row_bytes, contiguous, sums, exchange, device)
    if ring is None:
        return None
    size, stages, most_rows = ring
    share = max(device.sm_count // (strips * columns.outer), 1)
    least = min(-(-tuning.FORWARD_LEAST_BYTES // row_bytes), most_rows)
    tile_rows = max(even_tile(columns.length, most_rows, share), least)
    tiles = -(-columns.length // tile_rows)
    share = min(share, tiles)
    group_rows = -(-tile_rows // (parts * groups))
    if row_bytes < tuning.FORWARD_STRIP_BYTES[0]:
        group_rows |= 1  # so that groups of lanes meet in different banks of shared memory
    joined = math.isqrt(share) if share >= tuning.FORWARD_JOINED else 1
    shared = stages * (size + sums)
    return ForwardCut(items, lanes, strips, share, tile_rows, group_rows, tiles, joined, stages, size, shared)


def forward_cut(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> ForwardCut | None:
    """Return the cut whose busiest SM walks the fewest bytes; among equals the widest strips. None: there is none."""
    for items in dict.fromkeys((aligned_items(problem, columns), 1)):
        best: tuple[float, ForwardCut] | None = None
        for lanes in lanes_of(problem.operand("x").dtype, items):
            one = cut_lanes(problem, columns, items, lanes, device)
            if one is None:
                continue
            walks = -(-one.strips * columns.outer * one.share // device.sm_count)  # strips one after the other on an SM
            cost = min(one.width, columns.inner) * walks / one.share
            if best is None or cost <= 1.03 * best[0]:
                best = cost, one
            if one.strips == 1:
                break  # wider strips would hold no more
        if best is not None:
            return best[1]
    return None


def shape_argument(columns: Columns, one: ForwardCut, streaming: bool) -> Value:
    """Return the kernel's `ForwardShape`."""
    return FORWARD_SHAPE.value(
        columns,
        one,
        x_outer=columns.outer_pitch,
        x_row=columns.row_pitch,
        elements=columns.span,
        streaming=streaming,
    )


class ColumnForward:
    """Columns at the rate of a copy: roles for warps, sums carried forward between the blocks of a strip."""

    name: str = "column_forward"
    summary: str = "columns: a role for each warp, tiles by bulk copies, blocks share long strips"
    origin: str = (
        "carry_forward with a row of columns for an element; needs all blocks resident where they share strips"
    )
    source = SOURCE

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, at most a block an SM where blocks share strips."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        problem, columns = in_parts(problem, columns)
        one = forward_cut(problem, columns, device)
        if one is None:
            return Refused("has rows that bulk copies cannot bring, or no shared memory for a ring")
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        strips, shared = one.strips * columns.outer, one.share > 1
        if strips * one.share >= 2**31 or one.tiles >= 2**30:
            return Refused("takes at most 2^31 - 1 blocks and 2^30 - 1 tiles a strip")
        launch = Launch(
            self.source,
            kernel(x, one.items, one.lanes),
            (strips * one.share, 1, 1),
            (SHAPE.threads, 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                shape_argument(columns, one, gives_up_x(problem, device)),
                Workspace(0),
                Workspace(16),
            ),
            shared_bytes=one.shared_bytes,
            waits_for_blocks=shared,
        )
        words = strips * one.width * (one.tiles + (one.groups if one.joined > 1 else 0))
        between = one.joined + -(-one.share // one.joined) + 2 if shared else 0
        return Plan(
            self.name,
            (launch,),
            bound(problem, 2 * one.group_rows + 5 + SHAPE.consumers + 2 * one.turns + between),
            workspace_bytes=16 + words * published_bytes(y) if shared else 0,
            workspace_zeroed=shared,
            notes={"items": one.items, "lanes": one.lanes, "tile_rows": one.tile_rows, "share": one.share},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of lanes, for whole vectors and for single columns."""
        items = column_items(dtype)
        return [(SOURCE, kernel(part, count, lanes)) for part, count in items for lanes in lanes_of(part, count)]
