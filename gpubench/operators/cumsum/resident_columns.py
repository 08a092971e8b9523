"""The host rule of cumsum/resident_columns.cu: a few columns side by side, all of x on the chip at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.dtypes import dtype as row_of
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import resident_tuning as tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.columns import NOT_COLUMNS
from gpubench.operators.cumsum.geometry import aligned_items, column_items, columns_of, in_parts
from gpubench.operators.cumsum.linked import NOT_RESIDENT
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.vectors import accumulator_bytes, is_half, published_bytes
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import Struct

SOURCE = "cumsum/resident_columns.cu"

RESIDENT_SHAPE = Struct(
    "gpubench::cumsum::ResidentShape",
    "cumsum/resident_columns.cuh",
    **dict.fromkeys(("length", "x_outer", "elements", "rows", "longer"), "i8"),
    **dict.fromkeys(("columns", "lanes", "share", "slices", "piece_rows", "pieces", "spilled", "held"), "i4"),
    **dict.fromkeys(("slot_bytes", "in_place", "groups", "group_rows", "reciprocal"), "i4"),
)

RESERVED_BYTES = 2048
"""What a block takes of an SM's shared memory beside slots and sums: the system's share, its barriers, rounding."""


@dataclass(frozen=True, slots=True)
class ResidentCut:
    """A problem cut for the kernel: `share` blocks an outer block, `pieces` of `piece_rows` rows a warp.

    The first `spilled` pieces are read twice, the next `held` stay in registers, the others in slots of shared memory.
    """

    shape: tuning.ResidentShape
    items: int
    share: int
    warp_rows: int
    piece_rows: int
    pieces: int
    spilled: int
    held: int
    slot_bytes: int
    group_rows: int
    groups: int
    shared_bytes: int


def kernel(dtype: str, items: int, shape: tuning.ResidentShape) -> str:
    """Return the name expression."""
    numbers = (items, shape.warps, shape.slots, shape.held, shape.vectors)
    return "gpubench::cumsum::resident_columns" + template(dtype, sum_dtype(dtype), *numbers)


def copy_slack(problem: Problem[Any], columns: Columns) -> int:
    """Return the bytes of a slot that whole 16 bytes may take beside a piece's rows, wherever these begin."""
    x = problem.operand("x")
    size = row_of(x.dtype).itemsize
    steps = (x.view.offset, columns.inner, columns.outer_pitch)
    return 0 if all(step * size % 16 == 0 for step in steps) else 32


