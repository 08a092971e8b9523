"""The host rule of cumsum/repeated_rows.cu: rows of y that all come from one row of x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import rows_of
from gpubench.operators.cumsum.rows import block_shapes, fitting_shape, words_per_vector
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.vectors import vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64


class RepeatedRows:
    """A row of x that was broadcast to many rows."""

    name: str = "repeated_rows"
    summary: str = "a row of x broadcast to many: scanned once a block, stored to several rows"
    origin: str = "block scan by shuffles and shared memory, as block_rows"
    source = "cumsum/repeated_rows.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch of about as many blocks as run at once. Takes one row of x, broadcast, that fits a block."""
        rows = rows_of(problem)
        if rows is None or rows.pitch != 0 or rows.rows < 2:
            return Refused("takes only one row of x broadcast to several")
        items = vector_items(problem)
        shape = fitting_shape(block_shapes(problem), rows.vectors(items))
        if isinstance(shape, Refused):
            return shape
        blocks = grid_of(
            rows,
            items,
            max(tuned("REPEATED_THREADS", tuning.REPEATED_THREADS) // (32 * shape.warps), 1) * device.sm_count,
        )
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        launch = Launch(
            self.source,
            kernel(x, y, shape),
            (blocks, 1, 1),
            (32 * shape.warps, 1, 1),
            (Pointer("x"), Pointer("y"), int64(rows.length), int64(rows.rows), int64(rows.step)),
        )
        allowed = bound(problem, items + 6 + shape.vectors + shape.warps)
        return Plan(self.name, (launch,), allowed, notes={"rows_per_block": -(-rows.rows // blocks)})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape."""
        y = sum_dtype(dtype)
        names = [kernel(dtype, y, shape) for shape in tuning.BLOCK_SHAPES[words_per_vector(dtype, y)]]
        return [(self.source, name) for name in dict.fromkeys(names)]


def kernel(x: str, y: str, shape: tuning.BlockShape) -> str:
    """Return the name expression: one instance for blocks of up to 16 warps, one for larger ones."""
    return "gpubench::cumsum::repeated_rows" + template(x, y, 16 if shape.warps <= 16 else 32, shape.vectors)


def grid_of(rows: Rows, items: int, most: int) -> int:
    """Return the blocks: whole turns of at most about `most`, as a multiple of a vector's elements."""
    turns = -(-rows.rows // most)
    return -(-rows.rows // (turns * items)) * items
