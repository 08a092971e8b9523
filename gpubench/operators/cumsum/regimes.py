"""The regimes of `cumsum`: which variants are for a problem of a shape, best first; `tuning` holds the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import resident_tuning, transposed_tuning, tuning, walk_tuning
from gpubench.operators.cumsum.columns import linked_cut, linked_items
from gpubench.operators.cumsum.flat_rows import longest
from gpubench.operators.cumsum.geometry import (
    columns_of,
    grouped_rows_of,
    in_parts,
    is_aligned,
    line_length,
    rows_of,
    short_rows_of,
    transposed_of,
)
from gpubench.operators.cumsum.line_runs import taken_runs
from gpubench.operators.cumsum.rows import lanes_vectors
from gpubench.operators.cumsum.spread_runs import taken_spread
from gpubench.operators.cumsum.strips import best_strips, shared_us
from gpubench.operators.cumsum.torn import are_sums_torn
from gpubench.operators.cumsum.turned import (
    UNIT,
    are_halves_torn,
    are_units_cut,
    for_transposed,
    goes_in_runs,
    has_few_strips,
    without_torn_lines,
)
from gpubench.operators.cumsum.walked import shares_lines
from gpubench.operators.cumsum.walks import Walk, rows_at_once, walk_of
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.rows import Rows
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import VECTOR_BYTES, is_half, is_narrow, vector_items
from gpubench.operators.sectors import CACHE_LINE, SECTOR

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem


def candidates(problem: Problem[Any], device: DeviceInfo) -> tuple[str, ...]:
    """Return the names of the variants for the problem's regime, best first."""
    if line_length(problem) == 1:
        return ("single_elements",)
    if taken_runs(problem, device) is not None or taken_spread(problem, device) is not None:
        return ("walked_lines",)
    rows = rows_of(problem) or grouped_rows_of(problem)
    transposed = transposed_of(problem)
    if transposed is not None and _is_short_of_a_vector(problem, transposed):
        return ("walked_lines",)
    if transposed is not None and _is_better_copied(problem, transposed, device):
        return ("copied_first",)
    tiled = _tiled_walk(problem)
    if tiled is not None and _is_better_tiled(problem, tiled, transposed):
        return ("walked_lines",)
    turns = for_transposed(problem, transposed, device) if transposed is not None else ()
    if rows is not None and transposed is None and tiled is not None and _are_rows_apart(problem, tiled):
        return ("copied_first",)
    if rows is not None:
        straight = _for_little_across(problem, rows)
        straight = straight or (_for_grouped(problem, rows) if rows.groups else _for_rows(problem, rows, device))
        cut_lines = turns == ("transposed_lines",) and _are_cut(problem, rows)
        if (
            transposed is None
            or _is_little_to_turn(problem, rows, transposed, turns, device)
            or _is_worth_no_turn(problem, rows, transposed, cut_lines, device)
        ):
            return straight + turns
        return without_torn_lines(problem, transposed, turns) + (straight if not rows.groups else ())
    columns = columns_of(problem)
    walked = _for_columns(problem, columns, device) if columns is not None else ()
    return without_torn_lines(problem, transposed, turns) + _for_sides(problem, device) + walked


def leftovers(problem: Problem[Any], device: DeviceInfo) -> tuple[str, ...]:
    """Return the names of the variants for what no candidate takes: rows or columns in pieces, lines in any order."""
    if shares_lines(problem, device):
        return ("walked_lines",)
    walk = walk_of(problem)
    apart = walk is not None and (are_sums_torn(problem, walk) or _are_rows_apart(problem, walk))
    if apart or _are_few_walks(problem, walk):
        return ("copied_first", "walked_lines")
    transposed = transposed_of(problem)
    if transposed is not None and not transposed.x_along_lines and line_length(problem) >= transposed_tuning.FEW_LENGTH:
        return ("transposed_lines", "walked_lines")
    return ("walked_lines",)


def _are_few_walks(problem: Problem[Any], walk: Walk | None) -> bool:
    """Tell whether lines are so few that a thread each asks for little, and long enough to be worth a copy."""
    x, itemsize = problem.operand("x").view, dtypes.dtype(problem.operand("x").dtype).itemsize
    length = line_length(problem)
    lines = x.size // max(length, 1)
    if lines * max(itemsize, 4) <= 4 * tuned("WALKS", walk_tuning.WALKS) and length >= walk_tuning.LONG_WALK:
        return True
    if not is_half(problem.operand("x").dtype) or walk is None or walk.far is None or walk.staged:
        return False
    tiled = walk.sizes[walk.far] * walk.items * itemsize >= SECTOR  # side by side in x
    enough = x.size >= walk_tuning.HALF_TILED_LEAST and length >= walk_tuning.HALF_TILED_LINE
    return tiled and enough and lines <= tuned("HALF_TILED", walk_tuning.HALF_TILED)


