"""Numbers of the fast sums that measurements chose."""

from __future__ import annotations

import math

from gpubench.model import DeviceInfo
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.sum.fast import LOADS, is_plain
from gpubench.operators.sum.merged import Merged

SHORT_RUN = 1024
"""Runs of terms of fewer bytes are read as places in lines, where the dims form any."""

ONE_BLOCK = 4096
"""Up to so many vectors are one block's work: 16384 float32 4.9 us, 5.6 with two blocks."""

EVEN_ROW = 2**17
"""Outputs of so many vectors are shared by so many blocks that all SMs end together: 48 outputs of 7 MB float64 89.9 us
(100.4 with 144 blocks)."""

STAGED_ROW = {1: 600}
STAGED_ROWS = 2100
"""Rows off the vectors' grid of up to so many bytes (by bytes of an element, and in general) go through shared memory:
32768 x 513 float32 15.2 us (16.9 by lanes), 65536 x 513 int8 18.0 (22.6); but 160 x 461 x 826 uint8 25.4 (22.5 by
lanes). Not of little: 17888 x 23 float64 8.0 us (7.3), 38 x 81392 uint8 8.7 (7.4)."""

LANES_ROW = 128
"""Vectors of a row that lanes take: 125 of bfloat16 37.9 us (44.9 by a block a row), 250 of float32 69.9 (66.2)."""

HELD_ROW = 16
HELD_VECTORS = 4096
HELD_ROWS = 1024
HELD_BYTES = 2**26
HINT_FROM = 2**24
"""Vectors of a row of little from which a warp or a block has it, lanes the shorter ones: 16 x 6 x 202 x 2 int8, of 26,
5.73 us (5.89 by lanes). A block holds HELD_VECTORS at once: 16384 float32 6.1 us (6.4 by turns), 300 x 2048 7.0 (7.6),
and of many rows so many: 16384 x 4096 float32 68.8 us (72.4 by turns), 4096 x 4096 bfloat16 15.1 (15.9). With the hint
to the L2 cache from so many bytes on: 1500000 float32 8.7 us without, 8.9 with."""

ONE_BLOCK_LOADS = 4
ONE_BLOCK_WARPS = (4, 8, 16, 32)
"""Vectors of a thread where one block of so many warps has everything: 16384 float32 4.47 us (4.53 with eight of
512), 4096 4.09 (4.13 with two, 4.27 with one)."""

WARP = 32
WARP_ROWS = 4
"""Rows of a block where a warp has each, half as many where a lane has eight vectors: 816 x 240 float32 4.48 us (4.58
with one, 4.46 with eight), 140 x 300 4.16 (4.24 with one), 160 x 1022 int32 4.46 with two (4.47 with one)."""

MANY_VECTORS = 2**23
"""From so many vectors on, everything is added up by two blocks an SM: 50000000 float32 56.1 us (56.9 by one), 30000000
int8 15.4 by one (15.5)."""

STAGED_GROUP = 16384
WIDE_LINE = 128
"""Groups of columns of up to so many bytes go through shared memory, unless so many bytes of them lie side by side."""

FEW_TERMS = 8
FEW_OF_LITTLE = 16
FEW_ALIGNED = 128
"""Terms of an output that one thread adds up: in general, of little, and of outputs that are many and stand on vectors:
1142856 x 7 float32 15.9 us (19.8 through shared memory), 5000 x 40 x 1000 int8 78 us (84 so, 126 by places), 500 x 16
x 2000 float32 22.5 (43.2)."""

FEW_APART = 64
FEW_ELEMENTS = 1024
FEW_RUNS = 32
"""... of many outputs off the vectors' grid: 36 terms of 2051 bfloat16 24.5 us (33.5 by
places), 48 of float32 25.1 (24.0), of int8 23.9 (32.1); of those for which no line of places has vectors: 768 terms of
85,264 float32 83 us (100), 2920 163 (100); and in short runs: 6 x 284636 x 5 uint8 to 284,636 14 us (31)."""

LITTLE_RUN = 512
RAGGED_RUN = 96
"""Bytes of runs that `rows` takes off the grid: of little, 2 x 11 x 940 x 24 uint8 7.3 us (9.0 by places), and where no
line of places has vectors, 189468 x 2 x 80 int32 to two 54 us (67), 40 x 30 x 77 x 51 bfloat16 13.9 (15.5)."""

