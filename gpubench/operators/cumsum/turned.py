"""The regimes of transposed operands: which variants of `cumsum` are for lines that lie turned, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import transposed_tuning, tuning, walk_tuning
from gpubench.operators.cumsum.walked import shares_lines, takes_one_turn
from gpubench.operators.cumsum.walks import walk_of
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import is_half, is_narrow, vector_items
from gpubench.operators.sectors import SECTOR

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem


UNIT = 16
"""Bytes that a lane moves."""


def for_transposed(problem: Problem[Any], transposed: Transposed, device: DeviceInfo) -> tuple[str, ...]:
    """Return the variants for lines that are the fastest dim of x or of y alone; none where others are better."""
    along, dtype = transposed.x_along_lines, problem.operand("x").dtype
    ring = device.compute_capability >= (8, 0)
    few = _has_few_elements(transposed, device)
    little = problem.operand("x").view.size <= walk_tuning.SHARED_STRIPS
    if little and along and takes_one_turn(problem, device):
        return ("walked_lines",)
    if shares_lines(problem, device) and (few or little):
        long = along and transposed.length >= tuned("SHARED_COPIED", walk_tuning.SHARED_COPIED)
        return ("copied_first" if long else "walked_lines",)
    if few and along:
        return ("walked_lines" if takes_one_turn(problem, device) else "copied_first",)
    chunks = _by_chunks(problem, transposed) if _is_for_chunks(transposed, device) else ()
    if transposed.across < transposed_tuning.ACROSS * (2 if along and is_half(dtype) else 1):
        few = ring and has_few_strips(transposed, device)
        return chunks or (_for_narrow_strips(problem, transposed, few, device) if along else ())
    if not chunks and _are_few_strips_cut(problem, transposed, device):
        return ("copied_first",)
    most = tuned("TRANSPOSED_LENGTH", _long_line(dtype, along, ring))
    enough = tuned("LINE_STRIPS", transposed_tuning.LINE_STRIPS) * device.sm_count
    many = transposed.strips(transposed_tuning.SHAPES[0].lines) >= enough
    ring = ring and (not is_narrow(dtype) or _is_for_narrow_ring(transposed, device))
    tiles = ("transposed_ring", "transposed_tiles") if ring else ("transposed_tiles",)
    if _are_short_units_cut(problem, transposed) and shares_lines(problem, device):
        tiles = ("walked_lines",)
    if transposed.length >= most:
        empty = is_narrow(dtype) and along and _are_tiles_half_empty(transposed)
        return ("transposed_lines",) if empty and many else chunks + tiles
    if many and transposed.length >= transposed_tuning.LINE_LEAST[along]:
        return (_for_many_lines(problem, transposed),)
    return () if many else tiles if transposed.length > transposed_tuning.SHORT_LINE else ("walked_lines",)


def _are_short_units_cut(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether lines along x of elements of 1 or 2 bytes cut units, so that tiles are all that turns them.

    Of little, 100 x 1997 bfloat16 7.8 us (6.3 with lines shared), 200 x 785 uint8 7.3 (6.3), 100 x 4278 10.4 (9.8); 150
    x 1234 float32 7.0 (7.1); and of whole units the ring is ahead, 128 x 3104 int16 7.0 (9.5).
    """
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    return transposed.x_along_lines and itemsize <= 2 and transposed.length * itemsize % UNIT != 0


def _are_few_strips_cut(problem: Problem[Any], transposed: Transposed, device: DeviceInfo) -> bool:
    """Tell whether long lines along x cut units, which no ring takes then, and half of the SMs would have no strip.

    Many odd columns, which single elements move once they are copied, are no better.
    """
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    if transposed.across > transposed_tuning.CUT_ACROSS and transposed.across % vector_items(problem) != 0:
        return False
    if not transposed.x_along_lines or itemsize > 4 or transposed.length * itemsize % UNIT == 0:
        return False
    few = has_few_strips(transposed, device, transposed_tuning.SHAPES[0].lines)
    return few and transposed.length >= tuned("CUT_STRIPS", transposed_tuning.CUT_STRIPS)