def _is_little_to_turn(
    problem: Problem[Any], rows: Rows, transposed: Transposed, turns: tuple[str, ...], device: DeviceInfo
) -> bool:
    """Tell whether x across the lines is so little that the L2 cache keeps the sectors that rows apart touch."""
    elements, itemsize = problem.operand("x").view.size, dtypes.dtype(problem.operand("x").dtype).itemsize
    if turns in ((), ("walked_lines",)):
        least = tuned("STRAIGHT_WALK", transposed_tuning.STRAIGHT_WALK)
        alone = not transposed.x_along_lines and not shares_lines(problem, device)
        long = least <= transposed.length <= transposed_tuning.SHORT_LINE
        turned = alone and long and itemsize >= 4
    else:
        turned = turns[:1] in (("transposed_lines",), ("transposed_tiles",), ("transposed_ring",))
    by_lanes = itemsize == 1 and rows.vectors(vector_items(problem)) <= lanes_vectors(problem)
    most = tuned("STRAIGHT_LITTLE", transposed_tuning.STRAIGHT_LITTLE)
    return turned and elements < most * (4 if by_lanes and transposed.batches == 1 else 1)


def _is_worth_no_turn(
    problem: Problem[Any], rows: Rows, transposed: Transposed, cut_lines: bool, device: DeviceInfo
) -> bool:
    """Tell whether lines across x are as well walked as rows whose elements are a step apart.

    Neighbouring rows share the sectors of x, so the L1 cache does what turned tiles would: worth it as long as lanes
    touch few of its lines in all, unless strips are enough for the device, and lines long enough to turn. cut_lines:
    the other way would be a lane a line, and to move units of y that lines cut.
    """
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    if cut_lines:
        little = transposed.length * rows.rows <= tuned("WALK_SHARED", walk_tuning.WALK_SHARED)
        return little or rows.pitch * itemsize < SECTOR
    vector = transposed.length == vector_items(problem)  # more in groups are a thread's: lanes would find each its own
    if goes_in_runs(problem, transposed) and rows.pitch == 1 and (vector or not rows.groups):
        return True  # lanes side by side have neighbouring rows, and store a vector each
    widest, *_, narrowest = transposed_tuning.RING_LINES
    enough = transposed.strips(narrowest) >= tuning.FULL_SHARE * device.sm_count and transposed.across >= widest
    lanes = rows.vectors(vector_items(problem)) <= lanes_vectors(problem)
    whole = transposed.length % vector_items(problem) == 0 and transposed.length * itemsize >= CACHE_LINE
    long = is_half(problem.operand("x").dtype) and whole and transposed.length >= transposed_tuning.RING_LENGTH - 1
    few = transposed_tuning.STRAIGHT_PAIRS // (2 if long else 1)
    little = lanes and itemsize == 2 and transposed.length * rows.rows <= few
    if enough and transposed.length >= transposed_tuning.STRAIGHT and not little:
        return False
    touched = min(rows.step * vector_items(problem) * itemsize, CACHE_LINE) / CACHE_LINE  # lines of the cache a lane
    most = tuned("STRAIGHT_ELEMENTS", transposed_tuning.STRAIGHT_ELEMENTS)
    most = min(most, transposed_tuning.STRAIGHT_WIDE) if lanes and itemsize >= 8 and whole else most
    return rows.pitch * itemsize < SECTOR and transposed.length * rows.rows * touched <= most


def _for_grouped(problem: Problem[Any], rows: Rows) -> tuple[str, ...]:
    if rows.length < vector_items(problem) and vector_items(problem) % rows.length == 0:
        return ("walked_lines",)  # by vectors of a row, where lanes would move parts of vectors
    return ("lanes_rows" if rows.vectors(vector_items(problem)) <= lanes_vectors(problem) else "block_rows",)


def _for_rows(problem: Problem[Any], rows: Rows, device: DeviceInfo) -> tuple[str, ...]:
    items = vector_items(problem)
    vectors = rows.vectors(items)
    if _are_walked(problem, rows):
        return ("walked_lines",)
    most = lanes_vectors(problem) if rows.rows >= tuning.LANES_ROWS * device.sm_count else tuning.LANES_VECTORS
    if vectors <= tuned("LANES_LONGEST", most):
        idle = rows.length % items != 0 or vectors & (vectors - 1) != 0  # lanes, or parts of vectors
        idle = idle or (is_narrow(problem.operand("x").dtype) and not is_aligned(problem, rows))
        dtype = problem.operand("x").dtype
        idle = idle or (dtype == "int32" and vectors == tuning.FLAT_LANES)
        short = dtypes.dtype(dtype).kind == "integer" or vectors <= tuning.FLAT_SHORT
        longer = 1 if short else 4 if is_half(dtype) else 2
        worth = rows.rows * rows.length >= tuned("FLAT_LEAST", tuning.FLAT_LEAST) * longer
        return ("flat_rows", "lanes_rows") if idle and worth else ("lanes_rows",)
    linked = tuned("LINKED_VECTORS", tuning.LINKED_VECTORS)
    linked *= 2 if rows.rows >= tuning.LINKED_ROWS and rows.step == 1 else 1
    if rows.rows >= tuning.BLOCK_ROWS_PER_SM * device.sm_count or vectors <= linked:
        return ("block_rows", "carry_forward")
    return ("linked_blocks", "carry_forward", "block_rows")


