"""Numbers of the fast index_adds that measurements chose, and the costs that `auto` weighs. All on one H200."""

from __future__ import annotations

import math
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add.form import Form

SMALL = ("int8", "uint8", "int16")
"""Dtypes that atomics exchange word by word: 0.65 us an addition where they meet in one word."""

COPIES_LEAST = 4096
"""Indices from which `private_copies` is taken where the places fit: 31243 uint8 into 14 8 us (20 ms by atomics)."""

PRIVATE_ROWS_LEAST = 1024
PRIVATE_ROW_BYTES = 512
"""Repetitions from which a warp of `private_copies` takes each, if the sums of its places take so many bytes at most:
768 x 11 x 8 x 6, 1798 indices of a dim of 8. Of fewer indices than 256, or ten a place, copies cost more."""

COPIES_PLACES = 2048
COPIES_DENSE = 128
"""`block_copies` for up to so many elements of the destination that each take so many of the source: 2 M into 717 29 us
(52 by `cached`), 764 K into 7064 64 (15)."""

LAST_DIM = 16384
"""Indices of the last dim from which a block takes a repetition: 256 x 30000 88 us (115 by atomics), 256 x 4096 22
(18)."""

GATHERED_LEAST = 2048
GATHERED_ELEMENTS = 2**22
GATHERED_FITS = 1.15
"""Indices of the last dim from which `gathered` is taken, where the repetitions of the list are of so many elements, or
the indices as many as for `LAST_DIM`, and a repetition of the source is at most so many times the shared memory:
4096 x 4096 109 us (213 by `cached`), 256 x 30000 72 (99 by atomics)."""

CACHED_ROW = 64
CACHED_MANY = 2**21
"""Rows of fewer bytes are added element by element, those of up to twice as many and fewer elements than a warp has
lanes from so many elements on (2^21 rows of 16 float32, half of them to one place: 257 us, 1019 by `combined`) ..."""

CACHED_LEAST = 2**17
CACHED_LEAST_SMALL = 64
CACHED_LEAST_DENSE = 2**13
DENSE = 8
"""... through a block's table from so many elements on, `SMALL` ones from fewer, and others where each element of the
destination takes `DENSE`: 13120 x 2 float64 into 44 13 us (19 by atomics)."""

CACHED_MANY_FEW = 4
"""... or so many times as many elements, where indices are fewer: 10000 x 3, 100000 indices 8.6 us an element a thread,
half of them on one place 32 (12 and 18 by the table; torch 9.9 and 101)."""

CACHED_ITEMS = 2048
"""... and only if a repetition has so many, a tile: 297 x 21 x 2771, 48 indices of int64 17 us (80 by the table)."""

TOTALS_LEAST = 2**13
TOTALS_PLACES = 4
"""... by way of 32-bit totals in the workspace, from so many elements on, up to so many of the destination for each."""

CACHED_BLOCKS = 3
"""Blocks an SM of `cached` where tiles are more than eight an SM."""

GROUPED_ROW = 128
GROUPED_ROW_SMALL = 16
"""Rows of fewer bytes are not sorted for."""

GROUPED_SHORT = 2**27
"""Bytes from which rows of `CACHED_ROW` and more are: 2^21 x 16 float32 227 us (160 by atomics, 950 of half on one)."""

GROUPED_COST = 0.8
"""What the cost of sorting counts against that of atomics: 2^20 x 32 float32 146 us (123), half on one place 142 (367);
2^19 x 32 would be 98 (62)."""

WARPS = 16
"""Warps an SM from which a warp of `combined` takes more rows."""

OWNED_LEAST = {1: 2**14, 2: 2**18, 4: 2**22, 8: 2**22, 16: 2**22}
"""Elements of the source from which threads own places where dims do not merge, or turn, by the bytes of one; `SMALL`
as those of a byte. 32 x 52 x 16 x 4, 35 indices of int8 12 us (34 by atomics); 256 x 48577, 6 of bfloat16 18 (178);
2 x 256 x 266 x 5, 1884 of float32 48 (79); but 1.8 M int64 59 (22)."""

