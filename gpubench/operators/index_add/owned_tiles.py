"""How owners of places tile the positions: threads of a block, what each has, and what comes to shared memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpubench import dtypes
from gpubench.model import DeviceInfo
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two, power_of_two_within
from gpubench.operators.index_add.owning import OWNED_SORTED, is_owned_alone
from gpubench.operators.index_add.strides import Strides
from gpubench.operators.index_add.tuning import SMALL
from gpubench.operators.sectors import SECTOR

THREADS = 256
FEW_INSIDE = 64
"""Indices from which neighbouring threads have windows of one position, if only the destination is dense along the dim:
fewer make the source's lines short, 501518 x 12, 19 of uint8 321 us (73 by atomics)."""

BLOCKS = (4, 3)
"""Of `THREADS` threads that share an SM: of elements of up to 4 bytes, and of more."""

AT_ONCE = {1: 6, 2: 6, 4: 8, 8: 5, 16: 4}
"""Elements on their way to a thread, by the bytes of one: pairs_at_once in owned.cuh."""

AT_ONCE_VECTORS = 4
"""... of vectors of several positions."""

OWNED_NARROW = 64
"""Bytes of a tile's row down to which tiles are made narrower where pieces of the list that blocks sort themselves and
tiles are fewer than half of the SMs, until they are as many: 623 x 128, 484 of complex128 11.6 us (19.6), 208 x 408,
1579 below 38 14.1 (19.8); 17 cases 1.25 times as fast, the least 1.03. Of lists sorted before 0.84 to 1.09."""

OWNED_EVEN = 1
"""Whether tiles are as narrow as makes the trips to memory fewest that a block waits for: 768 tiles of 64 positions are
two for some of 528 blocks and one for others, 1536 of 32 with twice the threads for each are three for nearly all. Or
as wide: 39 random cases with wider ones 1.067 times as fast, 0.87 to 1.21."""

NEAR = 64 * 1024
NEAR_LEAST = 64 * 2**20
"""Bytes of a tile of the source in shared memory, and of a source from which it pays: 25 x 8192 x 282, 181 indices of
int64 262 us (561 by the L1 cache); 1024 x 2048, 1000 of int8 80 (46)."""

MOST_NEAR = 8192

NEAR_WIDE = 32 * 1024
"""Bytes of such a tile up to which it is wider than 64 positions, where these are short: 280 x 1513 x 2 x 2, 11 of
complex64 125 us with 64 and 49 with 256, 16 x 94 x 512 x 2, 17 of float64 123 and 68."""

NEAR_SPREAD_LEAST = 2**25
NEAR_SPREAD = 128
"""The same where neighbours of the sorted list stand at least so many bytes apart in the source, in the mean: then each
element is a sector of its own, which the L1 cache has lost when the next of its elements is due. On an H100 256 x 128 x
12, 2253 of complex64 67 us (145), sorted 68 (60); 14 cases 1.37 times as fast."""

NEAR_INSIDE = 96
NEAR_WINDOW = 16
"""Bytes that the places of a position are at least for neighbouring threads to have windows of one position where both
operands are dense along the dim, so that what they write lies side by side, too; the source comes to shared memory
then, however large. And pairs of a window. On an H100, with windows of 8, 16 and 32: 58317 x 120, 249 of float32 112,
108, 163 us (191 by neighbouring positions), 65536 x 256, 512 of bfloat16 221, 178, 223 (386), 30000 x 2000, 1000 of
float32 396, 453, 495 (526), 1000000 x 24, 40 of bfloat16 298, 221, 220 (226); 31 cases 1.50 times as fast. All on one
place less, for a run's windows are joined one after the other: 220 x 242 x 287, 696 of float16 233 (115), even 228
(361). Of shorter ones 272643 x 4 x 14, 103 of float16 551 (385), 300000 x 10, 30 of float32 75 (51)."""


BY_SOURCE, BY_SOURCE_APART = 1.5, 0.8
"""By how much the sectors that tiles touch are to be fewer where positions stand in the order of the source's memory,
and how many of the source an element of `SMALL` is to have in that of the destination's: below that ten cases took up
to five times as long, and of other dtypes eight 1.16 times as fast, 0.91 to 1.42. On an H100 21448 x 2 x 32 x 2, 26 of
int32, permuted, 134 us (856), 2 x 2 x 32 x 512, 1921 of complex128 388 (1578), 3 x 20 x 32768, 443 of complex64 561
(1441); 57 random cases 1.62 times as fast, the least 0.58: 164 x 8 x 2 x 544, both permuted, 25 of int8 75 (43).
Wherever indices are twice as many as places 174 cases 1.07, 0.57 to 6.4."""

FREE, FEWER = 1.1, 0.75
"""... whatever an element has of its sector, where the source's order touches at most so many times the destination's
sectors, and so many times the source's at most: 34 of 20,000 random cases, 1.045 times as fast, 0.69 to 1.72: 48 x 2 x
128086, 18 of float16, permuted, is one."""

