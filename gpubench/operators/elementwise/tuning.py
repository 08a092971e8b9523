"""The numbers of the elementwise rules, each with what chose it. One H200, cold, microseconds by events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gpubench import dtypes
from gpubench.model import DeviceInfo
from gpubench.operators.constants import tuned
from gpubench.operators.elementwise.merged import Input, Merged
from gpubench.operators.elementwise.waves import LIGHT, is_a_wave_of_four
from gpubench.operators.geometry.rounding import ceil_div, power_of_two

THREADS = 256

PASSES = 2
"""Rows of a thread where nothing is turned, which `auto` leaves to `flat`: 1.025 times as fast over 35 broadcasts of
12 to 600 MB, 0.989 to 1.17 (32 x 256 x 56 x 56 bfloat16 and a column 28.9 us, by tiles 30.0). 1, 2, 4, 8: 16384 x
8192 + 8192 float32 253.7, 255.5, 256.6, 257.7 us; an outer sum 141.4, 119.0, 119.2, 120.2."""

TURNED_PASSES = 4
"""... and where operands lie across. 8192 x 8192 bfloat16 with 2 111 us, with 4 102. 8191 x 8193, two operands off the
grid, with 4 and 8: float32 223, 219 us; bfloat16 118.1, 117.7, copied 84, 97."""

STAGED_MOST = {16: 32, 8: 32, 4: 64, 2: 64, 1: 64}
"""Vectors of a row of a staged tile at most, by their elements: each line takes three units of shared memory, however
short. Twice as many and these: 35 x 65536 int8, two operands, 14.8 and 11.5 us; 41 x 202352 uint8 20.3 and 18.5; 50 x 2
x 8192 int16 10.0 and 8.4; 58 x 66 x 7 x 43 12.1 and 10.7; 71888 x 4 int32, three operands, 10.6 and 8.6; 24 x 1138928
int16 with four times as many 71, with twice 57; 1015 x 36 x 33 int64 20.7 and 21.3."""

BRAIDED_ROWS = 15
"""Rows of y at most that come as one run of an operand: a thread holds a vector of each, of all such operands."""

BRAIDED_VECTORS = 128
"""... and vectors of such a row at least, for a block has its own."""

BRAIDED_STORE, BRAIDED_RUN = 4, 64
"""Bytes of such a row that a thread stores at least, and of the run that it loads, above which vectors are shorter than
full ones; they are, too, where only shorter ones end with the rows, which then need no shared memory. Threads whose
parts are 128 bytes apart meet a line of the L1 cache each. Of 8 rows of bytes that end with 8, 16 bytes a row took 2760
instructions and 80 registers, which spilt, 4 bytes take 304 and 30. On an H100 8 x 2052664 uint8 17.5 us (24.7), 12 x
1000000 int16 21.4 (23.9), 14 x 1000000 float32 43.4 (47.4), but 3 x 2000002 int16 13.7 (12.9), 3 x 4000001 float32 39.1
(37.3)."""

RAGGED_ROW, RAGGED_STORE, RAGGED_PASSES = 512, 4, 16
"""Elements at most of rows that are no whole vectors, beside operands turned by squares, which come by the vectors
that they are multiples of; bytes of y that these have at least, of a quarter as long rows half as many; rows of a
thread at most, half as many of several operands, of three with 4 and with 8 2^20 x 45 int16 173 and 161 us, 2^18 x 77
77 and 66, float32 88 both. On an H100 64 x 2048 x 76 int8 12.6 us (23.1), 4096 x 170 float32, three operands, 9.2
(10.4), 8192 x 125 float64 10.0 (10.9); of pairs of bytes 8192 x 125 int16 7.8 (8.7), but 32768 x 247 31.5 (27.5), 40000
x 501 64 (52). Off the grid a tile brings a vector's worth of lines more, and the vectors at a row's
ends come apart: of 8192 x 125 int16, two operands, 330 instructions for 8 elements a thread."""

SHORT_RUN, LONG_ROW = 64, 64
"""Elements of an operand's run across y's rows that are too few for a tile, and of a row of y that are enough: the run
goes on over one more dim, not the row. 26 random cases 1.19 times as fast, 3 x 13807 x 1432 bfloat16, dims reversed,
82 us (205), 32 x 4 x 324 x 64 8.3 (12.9)."""

LEAST_TILE = 1024
"""Elements of y's rows and across them that a tile may hold, at least, where one operand lies across, else THREADS:
blocks would have little each. 6880 x 2 x 832 x 2 permuted, in tiles of 4, 12.8 ms (37 us for Inductor); of 54 to 1000
six random cases 1.37 times as fast by `flat`."""

SHORT_ALONG = 512
"""Bytes at most of a run of y where a tile's rows go over further dims though small operands do not go on there, whose
elements are then found by their places: 30 random cases, of 40,000, 1.244 times as fast, 0.89 to 2.2. 197 x 134789 x 2
int64, reversed, and a row of two 282 us (621), 22400 x 22 x 3 x 4 uint8, permuted, and four elements 15.1 (30.5), 29 x
9198 x 5 int8 to bfloat16 8.9 (10.5), 28 x 6814 x 46 float32, reversed, and a row 29 (51)."""

SCRAP = 16
"""Bytes at most of rows of y that are scraps where those next to each other in a tile are far apart in y. 83965 x 19 x
4 x 2 float16, two operands permuted, 40 us by `flat` (214 in tiles), 29 x 9198 x 5 int8 to bfloat16, reversed, 10.2
(27), 2048 x 128 x 80 x 2 float16, reversed, 277 (528): eight random cases 1.86 times as fast, 0.85 to 5.4; longer
ones 0.28 to 1.7."""

TURNED_BLOCKS = {4: 3, 2: 2}
"""... as long as an SM has so many blocks, by rows of a thread. 2381 x 512 int32 to bfloat16, 2.3 blocks with 4: 8.02
us, with 2 7.49; 32768 x 69 bfloat16 14.6 and 12.1; 2 x 3 x 4096 x 256 int8, 2.9 blocks, 9.49 and 9.07; 2977 x 618
float64, 3.4 blocks, 12.96 and 13.10; 10 x 481 x 16 x 32 int8, 2.3 blocks with 2, 7.34, with 1 8.67."""

SQUARE_BLOCKS = {4: 10, 2: 2}
"""... and where lines stand on units, tiles are no lower than usual, and a vector is of 4 elements or fewer: with 4
and with 2, 64 x 4 x 8192 float32 15.5 and 12.5 us, 21592 x 128, 5.1 blocks, 16.8 and 15.3, 4096 x 2 x 10 x 32
float64, 9.7 blocks, 16.4 and 15.6, 896 x 1277 int64 13.4 and 12.5; but 131072 x 96 uint8 17.4 and 19.8, 8192 x 8192
bfloat16 102 and 111, 32 x 131072 float32 13.1 and 14.2."""

TURNED_LANES = {16: 8, 8: 8, 4: 16, 2: 16, 1: 16}
"""Vectors of a row of a turned tile, by the elements of a vector. bfloat16 with 4, 8, 16: 100.7, 102.0, 110.9 us."""

TURNED_WASTE = 1.1
"""A tile's shape is kept where another would have so much less outside y, by the part."""

