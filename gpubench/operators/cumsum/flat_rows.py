"""The host rule of cumsum/flat_rows.cu: short contiguous rows, or columns in pairs, as one flat array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import columns_of, rows_of
from gpubench.operators.cumsum.rows import NOT_ROWS, THREADS
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.vectors import items_of, vector_items
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, divider, int64


class FlatRows:
    """Short rows that are no power of two of vectors."""

    name: str = "flat_rows"
    summary: str = "short rows of any length, or pairs of columns: tiles of the flat array, segmented scan by shuffles"
    origin: str = "Sengupta and others 2007, segmented scan; the part of a row before a tile is read again"
    source = "cumsum/flat_rows.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a warp a tile. Takes contiguous rows that are short beside a tile."""
        del device
        rows, length, side = _flat(problem)
        if not rows:
            return Refused(NOT_ROWS + " and no gaps, nor pairs of columns")
        if rows == 1:
            return Refused("takes several rows")
        items = vector_items(problem)
        if items % side or length > longest(items):
            return Refused(f"reads the part of a row before each tile again: rows of up to {longest(items)} elements")
        elements = rows * length
        tile = 32 * items * flat_vectors()
        x, y = problem.operand("x"), problem.operand("y")
        divisor = INTEGER_DIVIDER.value(**dict(zip(("divisor", "magic", "shift"), divider(length), strict=True)))
        launch = Launch(
            self.source,
            kernel(x.dtype, y.dtype, side),
            (-(-elements // (tile * THREADS // 32)), 1, 1),
            (THREADS, 1, 1),
            (Pointer("x"), Pointer("y"), int64(elements), divisor),
        )
        additions = items + 6 + flat_vectors() + -(-length // 32) + 5
        return Plan(self.name, (launch,), bound(problem, additions), notes={"vectors": flat_vectors(), "side": side})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Rows, and columns in pairs where a vector holds them."""
        sides = (1, 2) if items_of(dtype, sum_dtype(dtype)) > 1 else (1,)
        return [(self.source, kernel(dtype, sum_dtype(dtype), side)) for side in sides]


def _flat(problem: Problem[Any]) -> tuple[int, int, int]:
    """Return rows, elements of one, and columns side by side in it; no rows where x is no such flat array."""
    rows = rows_of(problem)
    if rows is not None:
        return (rows.rows, rows.length, 1) if rows.contiguous else (0, 0, 1)
    columns = columns_of(problem)
    if columns is None or not is_pairs(columns):
        return 0, 0, 1
    return columns.outer, columns.length * columns.inner, columns.inner


def is_pairs(columns: Columns) -> bool:
    """Tell whether two columns lie side by side, block after block without a gap."""
    whole = columns.contiguous and (columns.outer == 1 or columns.outer_pitch == columns.length * columns.inner)
    return columns.inner == 2 and whole


def flat_vectors() -> int:
    """Return the vectors of a lane."""
    return tuned("FLAT_VECTORS", tuning.FLAT_VECTORS)


def longest(items: int) -> int:
    """Return the longest rows: half a tile, so that a tile reads at most half of itself again."""
    return 32 * items * flat_vectors() // 2


def kernel(x: str, y: str, side: int) -> str:
    """Return the name expression."""
    return "gpubench::cumsum::flat_rows" + template(x, y, flat_vectors(), side)