BY_SOURCE_LIST, BY_SOURCE_LIST_HALF = 6, 24
"""... and the indices a place from which it pays where tiles are rectangles else, for little is written then; of 16
bits each element written is a sector read before. 45 random cases with 6: of 4 bytes and more 1.2 times as fast, 0.70
to 1.78, of 16 bits 0.39 to 1.59: 17 x 4 x 194 x 132, 35 of bfloat16 106 us (42). 64 x 1 x 76 x 858, 204 of int8 198
(40), so not of `SMALL`."""

FILL_PIECE = 128
"""Indices of a piece for which tiles are as wide as four blocks an SM allow, where the list is longer than a block
sorts: wide tiles touch fewer parts of sectors, and a position's windows are joined less. On an H100 130 random cases
1.04 times as fast as with tiles for all of the list at once, 1.05 times as with pieces of 512: 5 x 3917 x 1, 11493 of
one place of float32 94 us (122), but 8 x 16 x 8 x 44, 2071 of int32 85 (56). Not of `SMALL`, whose pieces' ends are
atomics that others make fail: 80 cases 0.78 times."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Positions of a block, width times height; threads of each.

    pitch: elements of a position in shared memory, 0 for none. inside: whether neighbouring threads are one position's.
    vector: elements that are a position's, neighbours in the source; beside: in the destination, too.
    """

    width: int
    height: int
    shares: int
    pitch: int = 0
    inside: int = 0
    vector: int = 1
    beside: bool = True

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.width * self.height * self.shares