OWNED_MOST = 2048
OWNED_MOST_TURNED = 8192
"""Indices up to which they do where dims merge; and from which they do whatever it costs where not: all of 60000 may
meet one place, 19 us (1593 by atomics)."""

SQUARES_LEAST = 2048
"""Indices from which operands that turn are added by squares in shared memory until a sort pays: 16 x 100000, 60000
indices 13.7 us (39.6 sorted, 21.6 by a table)."""

SCATTERED_MOST = 2**14
"""Indices of several repetitions of single elements up to which each is an atomic of its own, which seldom meet:
128 x 2762, 11128 of bfloat16, half of them on one place 17 us (54 by `cached`)."""

SCATTERED_MOST_SMALL = 64
"""The same for `SMALL`, of which two in one word meet: 2048 x 1401, 64 of int16 10.2 us (14.3 by owners)."""

OWNED_MANY_SMALL = 256
OWNED_LEAST_MANY = 2**18
"""Up to so many indices of single elements of `SMALL` a thread owns places only from so many elements on: 200 x 1401,
256 of int8 9.3 us by `cached` (24.4)."""

OWNED_STREAM = 2**19
"""Elements of misaligned rows from which up to four indices are one: 62 M float64 443 us (641)."""

HOT_LEAST = 2**12
HOT_VECTORS = 8
"""Indices, and vectors of a row, from which a warp of `combined` adds up equal ones even where work is little, with as
many rows as its groups of lanes take at once: 10000 x 32, 9000 indices, half of them on one place 11.3 us (17.5 one
vector a thread, whose neighbours see four rows alone); even 7.6 (6.8)."""

FEW = 32
"""Indices that a warp of `combined` adds up by itself: there is nothing to sort."""

GROUPED_LEAST_SMALL = 2048
"""Indices from which rows of `SMALL` are sorted whatever it costs: 404096 x 25 int8 145 us (0.2 s by atomics)."""

PARTITION_REACH = 2**25
PARTITION_LEAST = 2**24
"""`partitioned` from so many bytes of sums, and so many indices, on: 2^24 into 2^24 324 us (617 by atomics), 2^24 into
2^22 285 (204)."""

PIECE_PAIRS = 256
"""Pairs of a block of `grouped` where rows are of 256 bytes and more; up to four times as many of shorter ones."""

WAVES = 6
"""Pieces of `grouped` for every five blocks an SM: 64 x 4096 x 128 took 93 us with 1.6."""


def sorting_us(count: int) -> float:
    """Return what the sort and its launch cost: 4096 indices 24, 65536 27, 2^20 51."""
    return 20 + 1e-3 * count if count <= 6144 else 25 + 25e-6 * count


def is_for_owned(problem: Problem[Any], form: Form | Refused) -> bool:
    """Say whether a thread should own each place: no atomics that could meet, and any strides."""
    count, elements, small = problem.params.count, problem.operand("source").view.size, problem.case.dtype in SMALL
    least = OWNED_LEAST[1 if small else dtypes.dtype(problem.case.dtype).itemsize]
    if isinstance(form, Form) and not form.is_turned:
        return _is_for_owned_rows(form, small, least)
    if isinstance(form, Form) and (is_for_private_copies(form) or is_for_squares(form, small)):
        return False
    if isinstance(form, Form) and small and count <= OWNED_MANY_SMALL:
        return elements >= OWNED_LEAST_MANY
    return elements >= (min(least, OWNED_STREAM) if count > OWNED_MOST else least) or count > OWNED_MOST_TURNED


def _is_for_owned_rows(form: Form, small: bool, least: int) -> bool:
    """Say the same where dims merge and do not turn."""
    count, elements = form.count, form.count * form.inner * form.outers
    if is_for_private_copies(form) or form.inner * form.outers < 32:
        return False
    if small and count <= OWNED_MOST:
        few = form.inner == 1 and count <= OWNED_MANY_SMALL
        return elements >= (OWNED_LEAST_MANY if few else least)
    dense = count >= 2 * form.places or elements >= 2 * OWNED_LEAST[4]
    if form.inner == 1 and form.outers >= 1024 and 128 * form.places <= count <= OWNED_MOST_TURNED:
        return elements >= OWNED_LEAST[4]
    if count <= 4 and form.vector == 1 and elements >= OWNED_STREAM:
        return True
    short = form.row_bytes < 128 and form.outers > 1 and (form.vector == 1 or form.outers > 65535)
    return short and dense and count <= OWNED_MOST and elements >= OWNED_LEAST[4]