def _are_walked(problem: Problem[Any], rows: Rows) -> bool:
    """Tell whether rows that cut vectors are so short, and so few, that a thread each has less code than lanes."""
    itemsize, few = dtypes.dtype(problem.operand("y").dtype).itemsize, rows.length <= walk_tuning.SHORT_FEW
    part = rows.length * itemsize == VECTOR_BYTES // 2  # two rows a vector: none is cut
    most = walk_tuning.SHORT_PARTS if part else tuned("SHORT_ROWS", walk_tuning.SHORT_ROWS) // (1 if few else 4)
    cut = rows.length % vector_items(problem) != 0 and rows.side == rows.step == 1
    return cut and rows.length * itemsize <= walk_tuning.SHORT_ROW and rows.rows * rows.length <= most


def _for_little_across(problem: Problem[Any], rows: Rows) -> tuple[str, ...]:
    """Return the variants for little of 16-bit floats in rows across x; none where rows are as others are."""
    if rows.step == 1 or rows.pitch != 1 or not is_half(problem.operand("x").dtype):
        return ()
    elements, whole = rows.rows * rows.length, rows.length % vector_items(problem) == 0
    short = rows.length < 2 * vector_items(problem)
    lanes = (whole or short) and rows.length <= walk_tuning.HALF_ROW
    if lanes and elements <= tuned("HALF_WALKED", walk_tuning.HALF_WALKED):
        return ("walked_lines",)
    long = rows.length >= walk_tuning.HALF_BLOCK
    return ("block_rows",) if long and elements <= tuned("HALF_BLOCKS", walk_tuning.HALF_BLOCKS) else ()


def _for_sides(problem: Problem[Any], device: DeviceInfo) -> tuple[str, ...]:
    """Return the variants for columns of which a few lie side by side, as rows of these; none where a walk is better.

    A walk would read a few bytes a lane, far apart.
    """
    rows = short_rows_of(problem)
    if rows is None:
        return ()
    least = tuning.SIDES_LEAST_LONG if rows.length >= tuning.SIDES_LONG else tuning.SIDES_LEAST
    if rows.rows * rows.length < tuned("SIDES_LEAST", least):
        return ()
    if rows.step != 1:
        if is_narrow(problem.operand("x").dtype):
            return ("copied_first",)
        little = rows.rows * rows.length < tuned("SIDES_LITTLE", tuning.SIDES_LITTLE)
        return ("lanes_rows", *(("block_rows",) if little else ()), "copied_first")
    elements = rows.rows * rows.length
    pairs = rows.side == 2 and rows.contiguous and rows.length <= longest(vector_items(problem))
    if pairs and is_narrow(problem.operand("x").dtype) and elements >= tuning.FLAT_LEAST:
        return ("flat_rows",)
    return _for_grouped(problem, rows) if rows.groups else _for_rows(problem, rows, device)