def table_bytes(problem: Problem[Any], columns: Columns, warps: int) -> int:
    """Return the bytes of a block's sums: two rows of columns for each warp."""
    return -(-2 * warps * columns.inner * accumulator_bytes(problem.operand("y").dtype) // 16) * 16


def resident_cut(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> ResidentCut | None:
    """Return the cut by the shape that suits the problem; None where the device does not hold what it should."""
    one = cut_by(tuning.RESIDENT, problem, columns, device)
    if is_half(problem.operand("x").dtype) or (one is not None and one.pieces <= tuning.RESIDENT.slots):
        return one
    return cut_by(tuning.RESIDENT_HALVED, problem, columns, device)


def cut_by(
    shape: tuning.ResidentShape, problem: Problem[Any], columns: Columns, device: DeviceInfo
) -> ResidentCut | None:
    """Cut a problem into as few pieces as hold it; None where too many would have to be read twice."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    share = device.sm_count // columns.outer
    if share == 0:
        return None
    row_bytes = columns.inner * row_of(x).itemsize
    tables = table_bytes(problem, columns, shape.warps)
    room = device.max_shared_bytes - RESERVED_BYTES - 32 * shape.warps * accumulator_bytes(y) - tables
    slot_bytes = room // (shape.warps * shape.slots) // 16 * 16
    most_rows = (min(slot_bytes, 512 * shape.vectors) - copy_slack(problem, columns)) // row_bytes
    if most_rows < 1:
        return None
    warp_rows = -(-columns.length // (share * shape.warps))
    pieces = -(-warp_rows // most_rows)
    held = min(max(pieces - shape.slots, 0), shape.held)
    spilled = max(pieces - shape.slots - held, 0)
    if spilled > tuned("SPILLED", tuning.SPILLED) * (pieces - spilled):
        return None
    piece_rows = -(-warp_rows // pieces)
    items = aligned_items(problem, columns)
    groups = 32 // (columns.inner // items % 32 or 32)
    group_rows = -(-piece_rows // groups)
    if row_bytes < tuning.IN_PLACE_BYTES and groups > 1:
        group_rows |= 1  # so that groups of lanes meet in different banks of shared memory
    shared = shape.warps * shape.slots * slot_bytes + tables
    return ResidentCut(
        shape, items, share, warp_rows, piece_rows, pieces, spilled, held, slot_bytes, group_rows, groups, shared
    )


def read_slices(columns: Columns, one: ResidentCut) -> int:
    """Return how many threads share the words of a column."""
    return max(min(32 * one.shape.warps // columns.inner, tuning.SLICES), 1)


def shape_argument(problem: Problem[Any], columns: Columns, one: ResidentCut) -> Value:
    """Return the kernel's `ResidentShape`."""
    size = row_of(problem.operand("x").dtype).itemsize
    each, longer = divmod(columns.length, one.share * one.shape.warps)
    lanes = columns.inner // one.items
    return RESIDENT_SHAPE.value(
        columns,
        one,
        x_outer=columns.outer_pitch,
        elements=columns.span,
        rows=each,
        longer=longer,
        columns=columns.inner,
        lanes=lanes,
        slices=read_slices(columns, one),
        in_place=columns.inner * size < tuning.IN_PLACE_BYTES or one.items * size < 16,
        reciprocal=-(-65536 // (lanes % 32 or 32)),
    )


class ResidentColumns:
    """A few columns side by side that the registers and the shared memory of the whole device hold."""

    name: str = "resident_columns"
    summary: str = "up to 128 columns, about 45 MB: all of x in registers and shared memory, one hop between blocks"
    origin: str = "reduce-then-scan with all of x resident; all blocks must run at the same time"
    source = SOURCE

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch of resident blocks. The workspace holds a counter, then a sum for each block and column."""
        columns = columns_of(problem)
        if columns is None:
            return Refused(NOT_COLUMNS)
        if not columns.contiguous or columns.inner > tuning.COLUMNS:
            return Refused(f"takes only rows side by side, of up to {tuning.COLUMNS} columns")
        problem, columns = in_parts(problem, columns)
        one = resident_cut(problem, columns, device)
        if one is None:
            return Refused(NOT_RESIDENT)
        shape, slices = one.shape, read_slices(columns, one)
        blocks = columns.outer * one.share
        launch = Launch(
            self.source,
            kernel(problem.operand("x").dtype, one.items, shape),
            (blocks, 1, 1),
            (32 * shape.warps, 1, 1),
            (Pointer("x"), Pointer("y"), shape_argument(problem, columns, one), Workspace(0), Workspace(16)),
            shared_bytes=one.shared_bytes,
            waits_for_blocks=True,
        )
        rows = one.piece_rows if columns.inner // one.items > 32 else one.group_rows
        additions = (one.pieces + 1) * (rows + 7) + one.pieces + shape.warps + -(-one.share // slices) + slices
        return Plan(
            self.name,
            (launch,),
            bound(problem, additions),
            workspace_bytes=16 + blocks * columns.inner * published_bytes(problem.operand("y").dtype),
            workspace_zeroed=True,
            notes={"items": one.items, "pieces": one.pieces, "piece_rows": one.piece_rows, "spilled": one.spilled},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance for whole vectors, one for single columns; of each shape."""
        shapes = (tuning.RESIDENT,) if is_half(dtype) else (tuning.RESIDENT, tuning.RESIDENT_HALVED)
        return [(SOURCE, kernel(part, count, shape)) for shape in shapes for part, count in column_items(dtype)]