SHORT_PIECE, SHORT_BYTES, PIECE_COST = 128, 64, 0.3
"""Bytes of a line, and of one of elements of one or two bytes, below which what a tile has of it, if that is not all,
costs more, by the part that is missing. On an H100 tiles of 8 and of 64 rows of 40 x 469023 int16 70.9 and 33.3 us, of
4 and 32 of 20 x 530452 float32 77.2 and 35.1, of 8 and 64 of 56 x 65536 bfloat16 11.4 and 9.8, of 16 and 32 of two
operands of 80 x 24 x 8192 float16, reversed, 75.6 and 60.9, of 4, 8 and 32 of 20 x 138612 int64 26.2, 25.0 and 20.5,
of 16, 32 and 128 of two of 291456 x 72 int16 76.7, 66.1 and 50.2; longer pieces gain nothing: 12604 x 640 int16 of 128
and 256 bytes 26.1, 27.2, 128 x 50337 int8 of 64 and 128 12.6 both, 9691 x 2944 uint8 to int64 177, 218. Of two bytes
17 random cases 1.04 times as fast by pieces of 64 bytes, 96 x 2443 x 296 bfloat16 109 us (133), but 72 x 36255 x 24
int16 140 (119)."""

PARTS_COST, LONG_PIECE = 1.0, 256
"""What a piece of y's rows costs more where they begin inside sectors, and y's elements are as wide as any: the part of
a sector that its neighbour stores, too, by the bytes of the piece; and the bytes from which pieces are long enough.
1024 x 216 x 216 bfloat16, dims exchanged, by tiles of 32 elements of a row 78 us, of 256 54, the least of 29 cuts; 32
of 20,000 random cases change, 1.02 times as fast: 131072 x 133 float64 86 us (106), but 64 x 137 x 9046 float32 266
(240)."""

