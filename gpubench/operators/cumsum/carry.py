"""The host rule of cumsum/carry_forward.cu: long rows by resident blocks with a ring of stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import gives_up_x, long_rows_of
from gpubench.operators.cumsum.rows import NOT_LONG_ROWS, last
from gpubench.operators.geometry.cuts import even_tile
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.vectors import exchange_bytes, items_of, published_bytes, sides_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import Struct

RING_ROWS = Struct(
    "gpubench::cumsum::RingRows",
    "cumsum/ring_tiles.cuh",
    **dict.fromkeys(("length", "x_pitch", "elements"), "i8"),
    **dict.fromkeys(("rows", "tiles_per_row", "tile", "turn_rows", "turn_tiles", "streaming"), "i4"),
)

SHORTEST = 32
"""Elements of the shortest rows that are worth a tile."""


class CarryForward:
    """One row, or a few long ones, in one pass at the rate of a copy."""

    name: str = "carry_forward"
    summary: str = "long rows: resident blocks, a ring of bulk copies, sums carried forward"
    origin: str = "after Merrill and Garland 2016 without the chain of prefixes; needs all blocks resident"
    source = "cumsum/carry_forward.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block an SM. Takes rows whose elements lie side by side."""
        rows = long_rows_of(problem)
        if rows is None or rows.step != 1:
            return Refused(NOT_LONG_ROWS + "; their elements side by side")
        if rows.length < SHORTEST:
            return Refused(f"gives every row a tile of its own: rows of at least {SHORTEST} elements")
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        shape = ring_shape(x, y, device)
        if shape is None:
            return Refused(f"needs {ring_bytes(tuning.SMALL_RING, x, y)} bytes of shared memory a block")
        items = vector_items(problem)
        tile, per_row = tiles_per_row(rows, shape, problem, device)
        tiles = rows.rows * per_row
        if tiles >= 2**31:
            return Refused("takes at most 2^31 - 1 tiles")
        blocks = min(device.sm_count, tiles)
        launch = Launch(
            self.source,
            ring_kernel(x, shape, rows.side),
            (blocks, 1, 1),
            (32 * (shape.consumers + shape.reducers + 2), 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                tile_argument(rows, tile, per_row, blocks, gives_up_x(problem, device)),
                Workspace(0),
                Workspace(16),
            ),
            shared_bytes=ring_bytes(shape, x, y),
            waits_for_blocks=True,
        )
        additions = 2 * items // rows.side + 2 * shape.vectors + 30 + 2 * -(-per_row // blocks)
        return Plan(
            self.name,
            (launch,),
            bound(problem, additions),
            workspace_bytes=16 + tiles * published_bytes(y, rows.side),
            workspace_zeroed=True,
            notes={"tiles_per_row": per_row, "tile": tile, "stages": shape.stages, "consumers": shape.consumers},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape and a number of columns side by side."""
        return _instances(dtype, (*tuning.RINGS[dtype], tuning.SMALL_RING))

    def instances_on(self, dtype: str, device: DeviceInfo) -> Sequence[tuple[str, str]]:
        """Return those of the ring which fits."""
        shape = ring_shape(dtype, sum_dtype(dtype), device)
        return [] if shape is None else _instances(dtype, (shape,))


def _instances(dtype: str, shapes: Sequence[tuning.RingShape]) -> list[tuple[str, str]]:
    sides = sides_of(dtype, sum_dtype(dtype))
    return [(CarryForward.source, ring_kernel(dtype, shape, side)) for shape in shapes for side in sides]


def tile_argument(rows: Rows, tile: int, per_row: int, blocks: int, streaming: bool) -> Value:
    """Return the kernel's `RingRows`; blocks: of the launch."""
    turn_rows, turn_tiles = divmod(blocks, per_row)
    return RING_ROWS.value(
        rows,
        x_pitch=rows.pitch,
        elements=rows.span,
        rows=rows.rows,
        tiles_per_row=per_row,
        tile=tile,
        turn_rows=turn_rows,
        turn_tiles=turn_tiles,
        streaming=streaming,
    )


def ring_kernel(dtype: str, shape: tuning.RingShape, side: int = 1) -> str:
    """Return the name expression; side: columns side by side."""
    numbers = (shape.consumers, shape.reducers, shape.vectors, shape.stages)
    return "gpubench::cumsum::carry_forward" + template(dtype, sum_dtype(dtype), *numbers, *last(side))


def tile_items(shape: tuning.RingShape, items: int) -> int:
    """Return the most elements that a tile holds."""
    return 32 * shape.consumers * shape.vectors * items


def tiles_per_row(rows: Rows, shape: tuning.RingShape, problem: Problem[Any], device: DeviceInfo) -> tuple[int, int]:
    """Return (elements of a tile, tiles of a row), wherever the row starts on the grid of vectors.

    As few turns of all blocks as tiles of full length need, then tiles as short as fills the last turn, too.
    """
    items = vector_items(problem)
    slots = rows.vectors(items) * items
    most = tile_items(shape, items)
    step = tuning.TILE_STEP_BYTES // dtypes.dtype(problem.operand("x").dtype).itemsize
    even = -(-even_tile(slots, most, device.sm_count, rows.rows) // step) * step
    tile = min(max(even, most // 2), most)
    return tile, -(-slots // tile)


def ring_bytes(shape: tuning.RingShape, x: str, y: str) -> int:
    """Return the dynamic shared memory of a block: its stages, and what its consumers exchange."""
    items = items_of(x, y)
    stage = tile_items(shape, items) * dtypes.dtype(x).itemsize + 48
    return shape.stages * (-(-stage // 16) * 16) + shape.consumers * exchange_bytes(x, shape.vectors * items)


def ring_shape(x: str, y: str, device: DeviceInfo) -> tuning.RingShape | None:
    """Return the first shape of the dtype whose ring fits; the small one elsewhere; None where that does not fit."""
    wanted = tuned("RING", None)
    first = () if wanted is None else (tuning.RingShape(*wanted),)
    for shape in (*first, *tuning.RINGS[x], tuning.SMALL_RING):
        if ring_bytes(shape, x, y) + 4096 <= device.max_shared_bytes:
            return shape
    return None
