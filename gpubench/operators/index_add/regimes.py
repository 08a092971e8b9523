"""The regimes of `index_add`: which variant a form is for, and how its work is cut; `tuning` holds the edges."""

from __future__ import annotations

import math

from gpubench.model import DeviceInfo
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.form import Form
from gpubench.operators.index_add.sort import ONE_BLOCK
from gpubench.operators.index_add.sums import sum_bytes


def sorting_us(count: int) -> float:
    """Return what the sort and its launch cost: 4096 indices 19, 65536 25, 2^20 32."""
    return 14 + 1.3e-3 * count if count <= ONE_BLOCK else 24 + 8e-6 * count


def is_for_narrow(form: Form) -> bool:
    """Say whether a few repetitions that turn are long enough for a block's table.

    3 x 65536, 421814 of bfloat16 29 us (55 by owners).
    """
    long = form.itemsize < 4 or form.count >= tuned("NARROW_LEAST", tuning.NARROW_LEAST)
    return form.is_turned and form.outers < 16 and long and is_for_cached(form)


def is_for_private_copies(form: Form) -> bool:
    """Say whether lanes should have copies: of few places, or of those of a repetition, which a warp takes."""
    if form.inner * form.outers == 1:
        return form.count >= tuned("COPIES_LEAST", tuning.COPIES_LEAST)
    rows, elements = tuning.PRIVATE_BYTES if form.itemsize == 1 else tuning.PRIVATE_ROWS
    if form.inner > 1 or form.index_step != 1 or form.outers < rows or form.count * form.outers < elements:
        return False
    fits = form.places * max(form.itemsize, 4) <= tuning.PRIVATE_ROW_BYTES
    wide = form.itemsize == 8 and form.count * form.outers >= tuning.PRIVATE_WIDE_ELEMENTS
    least = max(tuning.PRIVATE_WIDE, 3 * form.places) if wide else max(256, 10 * form.places)
    return fits and least <= form.count <= tuning.LAST_DIM


def is_for_squares(form: Form, dtype: str) -> bool:
    """Say whether elements that lie turned do so in squares: too few for a sort, or side by side in the destination.

    8192 x 512, 16384 indices of a transposed source 40 us (109 an element a thread).
    """
    few = form.count * form.outers < tuning.OWNED_LEAST[4]
    turned = form.is_turned and dtype not in tuning.SMALL and form.count >= tuning.SQUARES_LEAST
    return turned and (few or form.outer_place < form.place_step)