STAGED_EMPTY = 0.4
"""Part of what is outside y that a tile pays for where lines come as they lie. With what these bring in vain, a unit a
line, fitted to 10 cuts of each of 26 random cases: 67 x 878759 int16 by tiles of 8, 16, 32, 64 and 128 rows 312, 211,
168, 163, 152 us, 73 x 382214 - , 94, 71, 62, 58; but 27 x 32 x 1160 x 20 by 16, 32, 64 rows 51.9, 48.4, 66.6, 6 x 16 x
18016 x 16 int32, six rows, by 8, 16, 32 98, 114, 202. Vectors of bytes gain and lose by it: 101 x 293824 int8 35.8 us
(52.4 by the fewest outside y), seven others 0.95 times as fast, 8 x 2333 x 129 11.9 (9.8)."""

STAGED_LANES = {**TURNED_LANES, 16: 4}
"""... off the grid. 8191 x 8193, two operands, with 4, 8, 16: int8 79, 86, 94 us; float32 with 8, 16, 32: 227, 223,
238."""

SMALL_THREADS = 256
"""... where vectors are not full: of 19 cases of 2^14 to 2^20 elements with an element a thread, 14 were faster with
256 than with 128, small ones by 0.03 to 0.2 us."""

FLAT_THREADS = 128
"""Of a block. 2^26 uint8 to bfloat16 83.3 us, 85.4 with 256; elsewhere no difference."""

TWO_VECTORS = 2**23
"""Bytes of y up to which a thread takes two vectors: sigmoid of 908700 float64 9.49 us (9.74 with one), 2^20 float16
7.58 (7.68); sqrt of 1317888 float64 11.49 (11.23), gelu of 3731492 21.3 (20.9), sigmoid of 16520768 float16 22.9
(22.4)."""

MOSTLY_Y, MOSTLY_Y_LIGHT = 0.6, 0.8
"""... and part of all bytes that is y's, from which it takes two, too; of `LIGHT` functions. 953793 x 29 exponentials
of bfloat16 to float64 99.1 us with one and 87.0 with two, 4262421 x 7 logarithms of bfloat16 to float32 49.0 and 47.0,
but 2^26 float16 copied to float32 100.6 and 101.4."""

SPREAD = 256
"""Threads of an SM that a small y is spread over, before vectors are full. 251426 bfloat16, vectors of 2, 4, 8: square
roots 6.1, 6.3, 6.8 us, exponentials 6.1, 6.0, 6.2. Quotients of 16416 bfloat16 with 1, 2, 4, 8: 5.55, 5.68, 5.70,
5.89, the difference of two columns of 16384 uint8 5.66, 5.71, 6.11, 6.30."""

SPREAD_WIDE, HEAVY = 1024, ("pow",)
"""... where operands are off the grid, or for heavy functions. 597168 float16 at offset 5, vectors of 1, 2, 4, 8: 8.3,
7.3, 6.8, 7.6 us; the power of 64208 bfloat16: 5.9, 6.3, 6.5, 6.7."""

HEAVY_BLOCKS = 40
"""Blocks of two vectors a thread, by SMs, from which heavy functions take two. Powers with one and with two: 60000000
float32 197 and 182 us, 6000001 25.1 and 24.0, 3000000 14.7 and 15.0, 1048576 8.03 and 8.22; 16777216 bfloat16 36.1 and
35.7, 6000001 16.2 and 16.8; 558028 float64 10.1 and 11.4, 2000000 22.5 and 23.4; 2000000 int16 9.57 and 10.5."""