def _for_columns(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> tuple[str, ...]:
    walk = walk_of(problem)
    empty = max(tuning.SHORT_COLUMN_WIDTH // columns.inner, 1)  # so many times as wide as the columns is a strip
    walked = tuned("WALKED_COLUMN", tuning.WALKED_COLUMN) * empty
    if walk is not None:
        itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
        single = walk.items * itemsize <= 2 or (walk.items == 1 and problem.operand("x").dtype == "float32")
        most = walk_tuning.MANY_SINGLE_COLUMN if single else walk_tuning.MANY_COLUMN
        at_once = columns.length <= rows_at_once(walk, itemsize, device)
        many = columns.length <= most and walk.vectors >= walk_tuning.MANY_WALKS
        if at_once or many or (columns.length <= walked and walk.vectors >= _least_walks(columns)):
            wide = columns.inner >= tuning.SHORT_COLUMN_WIDTH
            turns = wide and walk_tuning.ONE_TURN < columns.length <= walk_tuning.FEW_TURNS
            little = problem.operand("x").view.size <= walk_tuning.LITTLE_COLUMNS
            return ("columns", "walked_lines") if turns and little else ("walked_lines",)
    problem, columns = in_parts(problem, columns)
    if columns.outer >= device.sm_count or best_strips(problem, columns, device).us <= shared_us(problem, device):
        return ("columns",)
    resident = ("resident_columns",) if _is_worth_residence(problem, columns, device) else ()
    x = problem.operand("x")
    small = x.view.size * dtypes.dtype(x.dtype).itemsize <= tuning.LINKED_BYTES
    if shares_lines(problem, device, columns=True) and columns.length <= walk_tuning.SHARED_COLUMN:
        return ("walked_lines",)
    if small and _is_for_linked(problem, columns, device):
        return ("linked_columns", "column_forward", "columns")
    return (*resident, "column_forward", "linked_columns", "columns")


def _is_for_linked(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> bool:
    """Tell whether blocks that share a strip take few of its tiles each, for a tile waits for those of all others."""
    items = linked_items(problem, columns)
    best = linked_cut(problem, columns, items, device)
    turns = 1 if best is None else ceil_div(best[1].tiles, best[1].share)
    if columns.length > tuned("LINKED_COLUMN", tuning.LINKED_COLUMN):
        few = best is not None and turns == 1 and 1 < items <= tuning.LINKED_LONG_ITEMS
        return few and columns.length <= tuned("LINKED_LONG", tuning.LINKED_LONG)
    return columns.inner > tuning.LINKED_WIDE or turns <= tuned("LINKED_FEW_TURNS", tuning.LINKED_FEW_TURNS)


def _is_better_copied(problem: Problem[Any], transposed: Transposed, device: DeviceInfo) -> bool:
    """Tell whether long lines across x, of elements of 1 or 2 bytes, are few or cut units on one side of a turn."""
    dtype, elements = problem.operand("x").dtype, problem.operand("x").view.size
    if transposed.x_along_lines or dtypes.dtype(dtype).itemsize > 2:
        return False
    half = is_half(dtype) and transposed.length >= tuned("HALF_COPIED", transposed_tuning.HALF_COPIED)
    if half and are_halves_torn(problem, transposed):
        return True
    cut, long = are_units_cut(problem, transposed), transposed.length >= transposed_tuning.CHUNKED_LENGTH
    return long and elements > transposed_tuning.STRAIGHT_PAIRS and (cut or has_few_strips(transposed, device))


def _tiled_walk(problem: Problem[Any]) -> Walk | None:
    """Return the walk where it goes by tiles of lines."""
    walk = walk_of(problem)
    return walk if walk is not None and walk.far is not None else None


def _is_better_tiled(problem: Problem[Any], walk: Walk, transposed: Transposed | None) -> bool:
    """Tell whether tiles of lines are better walked: each a vector in x and y, or a turn would store it in pieces."""
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    if walk.x_run == walk.length == vector_items(problem) and walk.x_run * itemsize == UNIT:
        return True
    nbytes = walk.length * dtypes.dtype(problem.operand("y").dtype).itemsize
    return transposed is not None and walk.staged and nbytes <= walk_tuning.STAGED_LINE


def _are_rows_apart(problem: Problem[Any], walk: Walk) -> bool:
    """Tell whether odd rows, contiguous in x and y, lie in another order there, in more dims than lanes count, or so
    short that of a vector of lanes less than half would be a row.
    """
    if walk.x_row != 1 or walk.y_row != 1 or walk.x_run > 1:
        return False
    few = 2 * walk.length < vector_items(problem) or (rows_of(problem) or grouped_rows_of(problem)) is None
    return few and problem.operand("x").view.size >= walk_tuning.APART_LEAST


def _are_cut(problem: Problem[Any], rows: Rows) -> bool:
    """Tell whether rows cut vectors of y and are so short, or so few bytes in x, that a turn is not worth it."""
    items, narrow = vector_items(problem), is_narrow(problem.operand("x").dtype)
    fits = rows.vectors(items) <= (lanes_vectors(problem) if narrow else transposed_tuning.CUT_VECTORS)
    return rows.length % items != 0 and fits


def _is_short_of_a_vector(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether lines across x are less than a vector of y: what neighbours store, the L2 cache joins."""
    return not transposed.x_along_lines and transposed.length < vector_items(problem)


def _least_walks(columns: Columns) -> int:
    """Return from how many threads on short columns are walked: narrow ones leave more of a strip empty."""
    return tuning.LEAST_WALKS if columns.inner >= tuning.SHORT_COLUMN_WIDTH else tuning.LEAST_NARROW_WALKS


def _is_worth_residence(problem: Problem[Any], columns: Columns, device: DeviceInfo) -> bool:
    """Tell whether there is enough of x, of elements that are no bytes, and enough SMs for each block of columns."""
    x = problem.operand("x")
    itemsize = dtypes.dtype(x.dtype).itemsize
    enough = x.view.size * itemsize >= tuned("RESIDENT_LEAST", resident_tuning.LEAST_BYTES)
    return enough and itemsize > 1 and columns.outer * resident_tuning.LEAST_SHARE <= device.sm_count
