"""The host rules of rows that blocks share while all of them is on the chip: cumsum/block_rows.cu and staged_blocks.cu.

A block holds its tile in registers (block_rows.cu), or in registers and shared memory (staged_blocks.cu).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import is_aligned, long_rows_of
from gpubench.operators.cumsum.rows import (
    NOT_LONG_ROWS,
    BlockRows,
    block_kernel,
    block_launch,
    shape_in_force,
    words_per_vector,
)
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.vectors import items_of, published_bytes, sides_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int32, int64

STAGED_SOURCE = "cumsum/staged_blocks.cu"

NOT_RESIDENT = "more than the registers and the shared memory of the whole device hold"

RESERVED_BYTES = 2048
"""What a block takes of an SM's shared memory beside its stage: the system's share, its own barriers and sums."""


class LinkedBlocks:
    """Few rows that together fit the registers and the shared memory of the whole device."""

    name: str = "linked_blocks"
    summary: str = "up to 40 MB: all tiles in registers and shared memory at once, one hop between blocks"
    origin: str = "reduce-then-scan with every tile resident; all blocks must run at the same time"
    source = BlockRows.source

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch of resident blocks, from registers alone where these are enough."""
        rows = long_rows_of(problem)
        if rows is None:
            return Refused(NOT_LONG_ROWS)
        shape = linked_shape(problem, rows, device)
        staged = 0 if shape else staged_vectors(problem, rows, device)
        if staged is None:
            return Refused(NOT_RESIDENT)
        warps, vectors = (shape or tuning.STAGED).warps, (shape or tuning.STAGED).vectors
        tiles = -(-rows.vectors(vector_items(problem)) // (32 * warps * (vectors + staged)))
        launch = (
            block_launch(problem, rows, shape, tiles, True) if shape else staged_launch(problem, rows, tiles, staged)
        )
        additions = vector_items(problem) // rows.side + 12 + vectors + staged + 2 * warps + -(-tiles // (32 * warps))
        return Plan(
            self.name,
            (launch,),
            bound(problem, additions),
            workspace_bytes=16 + rows.rows * tiles * published_bytes(problem.operand("y").dtype, rows.side),
            workspace_zeroed=True,
            notes={"warps": warps, "vectors": vectors, "staged": staged, "tiles_per_row": tiles},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape and a number of columns side by side."""
        shapes = tuning.LINKED_SHAPES[words_per_vector(dtype, sum_dtype(dtype))]
        linked = [
            (self.source, block_kernel(dtype, shape, aligned, True, side))
            for shape in shapes
            for aligned in (True, False)
            for side in sides_of(dtype, sum_dtype(dtype))
        ]
        return [*linked, (STAGED_SOURCE, staged_kernel(dtype))]


def resident_blocks(shape: tuning.BlockShape, words: int, device: DeviceInfo) -> int:
    """Return how many blocks of block_rows.cu surely run at once (`block_rows_resident` there)."""
    words *= shape.vectors
    threads = min(1024 if words >= 32 else 1536 if words >= 16 else 2048, device.max_threads_per_sm)
    return max(threads // (32 * shape.warps), 1) * device.sm_count


def linked_shape(problem: Problem[Any], rows: Rows, device: DeviceInfo) -> tuning.BlockShape | None:
    """Return the smallest shape with at most a tile an SM, else the largest if its tiles are resident, else None."""
    vectors = rows.vectors(vector_items(problem))
    words = words_per_vector(problem.operand("x").dtype, problem.operand("y").dtype)
    shapes = (*shape_in_force("LINKED_SHAPE", 0), *tuning.LINKED_SHAPES[words])
    for shape in shapes:
        if rows.rows * -(-vectors // shape.capacity) <= device.sm_count:
            return shape
    largest = shapes[-1]
    tiles = rows.rows * -(-vectors // largest.capacity)
    return largest if tiles <= resident_blocks(largest, words, device) else None


def staged_kernel(dtype: str) -> str:
    """Return the name expression."""
    shape = tuning.STAGED
    return "gpubench::cumsum::staged_blocks" + template(dtype, sum_dtype(dtype), shape.warps, shape.vectors)


def stage_bytes(problem: Problem[Any], staged: int) -> int:
    """Return the dynamic shared memory of a block with so many staged vectors a thread: x as it is in memory."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    return staged * 32 * tuning.STAGED.warps * items_of(x, y) * dtypes.dtype(x).itemsize


def staged_launch(problem: Problem[Any], rows: Rows, tiles: int, staged: int) -> Launch:
    """Return the launch of staged_blocks.cu: `tiles` blocks a row. The workspace holds a counter, then the sums."""
    return Launch(
        STAGED_SOURCE,
        staged_kernel(problem.operand("x").dtype),
        (rows.rows * tiles, 1, 1),
        (32 * tuning.STAGED.warps, 1, 1),
        (
            Pointer("x"),
            Pointer("y"),
            int64(rows.length),
            int32(tiles),
            int32(staged),
            int64(rows.pitch),
            Workspace(0),
            Workspace(16),
        ),
        shared_bytes=stage_bytes(problem, staged),
        waits_for_blocks=True,
    )


def stands_on_words(problem: Problem[Any], rows: Rows) -> bool:
    """Tell whether stages of aligned rows of x begin on 16 bytes, as bulk copies need, though a vector be shorter."""
    x = problem.operand("x")
    size = dtypes.dtype(x.dtype).itemsize
    if vector_items(problem) * size == 16:
        return True
    # from row to row of x, and of y, whose vectors decide on the shift
    between = (0, 0) if rows.rows == 1 else (rows.pitch, rows.length)
    return all(elements * size % 16 == 0 for elements in (x.view.offset, *between))


def staged_vectors(problem: Problem[Any], rows: Rows, device: DeviceInfo) -> int | None:
    """Return the fewest staged vectors a thread with which all tiles are resident; None where that is not possible."""
    if rows.side > 1 or not is_aligned(problem, rows) or not stands_on_words(problem, rows):
        return None
    shape = tuning.STAGED
    vectors = rows.vectors(vector_items(problem))
    blocks_per_sm = max(min(1024, device.max_threads_per_sm) // (32 * shape.warps), 1)
    tiles = blocks_per_sm * device.sm_count // rows.rows  # of a row
    if tiles == 0:
        return None
    staged = max(-(-vectors // (tiles * 32 * shape.warps)) - shape.vectors, 1)
    shared = blocks_per_sm * (stage_bytes(problem, staged) + RESERVED_BYTES)
    return staged if staged <= shape.most and shared <= device.max_shared_bytes + 1024 else None