SHORT_HEAVY = ("log", "sin")
"""Functions of 16 bits that take two from there on: logarithms of 150000000 bfloat16 with one and with two 155 and 144
us, 30000000 34.6 and 33.6, 16777216 21.3 and 21.2, sines 150 and 145, 34.1 and 33.4, 21.2 and 21.3; exponentials 143
and 144, negatives 144 and 146."""

NEAR_BYTES, NEAR_VECTORS = 4, 4
"""Bytes of y's vectors, and vectors of a thread, there: the closer together those of neighbouring threads are, the
fewer lines of the L1 cache a load meets. 40 x 814 x 2 x 174 uint8, last two dims exchanged, 16.1 us, by vectors of 16
bytes 19.6; the same of 20 x 814 x 5 x 120 13.1 and 17.7."""

GATHER_RUN = 40
"""Up to so many elements of y between neighbours of an operand, what a block reads of it lies in long enough runs.
Powers of 7260 x 4 x 10 float64, one reversed, 10.0 us, in tiles 11.7."""

SQUARE_RUN = 31
"""The same where lines stand on units and neighbours are so many elements apart that they fill tiles: a power of two,
and whole vectors. By runs in shared memory, quotients of 544 x 32 x 1024 float32, the last two exchanged, took 56 us
for 73, while in tiles 69312 x 38 int32, which fill half of them, took 29 for 15. On an H100 23 cases 1.07 times as
fast, 500000 x 32 turned uint8 16.5 us (19.8), 1000000 x 32 float32 91.6 (99.3); 9008 x 32 5.1 (4.9)."""

FILLED_PAIRS = 2**22
"""Elements from which lines of pairs of bytes may stand off units for that: on an H100 279689 x 32 turned int16 18.1 us
(20.7), 16 x 2 x 137652 bfloat16 14.8 (15.3); but 36206 x 8 x 4 7.0 (6.3)."""

GATHER_ELEMENTS = 2**17
"""Up to so many elements of y the L2 cache makes up for sectors that are read again."""

BYTE_RUN, BYTE_GROUP = 200, 2**15
"""The same of bytes where neither y's rows nor the operand's lines are whole vectors: tiles would turn them byte by
byte. Element by element by two vectors of 4, by eight of 2, and in tiles: 355558 x 90, the operand transposed, 60.5,
55.6 and 68.4 us, 22222 x 180 beside one that is not 14.9, 13.7, 18.4, 16000 x 250 23.1, 23, 14.9; n x 20 x 173, the
last two dims exchanged, 30.6, 37, 69, 20 x 700 57.9, 26.1, 52, 33 x 700 107, 29.3, 50, 33 x 1500 148, 44, 42."""

BYTE_ROW, BYTE_LITTLE, BYTE_MOST = 48, 2**21, 400
"""... and of bytes whose lines stand off units: elements of y's rows, and, up to so many of y, of longer rows. On an
H100 44 x 1643 x 48, the last two dims exchanged, 7.1 us (tiles 9.0), 1000 x 331 x 48 19.0 (23.2), 1001 x 330 5.0
(6.1), four times as many 7.0 (7.7), 60 x 331 x 96 6.0 (6.8); but 44 x 1643 x 64 8.3 both, 1001 x 1000 7.0 (6.6), 40 x
1001 x 330 26.4 (23.8)."""

FEW_BYTES = 8
"""... and where a line is so few of them, whole units of it are mostly others: 4 x 2 x 983432 int8, reversed, 15.8 us
(tiles 19.5), 262144 x 4 beside one that is not 6.6 (8.1)."""

PLAITED_LINES = 3
"""Lines of bytes at most of which a thread takes a vector each. 64 x 50176 x 2, 3 and 8 uint8, the last two dims
exchanged: 8.8, 12.3, 36.9 us, element by element 12.6, 16.0, 33.2; 3 lines of float16 22.4 and 18.0."""