def is_for_grouped(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether sorting costs less than atomics lose on indices spread evenly.

    Atomics take 2.1 TB/s of the source, 1.6 of short rows, and bring a row anew for each index where one repetition's
    destination is beyond the L2 cache; words of small integers are added to more than once, at a seventh of that. What
    a warp adds up before is no atomic. Microseconds.
    """
    if form.count <= tuning.FEW:
        return False
    if (
        dtype in tuning.SMALL
        and form.row_bytes >= tuning.GROUPED_ROW_SMALL
        and form.count >= tuning.GROUPED_LEAST_SMALL
    ):
        return True
    met = form.places / 32 * -math.expm1(-32 / form.places)  # of a warp's 32 rows, when equal ones were added up
    if form.row_bytes < tuned("GROUPED_ROW", tuning.GROUPED_ROW):
        whole = form.inner < 32 or form.vector * form.itemsize == 16
        return whole and form.row_bytes >= tuning.CACHED_ROW and form.added >= tuning.GROUPED_SHORT and met > 0.5
    rate = 2.1e6 if form.row_bytes >= 256 else 1.6e6
    if dtype in tuning.SMALL:
        rate = (0.12e6 if form.vector == 1 else 0.3e6) * form.itemsize
    by_sums = 3.9e6 if form.vector * form.itemsize == 16 else 1.6e6
    distinct = form.reached * -math.expm1(-form.count / form.places)
    moved = form.added * (3 if form.reached > form.outers * device.l2_bytes else 1)
    by_atomics = max(met * form.added / rate, moved / 3.6e6, (form.added + 2 * distinct) / 4.2e6)
    by_groups = sorting_us(form.count) + (form.added + 2 * distinct) / by_sums
    cost = tuned("GROUPED_COST", tuning.GROUPED_COST) * (tuning.ASKED_COST if asks_for_rows(form) else 1)
    return by_groups * cost < by_atomics


def is_for_cached(form: Form) -> bool:
    """Say whether elements go through a block's table."""
    items = form.count * form.inner
    least = tuned("CACHED_LEAST", tuning.CACHED_LEAST)
    if form.is_single:
        return items >= max(least, tuned("SINGLE_LEAST", tuning.SINGLE_LEAST))
    dense = items >= tuning.DENSE * form.places * form.inner and items * form.outers >= tuning.CACHED_LEAST_DENSE
    row, wide = tuned("CACHED_ROW", tuning.CACHED_ROW), form.inner < 32 and items * form.outers >= tuning.CACHED_MANY
    if form.row_bytes >= (2 * row if wide else row):
        return False
    if (form.outers > 1 and form.count <= tuning.SCATTERED_MOST) or (form.inner >= tuning.SHORT and form.places < 32):
        return False
    many = form.count >= least or items * form.outers >= tuning.CACHED_MANY_FEW * least
    return dense or (many and items * form.outers >= least)


def has_totals(form: Form, dtype: str) -> bool:
    """Say whether small integers are added up in 32 bits first."""
    fits = form.is_dense and form.places <= tuning.TOTALS_PLACES * form.count and form.row_bytes < tuning.CACHED_ROW
    wide = form.is_single and form.places > tuning.TOTALS_FEW * form.count
    least = tuning.TOTALS_WIDE if wide else tuning.TOTALS_LEAST
    return dtype in tuning.SMALL and fits and form.count * form.inner >= least


def is_for_block_copies(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether a block's own sums of all places are best: few places, or many long rows along the indexed dim.

    Blocks exchange words of small integers: 600000 int8 into 500 places 3145 us (39 by `cached`). Complex numbers are
    two additions each.
    """
    items = form.count * form.inner
    apt = dtype not in tuning.SMALL and (form.outers > 1 or not dtype.startswith("complex"))
    if apt and has_few_places(form) and items * form.outers >= 2 * tuning.CACHED_LEAST:
        return True
    if form.is_turned or form.inner > 1 or form.outers < device.sm_count or form.place_step != 1:
        return False
    if _has_words(form, dtype):
        return True
    return form.count >= tuned("LAST_DIM", tuning.LAST_DIM) and form.places <= 2 * form.count <= 32 * form.places


def has_few_places(form: Form) -> bool:
    """Say whether short rows have so few places that many elements come to each."""
    elements, items = form.places * form.inner, form.count * form.inner
    dense = items >= max(tuned("COPIES_DENSE", tuning.COPIES_DENSE) * elements, tuning.COPIES_ITEMS)
    return dense and elements <= tuned("COPIES_PLACES", tuning.COPIES_PLACES) and form.inner < tuning.SHORT


def _has_words(form: Form, dtype: str) -> bool:
    """Say whether each place of a repetition takes many integers, which shared memory adds by itself."""
    least = tuning.LAST_DIM_SMALL if dtype in tuning.SMALL else tuning.LAST_DIM_WORDS
    return dtype in (*tuning.SMALL, "int32") and form.count >= max(least, 8 * form.places)


def is_for_gathered(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether it pays to sort the list and keep nearly all of each repetition's source in shared memory."""
    if dtype == "int32" and is_for_block_copies(form, dtype, device):
        return False
    if form.inner > 1 or form.outers < device.sm_count or form.place_step != 1 or form.index_step != 1:
        return False
    fits = form.count * form.itemsize <= tuning.GATHERED_FITS * device.max_shared_bytes
    many = form.count >= tuning.LAST_DIM or form.count * form.outers >= tuning.GATHERED_ELEMENTS
    return fits and many and form.count >= tuned("GATHERED_LEAST", tuning.GATHERED_LEAST)


def is_for_partitioned(form: Form, dtype: str) -> bool:
    """Say whether the destination is so far beyond the L2 cache, and the list so long, that it pays to move both."""
    if form.outers > 1 or form.row_bytes > 16:
        return False
    least = tuned("PARTITION_LEAST", tuning.PARTITION_LEAST)
    if form.row_bytes > 4:
        least = tuned("PARTITION_LEAST_ROWS", tuning.PARTITION_LEAST_ROWS)
    if dtype in tuning.SMALL:
        least = min(least, tuning.PARTITION_LEAST_SMALL)
    sums = form.inner * sum_bytes(dtype) * form.places
    return form.count >= least and sums >= tuned("PARTITION_REACH", tuning.PARTITION_REACH)


def piece_pairs(form: Form, device: DeviceInfo) -> int:
    """Return the pairs of a block of `grouped`: more of short rows and long runs, fewer where blocks would be few."""
    vectors = form.inner // form.vector
    pairs = min(tuning.PIECE_PAIRS * max(1, 16 // power_of_two(vectors)), 4 * tuning.PIECE_PAIRS)
    least = 5 * tuned("WAVES", tuning.WAVES) * device.sm_count
    if form.count >= tuning.RUNS * form.places:
        pairs, least = min(2 * pairs, 4 * tuning.PIECE_PAIRS), least // 2
    while pairs > 64 and form.count // pairs * max(vectors // 32, 1) * form.outers < least:
        pairs //= 2
    return pairs


def warp_rows(form: Form, device: DeviceInfo) -> int:
    """Return the rows of a warp of `combined`; 4 are those of a group of lanes, 1 that of a thread.

    Of several repetitions with long rows few, so that not all of their destinations are met at once: 64 x 4096 x 128
    101 us, with 32 114. Few rows of bytes or pairs of them off the grid are atomics each: 128 x 40000, 19 of int8 11.6
    us (39 by warps), 16 x 128 x 1500, 25 11.5 (23), of bfloat16 8.6 (9.2).
    """
    vectors = form.vectors
    work = max(vectors // 32, 1) * form.outers
    if form.count == 1:  # a warp would look for other indices before it asks for the source
        return 1
    if form.inner == 1 and form.outers >= 32 and form.is_denser_across:
        return 4
    load = form.vector * form.itemsize
    if load < 16 and form.count <= (tuning.FEW if load <= 2 else 4):
        return 1
    if vectors >= 4:
        for rows in (8,) if form.outers > 1 and vectors >= 32 else (32, 16, 8):
            if ceil_div(form.count, rows) * work >= tuned("WARPS", tuning.WARPS) * device.sm_count:
                return rows
    if (
        vectors >= tuning.HOT_VECTORS
        and load > 1
        and form.count >= (tuning.HOT_LEAST if load >= 16 else tuning.HOT_CUT)
    ):
        return min(32, max(8, 128 // power_of_two(vectors)))
    return 4 if vectors >= 16 and form.count // 4 * work >= 16 * device.sm_count else 1


def asks_for_rows(form: Form) -> bool:
    """Say whether warps of `combined` ask for places while rows come: few rows of each, and wide loads or rows."""
    wide = form.vector * form.itemsize >= 16 or (form.itemsize >= 4 and form.row_bytes >= tuning.ASK_ROW)
    return not form.anywhere and wide and form.count <= tuned("ASK_ROWS", tuning.ASK_ROWS) * form.places


def asks_for_places(form: Form, itemsize: int, tile: int, device: DeviceInfo) -> bool:
    """Say whether blocks of `cached` ask for all places: few turns, and places of few bytes beside those of the list.

    itemsize: bytes of a place, of its total too.
    """
    elements, items = form.places * form.inner, form.count * form.inner
    few = ceil_div(items, tile) <= tuned("ASK_TILES", tuning.ASK_TILES) * device.sm_count
    little = elements * itemsize <= tuning.ASK_SHARE * (form.added + 8 * form.count)
    return form.outers == 1 and form.is_dense and few and little


def cached_blocks(form: Form, tile: int, device: DeviceInfo) -> int:
    """Return the most blocks of `cached` for each repetition: one a tile up to eight an SM, else three.

    Fewer where places are few.
    """
    tiles = ceil_div(form.count * form.inner, tile)
    if form.outers == 1 and has_few_places(form):
        fewer = ceil_div(form.count * form.inner, tuning.FEW_EACH)
        return min(tiles, max(device.sm_count // 2, min(fewer, tuning.FEW_BLOCKS * device.sm_count)))
    return (
        tiles
        if tiles * form.outers <= 8 * device.sm_count
        else max(1, ceil_div(tuned("CACHED_BLOCKS", tuning.CACHED_BLOCKS) * device.sm_count, form.outers))
    )
