"""The regimes of `cumsum`: which variants are for a problem of a shape, best first; `tuning` holds the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import resident_tuning, transposed_tuning, tuning
from gpubench.operators.cumsum.columns import strip_cut
from gpubench.operators.cumsum.geometry import columns_of, rows_of, transposed_of
from gpubench.operators.cumsum.walked import walk_of
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import is_half, is_narrow, vector_items

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem


def candidates(problem: Problem[Any], device: DeviceInfo) -> tuple[str, ...]:
    """Return the names of the variants for the problem's regime, best first."""
    rows = rows_of(problem)
    transposed = transposed_of(problem)
    turns = _for_transposed(transposed, problem.operand("x").dtype, device) if transposed is not None else ()
    if rows is not None:
        return turns + _for_rows(rows, vector_items(problem), device)
    columns = columns_of(problem)
    if columns is not None:
        return turns + _for_columns(problem, columns, device)
    return turns


def leftovers(problem: Problem[Any]) -> tuple[str, ...]:
    """Return the names of the variants for what no candidate takes: rows or columns in pieces, lines in any order."""
    x = problem.operand("x").view
    length = x.shape[problem.params.dim] if x.shape else 1
    if x.size < tuning.WALKS * length and length >= tuning.LONG_WALK:
        return ("sklansky_rows", "walked_lines")
    transposed = transposed_of(problem)
    if transposed is not None and not transposed.x_along_lines and length >= transposed_tuning.FEW_LENGTH:
        return ("transposed_lines", "walked_lines")
    return ("walked_lines",)


def _for_transposed(transposed: Transposed, dtype: str, device: DeviceInfo) -> tuple[str, ...]:
    along = transposed.x_along_lines
    ring = device.compute_capability >= (8, 0)
    if transposed.across < transposed_tuning.ACROSS:
        turned = along and transposed.length >= tuned("TURNED_LENGTH", transposed_tuning.LENGTH)
        return (("transposed_ring",) if ring else ()) + ("transposed_tiles",) if turned else ()
    most = tuned("TURNED_LENGTH", transposed_tuning.HALF_LENGTH[along] if is_half(dtype) else transposed_tuning.LENGTH)
    enough = tuned("LINE_STRIPS", transposed_tuning.LINE_STRIPS) * device.sm_count
    many = transposed.strips(transposed_tuning.SHAPES[0].lines) >= enough
    # Of narrow integers few bytes are under way at any time by copies in the background.
    tiles = ("transposed_ring", "transposed_tiles") if ring and not is_narrow(dtype) else ("transposed_tiles",)
    if transposed.length >= most:
        return ("sklansky_rows", *tiles) if _is_for_blocks(transposed) else tiles
    if many and transposed.length >= transposed_tuning.LINE_LEAST[along]:
        return ("transposed_lines",)
    return () if many or transposed.length < transposed_tuning.TILE_LEAST else tiles


def _is_for_blocks(transposed: Transposed) -> bool:
    """Tell whether lines of y are so few and long that a block each is more than the strips that there would be."""
    lines = transposed.across * transposed.batches
    few = lines <= transposed_tuning.BLOCK_LINES and transposed.length >= transposed_tuning.BLOCK_LENGTH
    return few and not transposed.x_along_lines


def _for_rows(rows: Rows, items: int, device: DeviceInfo) -> tuple[str, ...]:
    if rows.length == 1:
        return ("single_elements", "lanes_rows")
    vectors = rows.vectors(items)
    if vectors <= tuned("LANES_LONGEST", tuning.LANES_VECTORS):
        idle = rows.length % items != 0 or vectors & (vectors - 1) != 0  # lanes, or parts of vectors
        worth = rows.rows * rows.length >= tuned("FLAT_LEAST", tuning.FLAT_LEAST)
        return ("flat_rows", "lanes_rows") if idle and worth else ("lanes_rows",)
    linked = tuned("LINKED_VECTORS", tuning.LINKED_VECTORS)
    if rows.rows >= tuning.BLOCK_ROWS_PER_SM * device.sm_count or vectors <= linked:
        repeated = ("repeated_rows",) if vectors > tuned("REPEATED_VECTORS", tuning.REPEATED_VECTORS) else ()
        return (*repeated, "block_rows", "carry_forward")
    return ("linked_blocks", "carry_forward", "block_rows")


def _for_columns(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> tuple[str, ...]:
    if columns.inner == 2:
        return ("paired_columns", *_for_wider_columns(problem, columns, device))
    return _for_wider_columns(problem, columns, device)


def _for_wider_columns(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> tuple[str, ...]:
    walk = walk_of(problem)
    if (
        walk is not None
        and columns.length <= tuned("WALKED_COLUMN", tuning.WALKED_COLUMN)
        and walk.vectors >= _least_walks(columns)
    ):
        return ("walked_lines",)
    if columns.length <= tuned("SHORT_COLUMN", tuning.SHORT_COLUMN):
        return ("columns",)
    strips = strip_cut(problem, columns, device)[1].strips * columns.outer
    if strips >= tuned("FULL_SHARE", tuning.FULL_SHARE) * device.sm_count:
        return ("columns",)
    resident = ("resident_columns",) if _is_worth_residence(problem, columns, device) else ()
    x = problem.operand("x")
    small = x.view.size * dtypes.dtype(x.dtype).itemsize <= tuning.LINKED_BYTES
    if small and columns.length <= tuned("LINKED_COLUMN", tuning.LINKED_COLUMN):
        return (*resident, "linked_columns", "column_forward", "columns")
    return (*resident, "column_forward", "linked_columns", "columns")


def _least_walks(columns: Columns) -> int:
    """Return from how many threads on short columns are walked: narrow ones leave more of a strip empty."""
    return tuning.LEAST_WALKS if columns.inner >= tuning.SHORT_COLUMN_WIDTH else tuning.LEAST_NARROW_WALKS


def _is_worth_residence(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> bool:
    """Tell whether there is enough of x, and enough SMs for each block of columns."""
    x = problem.operand("x")
    enough = x.view.size * dtypes.dtype(x.dtype).itemsize >= tuned("RESIDENT_LEAST", resident_tuning.LEAST_BYTES)
    return enough and columns.outer * resident_tuning.LEAST_SHARE <= device.sm_count