REPEATING_ROW, REPEATED = 512, 16
"""A shorter row that operands of 1 or 2 bytes repeat lies in shared memory, once a block, which has at least so many
rows. 507904 x 29 bytes 13.6 us, element by element out of the cache 23.3; 29 bfloat16 20.4 and 26.3, 125 8.1 and 9.4;
9000000 x 3 bytes 21.7 and 30.7; 301 bytes, of which a block has 6 rows, 10.1, 27 rows 9.0, out of the cache 10.0; 1638
15.5 and 14.8; 29 float32 33.9 and 34.3, 1001 46.6 and 43.9."""

BYTES_OVER_ROWS, VECTORS_OVER_ROWS = 4, 2
"""Bytes of a vector that may go over the end of a row, and vectors of a thread (`row_cut`)."""

PART_ROW = 4
"""Elements of a row of y, at least, that vectors are where full ones would be several rows, beside a column (of bytes
beside a row, too): of several and of one 452 x 4 x 2482 uint8 in its operand's order 14.0 and 8.8 us, 8 x 4 x 524288
float16 22.8 and 21.0, 5761183 x 4 uint8 beside a row 28.2 and 24.4; but of float16 beside a row 4.50 and 4.63."""

LONG_BYTES = 2000
"""... where rows beside another are shorter than this: few warps of a longer one meet its end. Add and minimum of rows
of 2001 to 100003 bytes, 4 to 40 MB, by vectors of 16 1.13 times as fast, 15000 x 2001 and 2001 20.8 us (25.1); of 1003
bytes 12.6 both."""

SMALL_BYTES, SMALL_SHARE = 4 * 2**20, 8
"""An operand of at most so many bytes, and of such a part of all, is read out of the L2 cache, however it lies."""


SHORT_ROW_BYTES = 32
"""Bytes of a row at most of which every vector is a part, where an operand has such rows in another order. Copy of
16384 x 52 x 6 int8, dims 0 and 1 exchanged, by vectors of 1, 2, 4 and 16 elements 10.2, 9.4, 18.1, 15.1 us; abs of
107474 x 34 x 10 bfloat16 by 1, 2, 4 and 8 53.6, 46.9, 58.6, 68.8; difference of 8 x 47399 x 16 x 4 by 2, 4, 8 43.9,
41.6, 46.3. A thread takes 16 bytes, of elements alone eight."""


class FlatCut(NamedTuple):
    """Threads of a block, elements of a vector, vectors of a thread."""

    threads: int
    items: int
    vectors: int

    @property
    def tile(self) -> int:
        """Elements of a block."""
        return self.threads * self.items * self.vectors