def tile_of(strides: Strides, dtype: str, room: int, device: DeviceInfo, vector: int = 1) -> Tile:
    """Return the tile: enough of them for four blocks an SM, neighbouring threads where the destination is dense.

    room: bytes of shared memory for a tile of the source; vector: neighbours that a position stands for.
    """
    count, itemsize = strides.count, dtypes.dtype(dtype).itemsize
    fill = power_of_two_within(strides.positions // (4 * device.sm_count))
    row = count * itemsize
    if is_near(strides, itemsize) and 64 < row <= room:
        wide = max(64, tuned("NEAR_WIDE", NEAR_WIDE) // row)
        width = power_of_two_within(min(THREADS, wide, min(NEAR, room) // row, fill))
        shares = max(min(THREADS // width, power_of_two(count)), 32 // width)
        if _has_windows_side_by_side(strides, itemsize):
            shares = min(THREADS, max(shares, power_of_two(ceil_div(count, NEAR_WINDOW))))
            return Tile(min(width, THREADS // shares), 1, shares, count | 1, inside=1)
        return Tile(width, 1, shares, count | 1)
    if strides.is_denser(0) and not strides.is_denser(1) and FEW_INSIDE < count < 2 * strides.places:
        shares = min(THREADS, power_of_two(count))
        width = min(THREADS // shares, fill)
        return Tile(width, 1, max(shares, 32 // width), inside=1)
    if count > OWNED_SORTED and dtype not in SMALL:
        pieces = count // tuned("FILL_PIECE", FILL_PIECE)
        fill = power_of_two_within(strides.positions * pieces // (4 * device.sm_count))
    width = min(THREADS, max(32, fill), power_of_two(strides.positions))
    across = strides.fastest_of_source
    shares = _shares(width, count)
    long = strides.dims and min(strides.dims[0].size, strides.dims[across].size) >= 4
    if across and width >= 32 and long and not _is_whole(strides, width):
        return _rectangle(strides, itemsize, width, shares)
    if count <= OWNED_SORTED and tuned("OWNED_EVEN", OWNED_EVEN):
        width = _even(width, strides, itemsize, vector, device)
    width = _narrow(width, strides, dtype, vector, device)
    return Tile(width, 1, _shares(width, count))


def _even(width: int, strides: Strides, itemsize: int, vector: int, device: DeviceInfo) -> int:
    """Return the positions of a tile's row with which a block waits for the fewest trips to memory."""
    widths = [width >> k for k in range(4) if width >> k >= 32] or [width]
    widths += [width << k for k in range(1, 4) if width << k <= min(THREADS, strides.positions)]
    at_once = AT_ONCE[itemsize] if vector == 1 else AT_ONCE_VECTORS
    turns = [_turns(each, strides, itemsize, at_once, device) for each in widths]
    if min(turns) * 8 > turns[0] * 7:  # narrow tiles have more joins: not for little
        return width
    return widths[turns.index(min(turns))]


def _narrow(width: int, strides: Strides, dtype: str, vector: int, device: DeviceInfo) -> int:
    """Return the positions of a tile's row, fewer of them where else few SMs had work."""
    pieces, row = ceil_div(strides.count, OWNED_SORTED), vector * dtypes.dtype(dtype).itemsize
    if not is_owned_alone(strides, dtype) or 2 * pieces * ceil_div(strides.positions, width) >= device.sm_count:
        return width
    least = max(1, tuned("OWNED_NARROW", OWNED_NARROW) // row)
    while width > least and pieces * ceil_div(strides.positions, width) < device.sm_count:
        width //= 2
    return width


def is_by_source(strides: Strides, dtype: str, tile: Tile) -> bool:
    """Say whether positions had better stand in the order of the source's memory.

    Not where tiles have another remedy for a source that lies otherwise than the destination; rectangles are such for
    lists that are not long.
    """
    itemsize = dtypes.dtype(dtype).itemsize
    if tile.pitch or tile.inside or strides.fastest_of_source == 0:
        return False
    if tile.height > 1:
        least = tuned("BY_SOURCE_LIST", BY_SOURCE_LIST) if itemsize > 2 else BY_SOURCE_LIST_HALF
        return dtype not in SMALL and strides.count >= least * strides.places
    by_source = strides.by_source()
    (read, written), (read_so, written_so) = (
        [order.sectors(operand, tile.width, itemsize) for operand in (1, 0)] for order in (strides, by_source)
    )
    if written_so <= FREE * written:
        return read_so <= FEWER * read
    if dtype in SMALL and read < tuned("BY_SOURCE_APART", BY_SOURCE_APART):
        return False
    twice = 2 * strides.places * -math.expm1(-strides.count / strides.places)  # places reached are read and written
    cost, cost_so = strides.count * read + twice * written, strides.count * read_so + twice * written_so
    return cost > tuned("BY_SOURCE", BY_SOURCE) * cost_so


def is_near(strides: Strides, itemsize: int) -> bool:
    """Say whether a source that is dense along the indexed dim should come to shared memory, tile by tile."""
    if not strides.is_denser(1) or strides.count > MOST_NEAR:
        return False
    if _has_windows_side_by_side(strides, itemsize):
        return True
    spread = min(strides.places, strides.count) * itemsize >= NEAR_SPREAD
    least = min(tuned("NEAR_SPREAD_LEAST", NEAR_SPREAD_LEAST), NEAR_LEAST) if spread else NEAR_LEAST
    return strides.count * strides.positions * itemsize >= least


def _has_windows_side_by_side(strides: Strides, itemsize: int) -> bool:
    """Say, of a source that is dense along the dim, whether the destination is too, with more places than fit few
    sectors.
    """
    return strides.is_denser(0) and strides.places * itemsize >= tuned("NEAR_INSIDE", NEAR_INSIDE)


def _rectangle(strides: Strides, itemsize: int, positions: int, shares: int) -> Tile:
    """Return a tile of so many positions of two dims: the destination's fastest, and the source's.

    No higher than the second dim, nor than leaves few of its threads without a position: what it has less in height
    it has in more shares, as long as each has a turn of elements, and in width. On an H100 32768 x 8 x 6, 82 indices of
    complex128 138 us (466 with 26 of 32 threads idle), 15 cases 1.50 times as fast.
    """
    first, second = strides.dims[0].size, strides.dims[strides.fastest_of_source].size
    along = min(8 if itemsize >= 4 else 16, power_of_two(first))
    highest = positions // along
    least = max(4, 2 * SECTOR // itemsize)
    heights = [highest >> k for k in range(highest.bit_length()) if highest >> k >= least] or [highest]
    covered = [ceil_div(second, height) * height for height in heights]
    height = next(height for height, all_of in zip(heights, covered, strict=True) if all_of * 7 <= min(covered) * 8)
    height = min(height, power_of_two(second))
    spare = highest // height
    more = power_of_two_within(min(spare, strides.count // (AT_ONCE[itemsize] * shares)))
    width = min(along * spare // more, power_of_two(first))
    return Tile(width, height, max(shares * more, 32 // (width * height)))


def _is_whole(strides: Strides, width: int) -> bool:
    """Say whether so many positions side by side have all of the source's fastest dim as they are."""
    sizes = [dim.size for dim in strides.dims[: strides.fastest_of_source + 1]]
    return math.prod(sizes) <= width


def _shares(width: int, count: int) -> int:
    return max(min(THREADS // width, power_of_two(ceil_div(count, 2))), 32 // width)


def _turns(width: int, strides: Strides, itemsize: int, at_once: int, device: DeviceInfo) -> float:
    """Return the trips to memory of the block with the most tiles, one after the other; a tile's join is half a one."""
    shares = _shares(width, strides.count)
    resident = device.sm_count * BLOCKS[itemsize > 4] * (THREADS // (width * shares))
    tiles = ceil_div(ceil_div(strides.positions, width), resident)
    return tiles * (ceil_div(ceil_div(strides.count, shares), at_once) + 0.5)