NARROW_VECTOR = 2
FEW_VECTOR = 4
RUNS_VECTOR = 8
"""Bytes of the narrowest vectors by which lines are read that stand on fewer than 16 (74 x 27387 x 33 x 2 int32 145 us,
379 element by element, 2264 x 2904 x 13 bfloat16 53, 95, 104 x 60 x 401 x 48 uint8 47, 120), of those of outputs that
one thread takes (8 x 60000 int8 6.9 us by two bytes, 6.7 element by element), and of those of lines to which runs off
the grid go where more than a little is read. Little is read element by element: 4522 x 2 x 16 int8 6.6 us, by vectors
7.6, 31 x 448 x 2 float32 5.9, 6.2."""

TRANSPOSED_TERMS = 16
TRANSPOSED_SIDE = 12
TRANSPOSED_OUTPUTS = 2**15
"""Terms of an output up to which tiles of outputs turn in shared memory, outputs on each side, and all outputs:
1000 x 4 x 4096 float32 31 us (92 by threads that write apart), 400000 x 12 copied 43 (65), 1000 x 40 5.95 (6.34), 64 x
400 float64 5.95 (5.76)."""

SHARED_THREADS = 512
SHARED_TERMS = (8, 16)
"""Threads of a block that holds a few outputs of little, and the terms that each may have on its way: the instances.
64 x 30 x 7 x 9 float32, dims 1 and 3, 6.3 us (7.6 by places), 64 x 56 x 86 x 2 int16 to columns 6.9 (8.8)."""

SHARED_SECTORS = 2**24
"""Bytes of the sectors that blocks of fewer outputs than a sector has read for them: 500 columns of 2000 terms float32
8.5 us with four outputs a block, 12.0 with one."""

SHARED_BYTES, SHARED_ELEMENTS = 2**24, 2**22
"""Bytes and elements of x up to which they do: 338 x 30 x 82 int64 8.6 us (11.4 by places), 3 x 2000 x 5 x 101 float32
to columns 10.5 (13.1 by rows), 8 x 25642 x 12 bfloat16 8.4 (11.9), 256 x 4 x 204 x 52 int8 13.7 (12.6 staged)."""

LITTLE = 4 * 2**20
"""Bytes of x and y below which a kernel's own code, which comes cold from memory too, is what counts, and of x alone
below which a few terms are added up by single threads however they lie: 24 x 1358 float32 4.1 us (4.6), 1 x 51344
float64 4.2 (5.5)."""

LANES_THREADS = 128
"""Threads of a block of short rows: 4194304 x 16 float32 74.3 us (75.5 with 256), 1048576 x 32 40.6 (41.2)."""

FEW_THREADS = 128
"""50777 x 12 x 32 float64 45.2 us with 128 threads a block, 46.9 with 256."""


def narrowed(shape: Merged, items: int) -> int:
    """Return so many elements of a vector, or one where lines are not read by so few bytes, as of little none are."""
    wide = items * shape.itemsize >= tuned("NARROW_VECTOR", NARROW_VECTOR) and not is_little(shape)
    return items if wide or items == shape.vector else 1


def run(vectors: int, shape: Merged, device: DeviceInfo) -> tuple[int, int, bool]:
    """Return (threads, parts, whether they hold a run of so many vectors at once) for outputs of one run."""
    sms = device.sm_count
    if threads := held(vectors, shape, device):
        return threads, 1, True
    if shape.kept:
        return *rows(vectors, shape.outputs, False, device), False
    parts = min(sms, ceil_div(vectors, 512)) if vectors < MANY_VECTORS else 2 * sms
    threads = 256 if vectors <= 256 * LOADS * parts else 512
    return threads, parts, vectors <= LOADS * threads * parts