def is_for_private_copies(form: Form) -> bool:
    """Say whether lanes should have copies: of few places, or of those of a repetition, which a warp takes."""
    if form.inner * form.outers == 1:
        return form.count >= tuned("COPIES_LEAST", COPIES_LEAST)
    if form.inner > 1 or form.index_step != 1 or form.outers < PRIVATE_ROWS_LEAST or form.count * form.outers < 2**20:
        return False
    fits = form.places * max(form.itemsize, 4) <= PRIVATE_ROW_BYTES
    return fits and max(256, 10 * form.places) <= form.count <= LAST_DIM


def is_for_squares(form: Form, small: bool) -> bool:
    """Say whether elements that lie turned do so in squares: too few for a sort, or side by side in the destination.

    8192 x 512, 16384 indices of a transposed source 40 us (109 an element a thread).
    """
    few = form.count * form.outers < OWNED_LEAST[4]
    turned = form.is_turned and not small and form.count >= SQUARES_LEAST
    return turned and (few or form.outer_place < form.place_step)


def is_for_grouped(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether sorting costs less than atomics lose on indices spread evenly.

    Atomics take 2.1 TB/s of the source, 1.6 of short rows, and bring a row anew for each index where one repetition's
    destination is beyond the L2 cache; words of small integers are exchanged whole, at a seventh of that. Microseconds.
    """
    if form.count <= FEW:
        return False
    dense = form.count >= max(DENSE * form.places, CACHED_LEAST)
    if dtype in SMALL and (dense or (form.row_bytes >= GROUPED_ROW_SMALL and form.count >= GROUPED_LEAST_SMALL)):
        return True
    if form.row_bytes >= CACHED_ROW and form.inner < 32 and form.added >= GROUPED_SHORT:
        return True
    if form.row_bytes < tuned("GROUPED_ROW", GROUPED_ROW):
        return False
    rate = 0.3e6 if dtype in SMALL else 2.1e6 if form.row_bytes >= 256 else 1.6e6
    distinct = form.reached * -math.expm1(-form.count / form.places)
    moved = form.added * (3 if form.reached > form.outers * device.l2_bytes else 1)
    by_atomics = max(form.added / rate, moved / 3.6e6, (form.added + 2 * distinct) / 4.2e6)
    by_groups = sorting_us(form.count) + (form.added + 2 * distinct) / 3.9e6
    return by_groups * tuned("GROUPED_COST", GROUPED_COST) < by_atomics


def is_for_cached(form: Form, dtype: str) -> bool:
    """Say whether elements go through a block's table."""
    items = form.count * form.inner
    least = CACHED_LEAST_SMALL if dtype in SMALL else tuned("CACHED_LEAST", CACHED_LEAST)
    dense = items >= DENSE * form.places * form.inner and items * form.outers >= CACHED_LEAST_DENSE
    row, wide = tuned("CACHED_ROW", CACHED_ROW), form.inner < 32 and items * form.outers >= CACHED_MANY
    if form.row_bytes >= (2 * row if wide else row):
        return False
    if is_for_scattered(form, dtype) or (form.outers > 1 and items < CACHED_ITEMS and dtype not in SMALL):
        return False
    many = form.count >= least or items * form.outers >= CACHED_MANY_FEW * least
    return dense or (many and items * form.outers >= least)


def is_for_scattered(form: Form, dtype: str) -> bool:
    """Say whether single elements of several repetitions are few enough of each place for an atomic each."""
    most = SCATTERED_MOST_SMALL if dtype in SMALL else SCATTERED_MOST
    return form.outers > 1 and form.inner == 1 and form.count <= most


def has_totals(form: Form, dtype: str) -> bool:
    """Say whether small integers are added up in 32 bits first."""
    items = form.count * form.inner * form.outers
    few = form.places * form.inner * form.outers <= TOTALS_PLACES * items
    fills = form.outers == 1 or form.count * form.inner >= CACHED_ITEMS
    return dtype in SMALL and form.is_dense and items >= TOTALS_LEAST and few and fills


def is_for_block_copies(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether a block's own sums of all places are best: few places, or many long rows along the indexed dim.

    Blocks exchange words of small integers: 600000 int8 into 500 places 3145 us (39 by `cached`).
    """
    elements, items = form.places * form.inner, form.count * form.inner
    dense = items >= tuned("COPIES_DENSE", COPIES_DENSE) * elements
    few = elements <= tuned("COPIES_PLACES", COPIES_PLACES) and dtype not in SMALL
    if few and dense and items * form.outers >= 2 * CACHED_LEAST:
        return True
    if form.is_turned or form.inner > 1 or form.outers < device.sm_count or form.place_step != 1:
        return False
    return form.count >= tuned("LAST_DIM", LAST_DIM) and 2 * form.count >= form.places


def is_for_gathered(form: Form, device: DeviceInfo) -> bool:
    """Say whether it pays to sort the list and keep nearly all of each repetition's source in shared memory."""
    if form.inner > 1 or form.outers < device.sm_count or form.place_step != 1 or form.index_step != 1:
        return False
    fits = form.count * form.itemsize <= GATHERED_FITS * device.max_shared_bytes
    many = form.count >= LAST_DIM or form.count * form.outers >= GATHERED_ELEMENTS
    return fits and many and form.count >= tuned("GATHERED_LEAST", GATHERED_LEAST)


def is_for_partitioned(form: Form) -> bool:
    """Say whether the destination is so far beyond the L2 cache, and the list so long, that it pays to move both."""
    if form.inner * form.outers != 1 or form.count < tuned("PARTITION_LEAST", PARTITION_LEAST):
        return False
    return 4 * form.places >= tuned("PARTITION_REACH", PARTITION_REACH)


def piece_pairs(form: Form, device: DeviceInfo) -> int:
    """Return the pairs of a block of `grouped`: more of short rows, fewer where there would be too few blocks."""
    vectors = form.inner // form.vector
    pairs = min(PIECE_PAIRS * max(1, 16 // power_of_two(vectors)), 4 * PIECE_PAIRS)
    least = 5 * tuned("WAVES", WAVES) * device.sm_count
    while pairs > 64 and form.count // pairs * max(vectors // 32, 1) * form.outers < least:
        pairs //= 2
    return pairs


def warp_rows(form: Form, device: DeviceInfo) -> int:
    """Return the rows of a warp of `combined`; 4 are those of a group of lanes, 1 that of a thread.

    Of several repetitions with long rows few, so that not all of their destinations are met at once: 64 x 4096 x 128
    101 us, with 32 114.
    """
    vectors = form.inner // form.vector
    work = max(vectors // 32, 1) * form.outers
    if form.inner == 1 and form.outers >= 32 and form.is_denser_across:
        return 4
    if vectors >= 4:
        for rows in (8,) if form.outers > 1 and vectors >= 32 else (32, 16, 8):
            if ceil_div(form.count, rows) * work >= tuned("WARPS", WARPS) * device.sm_count:
                return rows
    if vectors >= HOT_VECTORS and form.count >= HOT_LEAST:
        return min(32, max(8, 128 // power_of_two(vectors)))
    return 4 if vectors >= 16 and form.count // 4 * work >= 16 * device.sm_count else 1


def cached_blocks(form: Form, tile: int, device: DeviceInfo) -> int:
    """Return the most blocks of `cached` for each repetition: one a tile up to eight an SM, else three."""
    tiles = ceil_div(form.count * form.inner, tile)
    return (
        tiles
        if tiles * form.outers <= 8 * device.sm_count
        else max(1, ceil_div(tuned("CACHED_BLOCKS", CACHED_BLOCKS) * device.sm_count, form.outers))
    )
