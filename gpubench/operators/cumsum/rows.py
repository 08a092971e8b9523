"""The host rules of the kernels for rows that fit the registers of lanes, a block, or a few blocks at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import is_aligned, short_rows_of
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.vectors import accumulator_bytes, is_narrow, items_of, sides_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int32, int64, row_places, unsigned

THREADS = 256
"""`lanes_rows_threads`."""

MOST_VECTORS = 128
"""Of a row that a warp holds."""

ROWS_AT_ONCE = (1, 2, 4)
RESIDENT = 2048
"""Rows of a lane, where they are whole vectors without gaps: several where sums are wider than elements, and there are
more threads than SMs hold, and than twice as many. With 4 rows 278272 x 4 int8 6.0 us (6.8 with one), int32 7.1 (7.4),
193705 x 16 uint8 10.8 (11.8), 400000 x 64 int8 63 (68), 3000000 x 8 int32 75.6 (75.0), with 2 65536 x 16 int16 6.5
(6.9); 16 cases 1.05 times as fast."""

MOST_ROWS = 2**31

NOT_ROWS = "takes only sums along the last dim, over rows with one pitch"
NOT_SHORT_ROWS = NOT_ROWS + " to three; or beside a few columns that divide a vector"
NOT_LONG_ROWS = NOT_ROWS + "; or beside a few columns that divide a vector"


class LanesRows:
    """Short rows: a power of two of lanes each."""

    name: str = "lanes_rows"
    summary: str = "short rows: a few lanes of a warp a row, shuffles"
    origin: str = "Hillis and Steele 1986 over lanes; rows of up to 64 vectors of 16 bytes"
    source = "cumsum/lanes_rows.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a thread a vector, or several of narrow elements."""
        rows = short_rows_of(problem)
        if rows is None:
            return Refused(NOT_SHORT_ROWS)
        items = vector_items(problem)
        touched = rows.vectors(items)
        if touched > MOST_VECTORS:
            return Refused(f"a row touches {touched} vectors of 16 bytes; a warp holds {MOST_VECTORS}")
        lanes, vectors = lanes_shape(touched)
        x, y = problem.operand("x"), problem.operand("y")
        at_once = rows_at_once(problem, rows, lanes * rows.rows, device) if vectors == 1 else 0
        if at_once:
            return self._at_once(problem, rows, lanes, at_once)
        launch = Launch(
            self.source,
            "gpubench::cumsum::lanes_rows"
            + template(x.dtype, y.dtype, lanes, vectors, is_aligned(problem, rows), *last(rows.side)),
            (-(-rows.rows * lanes // THREADS), 1, 1),
            (min(-(-rows.rows * lanes // 32) * 32, THREADS), 1, 1),
            (Pointer("x"), Pointer("y"), int64(rows.rows), int32(rows.length), places(rows), int64(rows.step)),
        )
        allowed = bound(problem, items // rows.side + vectors + lanes.bit_length())
        return Plan(self.name, (launch,), allowed, notes={"lanes": lanes, "vectors": vectors})

    def _at_once(self, problem: Problem[Any], rows: Rows, lanes: int, at_once: int) -> Plan:
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        kernel = "gpubench::cumsum::lanes_rows_at_once" + template(x, y, lanes, at_once)
        grid = (ceil_div(rows.rows * lanes, THREADS * at_once), 1, 1)
        operands = Pointer("x"), Pointer("y"), unsigned(rows.rows, 4), unsigned(rows.length, 4)
        allowed = bound(problem, vector_items(problem) + 1 + lanes.bit_length())
        notes = {"lanes": lanes, "vectors": 1} | ({"rows": at_once} if at_once > 1 else {})
        return Plan(self.name, (Launch(self.source, kernel, grid, (THREADS, 1, 1), operands),), allowed, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of lanes and of columns side by side."""
        y = sum_dtype(dtype)
        shapes = [*((1 << k, 1) for k in range(6)), (32, 2), (32, 4)]
        wider = dtypes.dtype(dtype).itemsize < dtypes.dtype(y).itemsize
        most = len(ROWS_AT_ONCE) if wider else 1
        names = [f"_at_once{template(dtype, y, 1 << k, count)}" for k in range(6) for count in ROWS_AT_ONCE[:most]]
        names += [
            template(dtype, y, *shape, aligned, *last(side))
            for shape in shapes
            for aligned in (True, False)
            for side in sides_of(dtype, y)
        ]
        return [(self.source, f"gpubench::cumsum::lanes_rows{name}") for name in names]


def rows_at_once(problem: Problem[Any], rows: Rows, threads: int, device: DeviceInfo) -> int:
    """Return the rows of a lane, 0 where they have gaps or cut vectors: several where sums are wider than elements, and
    threads more than are resident.
    """
    x, y = (dtypes.dtype(problem.operand(name).dtype) for name in "xy")
    whole = rows.contiguous and rows.side == 1 and rows.length % vector_items(problem) == 0
    if not whole or not is_aligned(problem, rows) or rows.rows > MOST_ROWS:
        return 0
    waves = threads / (device.sm_count * RESIDENT) if x.itemsize < y.itemsize else 0.0
    return next((held for held in reversed(ROWS_AT_ONCE) if waves > held // 2), 1)


def last(side: int) -> tuple[int, ...]:
    """Return the last template argument of a kernel for so many columns side by side, which one column leaves out."""
    return (side,) if side > 1 else ()


def places(rows: Rows) -> Value:
    """Return the kernels' `RowPlaces`."""
    return row_places(rows.pitch, rows.groups)


def lanes_shape(vectors: int) -> tuple[int, int]:
    """Return (lanes a row, vectors a lane) for rows of so many vectors."""
    return (1 << (vectors - 1).bit_length(), 1) if vectors <= 32 else (32, 2 if vectors <= 64 else 4)


def lanes_vectors(problem: Problem[Any]) -> int:
    """Return the vectors up to which rows, if they are many, go to lanes: by the dtype of x."""
    if is_narrow(problem.operand("x").dtype):
        return MOST_VECTORS
    return tuning.LANES_VECTORS if vector_items(problem) == 4 else tuning.LANES_MANY


class BlockRows:
    """Rows that fit the registers of one block."""

    name: str = "block_rows"
    summary: str = "rows of middle length: a block a row, held in registers"
    origin: str = (
        "block scan by shuffles and shared memory; rows of up to 8192 vectors of 16 bytes (4096 for 16-bit floats)"
    )
    source = "cumsum/block_rows.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block a row; more warps to a row where there are fewer rows than SMs."""
        rows = short_rows_of(problem)
        if rows is None:
            return Refused(NOT_SHORT_ROWS)
        if rows.rows >= 2**31:
            return Refused("takes at most 2^31 - 1 rows")
        shapes = (*(tuning.LONE_SHAPES if rows.rows < device.sm_count else ()), *block_shapes(problem))
        vectors = rows.vectors(vector_items(problem))
        shape = fitting_shape((*shape_in_force("BLOCK_SHAPE", vectors), *shapes), vectors)
        if isinstance(shape, Refused):
            return shape
        launch = block_launch(problem, rows, shape, tiles=1, linked=False)
        allowed = bound(problem, vector_items(problem) // rows.side + 6 + shape.vectors + shape.warps)
        return Plan(self.name, (launch,), allowed, notes={"warps": shape.warps, "vectors": shape.vectors})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape and a number of columns side by side."""
        shapes = (*tuning.LONE_SHAPES, *tuning.BLOCK_SHAPES[words_per_vector(dtype, sum_dtype(dtype))])
        sides = sides_of(dtype, sum_dtype(dtype))
        names = [block_kernel(dtype, shape, False, False, side) for shape in shapes for side in sides]
        return [(self.source, name) for name in dict.fromkeys(names)]


def words_per_vector(x: str, y: str) -> int:
    """Return the 32-bit registers that a vector takes once it is in the accumulator's type."""
    return items_of(x, y) * accumulator_bytes(y) // 4


def block_shapes(problem: Problem[Any]) -> tuple[tuning.BlockShape, ...]:
    """Return the shapes for the problem's dtypes, smallest first."""
    return tuning.BLOCK_SHAPES[words_per_vector(problem.operand("x").dtype, problem.operand("y").dtype)]


def shape_in_force(name: str, vectors: int) -> tuple[tuning.BlockShape, ...]:
    """Return the shape that is in force for blocks, where there is one that holds a row of so many vectors."""
    warps_and_vectors: tuple[int, int] | None = tuned(name, None)
    shapes = () if warps_and_vectors is None else (tuning.BlockShape(*warps_and_vectors),)
    return tuple(shape for shape in shapes if shape.capacity >= vectors)


def fitting_shape(shapes: Sequence[tuning.BlockShape], vectors: int) -> tuning.BlockShape | Refused:
    """Return the first shape that holds a row of so many vectors, with no more warps than it needs."""
    for shape in shapes:
        if shape.capacity >= vectors:
            return tuning.BlockShape(max(ceil_div(vectors, 32 * shape.vectors), 1), shape.vectors)
    return Refused(f"a row touches {vectors} vectors of 16 bytes; a block holds {shapes[-1].capacity}")


def block_kernel(dtype: str, shape: tuning.BlockShape, aligned: bool, linked: bool, side: int = 1) -> str:
    """Return the name expression. Blocks that know nothing of each other take their warps from the launch."""
    numbers = (shape.warps if linked else 0, shape.vectors, aligned, linked, *last(side))
    return "gpubench::cumsum::block_rows" + template(dtype, sum_dtype(dtype), *numbers)


def block_launch(problem: Problem[Any], rows: Rows, shape: tuning.BlockShape, tiles: int, linked: bool) -> Launch:
    """Return the launch of block_rows.cu: `tiles` blocks a row. The workspace holds a counter, then the sums.

    Code for aligned rows alone saves small sizes 0.2 us; for a row a block it is slower (8192 x 32000 float32 519 us
    against 506): the compiler spills where the words come by 16 bytes and no shift stands between.
    """
    return Launch(
        BlockRows.source,
        block_kernel(problem.operand("x").dtype, shape, linked and is_aligned(problem, rows), linked, rows.side),
        (rows.rows * tiles, 1, 1),
        (32 * shape.warps, 1, 1),
        (
            Pointer("x"),
            Pointer("y"),
            int64(rows.length),
            int64(rows.step),
            places(rows),
            int32(tiles),
            Workspace(0),
            Workspace(16),
        ),
        waits_for_blocks=linked,
    )