def held(vectors: int, shape: Merged, device: DeviceInfo) -> int:
    """Return the threads that hold an output each, or 0: a warp, or a block.

    A warp by itself needs no barrier: 64 x 1000 float32 5.7 us with 32 threads, 5.9 with 128; 160 x 1022 int32 4.46
    (4.64 with 256).
    """
    if vectors > HELD_VECTORS or not is_plain(shape):
        return 0
    many = shape.outputs >= device.sm_count
    little = is_little(shape) and shape.outputs <= 8 * device.sm_count
    if little or (many and vectors > HELD_ROWS and shape.bytes < HELD_BYTES):
        if shape.kept and vectors < HELD_ROW:
            return 0
        whole = shape.terms // shape.vector
        if whole <= WARP * LOADS:
            return WARP
        if not shape.kept:  # more than half of what they hold, as `OneBlock` loads it
            return power_of_two(ceil_div(whole, ONE_BLOCK_LOADS))
        return 256 if vectors <= 256 * LOADS else 512
    return power_below(vectors * 9 // 16, 512) if many and tuned("LANES_ROW", LANES_ROW) < vectors <= HELD_ROWS else 0


def power_below(number: int, most: int) -> int:
    """Return the largest power of two up to a number, and up to another."""
    return min(most, 1 << max(5, number.bit_length() - 1))


def rows(vectors: int, outputs: int, ragged: bool, device: DeviceInfo) -> tuple[int, int]:
    """Return (threads, parts) for outputs of so many vectors; ragged: of runs off the grid, by 256 threads at most."""
    every = vectors * outputs
    sms = device.sm_count
    if ragged and outputs < 2 * sms and vectors > 1024:  # 49536 x 12 x 48 complex64 70 us; 95 with half the blocks
        return 256, min(ceil_div(2 * sms, outputs), ceil_div(vectors, 1024))
    if outputs >= sms or vectors <= ONE_BLOCK:
        loads = max(4, min(LOADS, every // (512 * sms))) if vectors < 1024 else LOADS
        most = 256 if every < 2**21 and outputs >= sms else 512
        return min(most, max(64, ceil_div(vectors, loads * 32) * 32)), 1
    if 16 <= outputs < 8 * sms and vectors >= EVEN_ROW:
        return 512, ceil_div(8 * sms, outputs)
    if 4 * outputs >= sms and vectors <= 4 * ONE_BLOCK:
        return 512, 1
    threads = 256 if every < 2**18 else 512
    most = 4 * sms if outputs > 1 else sms if every < 2**25 else 2 * sms  # 30 x 500000 float32 22.8 us, 23.8 with sms
    blocks = sms if every < 2**18 else sms // 2 if every < 2**20 else most
    least = max(ceil_div(vectors, LOADS * threads), min(32 // outputs, vectors // threads))
    return threads, max(1, min(blocks // outputs if outputs < 16 else ceil_div(blocks, outputs), least))


def is_little(shape: Merged) -> bool:
    """Say whether so little is moved that kernels with little code are faster than those that keep more on its way."""
    return shape.bytes + shape.y_bytes < LITTLE and is_plain(shape)


def fill_threads(groups: int, device: DeviceInfo) -> bool:
    """Say whether so many groups of outputs make work for all threads that should be at work."""
    return groups >= 2 * 256 * device.sm_count


def terms_of_little(shape: Merged, device: DeviceInfo) -> int:
    """Return the terms of an output of little that one thread adds up."""
    return tuned("FEW_OF_LITTLE", FEW_OF_LITTLE) // (1 if shape.outputs >= 64 * device.sm_count else 2)


def shared(shape: Merged, device: DeviceInfo) -> tuple[int, int]:
    """Return (outputs of a block, lanes that share each) where blocks hold all terms of little, or (0, 0).

    Blocks for all SMs, where they can be of as many outputs as make whole sectors, with as few terms a lane as may be.
    """
    dims, terms, sms = shape.dims, shape.terms, device.sm_count
    across = bool(dims) and dims[0].kept
    elements = terms * shape.outputs
    much = shape.bytes > SHARED_BYTES or elements > SHARED_ELEMENTS
    if much or not is_plain(shape) or len(shape.reduced) not in ((1, 2) if across else (2,)):
        return 0, 0
    least = terms_of_little(shape, device) if across or dims[0].size < shape.vector else 0
    if not least < terms <= SHARED_THREADS * SHARED_TERMS[-1]:
        return 0, 0
    outputs = 32 if across or dims[0].size < 32 else 8
    while outputs > 1:
        blocks = ceil_div(shape.outputs, outputs)
        few = blocks < sms // 8 or (blocks < sms // 3 and outputs > 4)
        if not few and terms <= SHARED_THREADS // outputs * SHARED_TERMS[-1]:
            break
        outputs //= 2
    if across and shape.bytes * min(32 // shape.itemsize, dims[0].size) > outputs * SHARED_SECTORS:
        return 0, 0
    every = (ceil_div(ceil_div(terms, count) * outputs, 32) * 32 for count in SHARED_TERMS)
    return outputs, next(threads for threads in every if threads <= SHARED_THREADS) // outputs


def are_side_by_side(shape: Merged) -> bool:
    """Say whether x is rows side by side, whose sums are, too, and are stored as they are."""
    return is_plain(shape) and tuple((dim.x, dim.y) for dim in shape.dims) == ((1, 0), (shape.terms, 1))


def words(shape: Merged) -> int:
    """Return the words of 32 bits that rows of a few narrow items are, one, two or four, or 0 for other sums.

    3464896 x 6 int8 18.0 us (38.5 item by item), 2000003 x 5 bfloat16 15.4 (24.9), 3000001 x 3 int8 14.4 (19.4).
    """
    row = shape.terms * shape.itemsize
    narrow = shape.itemsize <= 2 <= shape.terms and row <= 16
    if not narrow or not are_side_by_side(shape) or is_little(shape) or shape.on_grid(shape.terms):
        return 0
    return 1 if row <= 4 else 2 if row <= 8 else 4


def is_transposed(shape: Merged) -> bool:
    """Say whether outputs of a few terms lie side by side along one dim of x, and are written along another."""
    walked = len(shape.kept) in (2, 3) and len(shape.reduced) <= 2 and is_plain(shape)
    if not walked or shape.terms > TRANSPOSED_TERMS or shape.outputs < TRANSPOSED_OUTPUTS:
        return False
    first, down = shape.kept[0], min(shape.kept[1:], key=lambda dim: dim.y)
    row = shape.terms * shape.itemsize if shape.reduced and shape.reduced[0].x == 1 else 0
    side = TRANSPOSED_SIDE // (2 if shape.terms <= 4 and shape.itemsize <= 4 else 1)
    return down.y < first.y and min(first.size, down.size) >= side and row < 32


def threads_of_little(work: int, device: DeviceInfo) -> int:
    """Return the threads of a block where each does one piece of so few that all SMs are to have some."""
    return min(128, max(64, ceil_div(work, 32 * device.sm_count) * 32))


def lanes(vectors: int, shape: Merged, device: DeviceInfo) -> tuple[int, int, int, int]:
    """Return (lanes a row, vectors of a lane, rows a group, threads) for rows of so many vectors."""
    little, narrow = is_little(shape), shape.itemsize < 4
    by_two = little or 6 <= vectors <= 8 or (vectors == 4 and not narrow)  # 1000000 x 20 float32 26.8 us, 28.7 so
    many = shape.itemsize == 1 and vectors > 32  # 65536 x 1000 int8 23.6 us by eight vectors a lane, 26.2 by four
    width = min(32, power_of_two(ceil_div(vectors, 2 if by_two else LOADS if many else 4)))
    of_lane = power_of_two(ceil_div(vectors, width))
    threads = shape.outputs * width
    if little and of_lane < LOADS:
        return width, of_lane, 0, threads_of_little(threads, device)
    if of_lane <= 2:  # 1048576 x 32 float32 40.6 us with two rows at once, 42.4 with four; 700000 x 24 26.0 and 24.1
        most = 2 if vectors == 2 * width and (vectors <= 4 or not narrow) else 4
    else:  # 300000 x 16 float32 11.8 us with one, 12.4 with two; 500000 x 160 int8 32.1 and 28.8
        most = 1 if vectors >= 3 * width else 2
    slots = max(1, min(most, LOADS // of_lane, threads // (device.sm_count * 1024)))
    return width, of_lane, slots, tuned("LANES_THREADS", LANES_THREADS)


def staged(terms: int, neighbours: int, shape: Merged) -> tuple[int, int, int]:
    """Return (groups of a tile, lanes an output, threads)."""
    group = terms * neighbours * shape.itemsize
    room = 8 * 1024 if group <= 4096 else 30 * 1024
    outputs = 512 if neighbours > 1 else 128 if group > 64 else 1024
    tile = max(1, min(room // group, ceil_div(outputs, neighbours)))
    threads = 128  # 3000 x 100 x 16 float16 12 % slower with 256 for more outputs a tile
    width = 1
    while width < 32 and width * 2 * tile * neighbours <= threads and width * 4 < terms:
        width *= 2
    if (
        neighbours == 1
    ):  # rows of 32 words begin in one bank: 156250 x 64 bfloat16 16.0 us with four lanes, 19.7 with two
        width = max(width, math.gcd(group, 128) // 32)
    return tile, width, tuned("STAGED_THREADS", threads)