def flat_cut(shape: Merged, device: DeviceInfo, function: str, plain: bool, near: bool) -> FlatCut:
    """Return how y is cut. Small ones: more threads, before vectors are full.

    plain: nothing is off the grid. near: some operand's elements are. Two vectors a thread where y has fewer bytes
    than what a vector is counted by, is most of all, or is small: 2^28 float32 to float16 379.6 us with one and 373.7
    with two, 2^26 float16 to float32 100.1 and 101.3. Not where an SM has fewer than four blocks then: 1043872 square
    roots of bfloat16 to int16 6.0 with one, 6.7 with two. Elements of 8 bytes off the grid come one by one: 51712416
    logarithms of float64 at offset 3 197.5 us, in vectors 203.6 to 217.
    """
    heavy = function in HEAVY
    spread = tuned("SPREAD", SPREAD) if plain and not heavy else SPREAD_WIDE
    filled = power_of_two(shape.elements // (spread * device.sm_count) + 1) // 2
    items = max(1, min(shape.vector, filled))
    threads = tuned("FLAT_THREADS", FLAT_THREADS) if items == shape.vector else SMALL_THREADS
    blocks = shape.elements / (2 * threads * shape.vector)
    narrow = max(1, min(items, NEAR_BYTES // shape.output_itemsize))
    if blocks < 2 * device.sm_count:
        return FlatCut(threads, narrow, items // narrow) if near and shape.vector < 16 else FlatCut(threads, items, 1)
    if near:
        return FlatCut(threads, narrow, NEAR_VECTORS)
    if not plain:
        return FlatCut(threads, 1, 4) if shape.vector == 2 else FlatCut(threads, items, 1)
    if not heavy and is_a_wave_of_four(shape, device, function):
        return FlatCut(threads, items, 4)
    many = blocks >= HEAVY_BLOCKS * device.sm_count
    if heavy:
        return FlatCut(threads, items, 2 if many else 1)
    narrow = shape.vector * shape.output_itemsize < 16
    part = MOSTLY_Y_LIGHT if function in LIGHT else MOSTLY_Y
    most = shape.output_bytes > part * shape.bytes or shape.output_bytes <= tuned("TWO_VECTORS", TWO_VECTORS)
    enough = blocks >= 4 * device.sm_count
    short = function in SHORT_HEAVY and shape.output_itemsize <= 2
    return FlatCut(threads, items, 2 if enough and (narrow or most or (short and many)) else 1)


def row_cut(shape: Merged, cut: FlatCut, lies: Sequence[str], near: bool) -> FlatCut:
    """Return the cut where vectors of 16 would go over the ends of y's rows. lies: of the operands.

    They come element by element, or apart from those inside a row, for which their warp waits. Beside a row, two
    vectors of 4 bytes and one of 16: rows of 3 bytes 16.9 and 19.0 us, 29 18.3 and 18.0, 125 18.2 and 17.9, 801 18.0
    and 19.1, 1638 17.4 and 18.1. A distance apart: 300 x 20000 x 7 bytes 47.5 and 50.3, by four of 4 45.0, x 20 97.6,
    102.1 and 91.3, 400000 x 20 12.6, 13.0 and 13.3 (`BYTE_RUN`). Beside a column alone 16 are better, 801 bytes 15.6
    and 14.1, 29 16.6 and 13.8, as are full vectors of other types: 29 bfloat16 beside a row 12.2 us, by 4 12.7;
    200 x 44210 x 12 int16 a distance apart 122 and 129.
    """
    row = shape.dims[0].size
    moved = [
        operand
        for operand, lie in zip(shape.inputs, lies, strict=True)
        if lie == "row_off_grid" and not is_small(shape, operand)
    ]
    if moved and row * shape.output_itemsize <= SHORT_ROW_BYTES and cut.items == shape.vector:
        return short_cut(shape, _items_of_rows(shape, moved))
    over = row % shape.vector != 0 and cut.items == shape.vector
    if over and "repeating" in lies and cut.tile < REPEATED * row:
        return cut._replace(threads=SMALL_THREADS, vectors=2)
    if over and shape.vector == 16 and "apart" in lies and row > BYTE_RUN and not near:
        return FlatCut(SMALL_THREADS, 2, 8)
    short = "row_off_grid" in lies and row < LONG_BYTES
    if over and shape.vector == 16 and ("apart" in lies or short):
        return cut._replace(items=BYTES_OVER_ROWS, vectors=VECTORS_OVER_ROWS)
    return cut


def short_cut(shape: Merged, items: int) -> FlatCut:
    """Return vectors of so few elements, of which a thread takes 16 bytes, eight at most."""
    return FlatCut(SMALL_THREADS, items, max(1, min(8, 16 // (items * shape.output_itemsize))))


def _items_of_rows(shape: Merged, moved: Sequence[Input]) -> int:
    """Return the most elements of vectors on which all rows of y and of these operands begin and end."""
    lengths = [operand.step(dim) for operand in moved for dim in shape.dims[1:]] + [operand.offset for operand in moved]
    return math.gcd(shape.vector, shape.dims[0].size, *lengths)


def passes(rows: int, lanes: int, blocks: int, device: DeviceInfo) -> int:
    """Return the rows of a thread: fewer where there are few, or few blocks. blocks: of one such row a thread."""
    wanted = min(PASSES, power_of_two(ceil_div(rows, THREADS // lanes)))
    while wanted > 1 and blocks / wanted < 2 * device.sm_count:
        wanted //= 2
    return wanted


def is_small(shape: Merged, one: Input) -> bool:
    """Say whether an operand may be read in any order."""
    size = one.extent * dtypes.dtype(one.dtype).itemsize
    return size <= SMALL_BYTES and size * SMALL_SHARE <= shape.bytes


def are_bytes_ragged(shape: Merged, one: Input, across: int) -> bool:
    """Say whether an operand is of bytes, and neither y's rows nor its lines along this dim are whole vectors."""
    return dtypes.dtype(one.dtype).itemsize == 1 and all(shape.dims[dim].size % 16 for dim in (0, across))
