"""The host rule of cumsum/flat_rows.cu: short contiguous rows, or a few columns side by side, as one flat array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import short_rows_of
from gpubench.operators.cumsum.rows import NOT_SHORT_ROWS, THREADS
from gpubench.operators.geometry.vectors import sides_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, divider, int64


class FlatRows:
    """Short rows that are no power of two of vectors."""

    name: str = "flat_rows"
    summary: str = (
        "short rows of any length, or a few columns side by side: tiles of the flat array, segmented scan by shuffles"
    )
    origin: str = "Sengupta and others 2007, segmented scan; the part of a row before a tile is read again"
    source = "cumsum/flat_rows.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a warp a tile. Takes contiguous rows that are short beside a tile."""
        del device
        rows = short_rows_of(problem)
        if rows is None or not rows.contiguous:
            return Refused(NOT_SHORT_ROWS + ", without gaps")
        if rows.rows == 1:
            return Refused("takes several rows")
        items = vector_items(problem)
        if rows.length > longest(items):
            return Refused(f"reads the part of a row before each tile again: rows of up to {longest(items)} elements")
        elements = rows.rows * rows.length
        tile = 32 * items * flat_vectors()
        x, y = problem.operand("x"), problem.operand("y")
        divisor = INTEGER_DIVIDER.value(**dict(zip(("divisor", "magic", "shift"), divider(rows.length), strict=True)))
        launch = Launch(
            self.source,
            kernel(x.dtype, y.dtype, rows.side),
            (-(-elements // (tile * THREADS // 32)), 1, 1),
            (THREADS, 1, 1),
            (Pointer("x"), Pointer("y"), int64(elements), divisor),
        )
        additions = items // rows.side + 6 + flat_vectors() + -(-rows.length // 32) + 5
        return Plan(
            self.name, (launch,), bound(problem, additions), notes={"vectors": flat_vectors(), "side": rows.side}
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a number of columns side by side."""
        y = sum_dtype(dtype)
        return [(self.source, kernel(dtype, y, side)) for side in sides_of(dtype, y)]


def flat_vectors() -> int:
    """Return the vectors of a lane."""
    return tuned("FLAT_VECTORS", tuning.FLAT_VECTORS)


def longest(items: int) -> int:
    """Return the longest rows: half a tile, so that a tile reads at most half of itself again."""
    return 32 * items * flat_vectors() // 2


def kernel(x: str, y: str, side: int) -> str:
    """Return the name expression."""
    return "gpubench::cumsum::flat_rows" + template(x, y, flat_vectors(), side)