def _by_chunks(problem: Problem[Any], transposed: Transposed) -> tuple[str, ...]:
    """Return the variant for few long lines: strips would be mostly empty where they are less than half as many."""
    x = problem.operand("x")
    short, along = is_half(x.dtype) or is_narrow(x.dtype), transposed.x_along_lines
    wide = 2 * transposed.across >= transposed_tuning.CHUNKED_ACROSS * (3 if short else 2)
    chunked = wide and (along or not short) and not _are_chunks_cut(problem, transposed)
    return ("transposed_tiles",) if chunked else ("copied_first",)


def _are_chunks_cut(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether chunks would cut units of their lines, so that x had better be moved twice than read twice."""
    x, y = problem.operand("x"), problem.operand("y")
    along, bytes_x, bytes_y = transposed.x_along_lines, *(dtypes.dtype(each.dtype).itemsize for each in (x, y))
    if is_narrow(x.dtype) or transposed.length * (bytes_x if along else bytes_y) % UNIT == 0:
        return False
    if not along:
        runs = transposed.across * bytes_x
        return bytes_x == 4 and (transposed.across >= transposed_tuning.SHAPES[0].lines or runs % (2 * SECTOR) == 0)
    strip = transposed_tuning.SHAPES[0].lines * transposed.strips(transposed_tuning.SHAPES[0].lines)
    full = 4 * transposed.across * transposed.batches > 3 * strip
    much = bytes_x == bytes_y and x.view.size * (bytes_x + bytes_y) >= transposed_tuning.CUT_CHUNKS
    return much or not full


def _for_narrow_strips(
    problem: Problem[Any], transposed: Transposed, by_ring: bool, device: DeviceInfo
) -> tuple[str, ...]:
    """Return the variants for a few lines side by side, along x: a lane each, as long as many lanes have one."""
    many = transposed.strips(transposed_tuning.RING_LINES[-1]) > transposed_tuning.NARROW_STRIPS * device.sm_count
    sectors = transposed.across * dtypes.dtype(problem.operand("y").dtype).itemsize >= SECTOR
    long = transposed.length >= walk_tuning.LONG_WALK
    if many and (sectors or not long):
        return ("transposed_lines",) if transposed.length > walk_tuning.WALK_ROWS[-1] else ()
    return (*(("transposed_ring",) if by_ring else ()), "copied_first") if long else ()


def _for_many_lines(problem: Problem[Any], transposed: Transposed) -> str:
    """Return the variant for many lines that are no longer than a tile."""
    x = problem.operand("x").dtype
    if goes_in_runs(problem, transposed) or (is_half(x) and transposed.x_along_lines and transposed.length % 4 != 0):
        return "walked_lines"
    few = not transposed.x_along_lines and transposed.across <= transposed_tuning.COPIED_ACROSS
    cut = transposed.length >= walk_tuning.LONG_WALK and transposed.length % vector_items(problem) != 0
    return "copied_first" if few and cut and (is_half(x) or is_narrow(x)) else "transposed_lines"


def without_torn_lines(problem: Problem[Any], transposed: Transposed | None, turns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the variants for transposed operands, others for elements of 1 and 2 bytes across x whose lines are stored
    in pieces.

    A copy moves few bytes beside those of y where these are of integers, and rows are stored by whole sectors however
    they are cut.
    """
    if transposed is None or transposed.x_along_lines or not turns:
        return turns
    if is_half(problem.operand("x").dtype):
        long = transposed.length >= transposed_tuning.HALF_CUT and turns[0].startswith("transposed")
        little = turns[0] != "transposed_lines" or problem.operand("x").view.size <= transposed_tuning.HALF_MOST
        return ("copied_first",) if long and little and are_halves_torn(problem, transposed) else turns
    if turns == ("transposed_tiles",) and is_narrow(problem.operand("x").dtype) and _are_tiles_half_empty(transposed):
        return ("copied_first",) if problem.operand("x").view.size >= transposed_tuning.COPIED_LEAST else turns
    variant = _for_many_narrow(problem, transposed) if turns == ("transposed_lines",) else None
    return turns if variant is None else (variant,)


def are_halves_torn(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether 16-bit floats are enough for a copy first, and lines of y no whole units, or rows of x."""
    elements = problem.operand("x").view.size
    if transposed.length % vector_items(problem) == 0 and elements > transposed_tuning.HALF_MOST:
        return False
    return elements >= transposed_tuning.COPIED_LEAST and are_units_cut(problem, transposed)


def are_units_cut(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether lines across x, or its rows, are no whole units, so that a turn moves these in parts."""
    itemsize = dtypes.dtype(problem.operand("x").dtype).itemsize
    return transposed.across * itemsize % UNIT != 0 or transposed.length % vector_items(problem) != 0


def _are_tiles_half_empty(transposed: Transposed) -> bool:
    """Tell whether at most half of a tile's lines exist."""
    return 2 * transposed.across <= transposed_tuning.SHAPES[0].lines


def _for_many_narrow(problem: Problem[Any], transposed: Transposed) -> str | None:
    """Return the variant for many short lines of narrow integers across x, where `transposed_lines` is not."""
    if not is_narrow(problem.operand("x").dtype):
        return None
    y, x = dtypes.dtype(problem.operand("y").dtype).itemsize, problem.operand("x").view
    line = transposed.length * y
    if line <= transposed_tuning.NARROW_WALKED and line % SECTOR == 0:
        return "walked_lines"
    long = transposed.length >= transposed_tuning.NARROW_LINE
    odd = long and line % UNIT != 0 and x.size >= tuned("NARROW_ODD", transposed_tuning.NARROW_ODD)
    torn = not long and line % SECTOR != 0 and x.size >= tuned("NARROW_TORN", transposed_tuning.NARROW_TORN)
    beside = transposed.across <= tuned("NARROW_ACROSS", transposed_tuning.NARROW_ACROSS)
    few = beside and transposed.length >= walk_tuning.LONG_WALK and x.size >= transposed_tuning.COPIED_LEAST
    return "copied_first" if odd or torn or few else None


def _is_for_narrow_ring(transposed: Transposed, device: DeviceInfo) -> bool:
    """Tell whether lines of narrow integers along x had better go through a ring than by words of a tile."""
    enough = transposed.strips(transposed_tuning.RING_LINES[1]) >= tuning.FULL_SHARE * device.sm_count
    return transposed.x_along_lines and (enough or transposed.length < transposed_tuning.CHUNKED_LENGTH)


def _long_line(dtype: str, along: bool, ring: bool) -> int:
    """Return the elements from which a line is for a ring or tiles though strips are many."""
    if is_half(dtype):
        return transposed_tuning.HALF_LENGTH[along]
    across = ring and not along and dtypes.dtype(dtype).itemsize in (2, 4, 8)
    return transposed_tuning.RING_LENGTH if across else transposed_tuning.LENGTH


def goes_in_runs(problem: Problem[Any], transposed: Transposed) -> bool:
    """Tell whether lines are so short that a thread each loads them from x, or stores them to y, in a few vectors."""
    along, walk = transposed.x_along_lines, walk_of(problem)
    if walk is None or not (along or walk.x_steps[-1] == walk.items or walk.far is not None):
        return False  # threads side by side would read x far apart
    itemsize = dtypes.dtype(problem.operand("x" if along else "y").dtype).itemsize
    run = walk.x_run if along else walk.y_run
    most = tuned("RUN_BYTES", transposed_tuning.RUN_BYTES) * (2 if itemsize == 8 and not along else 1)
    short = transposed.length * itemsize <= most
    return short and run * itemsize >= transposed_tuning.RUN_LEAST[along]


def has_few_strips(transposed: Transposed, device: DeviceInfo, lines: int = transposed_tuning.RING_LINES[-1]) -> bool:
    """Tell whether strips of so many lines, the narrowest if not said, leave half of the SMs without one."""
    return 2 * transposed.strips(lines) <= device.sm_count


def _has_few_elements(transposed: Transposed, device: DeviceInfo) -> bool:
    """Tell whether lines along x are so few, and so little in all, that a copy and short rows take less than tiles."""
    elements = transposed.length * transposed.across * transposed.batches
    return has_few_strips(transposed, device) and elements <= transposed_tuning.COPIED_MOST


def _is_for_chunks(transposed: Transposed, device: DeviceInfo) -> bool:
    """Tell whether lines are so few and long that they are worth cutting, though x is read twice then."""
    long = transposed.length >= tuned("CHUNKED_LENGTH", transposed_tuning.CHUNKED_LENGTH)
    return long and has_few_strips(transposed, device)
