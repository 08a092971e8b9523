"""The tuned numbers of walks, apart from what they do as those of tuning.py. Times of one H200, cold, in us."""

from __future__ import annotations

from typing import NamedTuple

WALK_ROWS = (4, 8, 16, 32)
"""Rows of `walked_lines` on their way at a time: the first that holds a column, 8 at most, 16 where x comes by single
elements or threads are few, then even 32 of up to WALK_BYTES. 118 x 148 x 4 permuted float64 9.2 us with 32 (11.8 with
16), 117 x 9 x 4 x 57 uint8 8.8 (10.6), 31 x 256 x 18 x 33 complex128 89 (80)."""

WALK_BYTES, WALK_WORD = 8, 4
"""Bytes of a thread's vector of x of which 32 are under way; twice those would spill. Of at most a word 16, as of
single elements: 65536 x 42 x 10 bfloat16 by pairs 88 us with 8, by single elements with 16 73."""

MANY_WALKS = 16384
MANY_COLUMN = 512
MANY_SINGLE_COLUMN = 1024
"""Threads from which longer columns are walked, too, and single ones of up to 2 bytes, or of float32, even longer ones:
4 x 700 x 8193 float32 87 us (strips 104), 8 x 526 x 21971 391 (439), but int32 30 x 600 x 1501 176 (166); 40 x 700 x
999 bfloat16 52 us (strips 62), 1024 x 16385 int16 58.5 (68.3), but 30 x 900 x 1501 int32 213 (194); 3862 x 142 x 14
float16 22.8 us (strips 36.4), 64 x 4 x 104 x 138 int8 16.5 (21.9), 256 x 64 x 8 x 150 float32 44.9 (50.9), 5 x 289 x
34944 float32 112 (123)."""

ONE_TURN, FEW_TURNS, LITTLE_COLUMNS = 16, 64, 2**20
"""Columns of more rows than the first and up to the second, of SHORT_COLUMN_WIDTH and more side by side, and of so
many elements of x in all, go by strips and not by walks of several turns: every variant of 400 random cases on an
H100, 46 x 16384 int64 8.3 us (9.2 walked), 21 x 31616 float32 6.3 (6.8), 32 x 512 uint8 4.8 (5.2), eight such cases
1.04 times as fast, none slower; of up to 16 rows 1.0 to 1.5 times as slow, and of more elements 0.92 to 1.05: 47 x
2002 float32, 16 of them, 9.8 (9.1)."""

WALK_FEW = 512
"""Threads an SM that are few."""

WALK_THREADS = (256, 128, 64)
"""Threads of its blocks: the first of which there are WALK_BLOCKS an SM, else the last."""

WALK_BLOCKS = 2

WALK_RUN = 128
"""Bytes of y side by side in a tile of lines that are no neighbours in x. 3 x 65536 x 54 permuted int16: 41.9 us, 58.4
with 64, 56.1 with 256; without tiles 54.5."""

FAR_ITEMS = 4
FAR_BYTES = 16
"""Lines of a thread, and their bytes, at most, where neighbours in x are none in y: one line each is bound by the lines
of the L1 cache that a warp touches. 64 x 8 x 640 x 384 permuted float32 279 us (one line each 522), 8 x 16 x 256 x 256
bfloat16 17.3 (34; eight 19.4), 2000 x 3 x 1000 float64 32.4 (34.9), 1456 x 2 x 921 float32 13.6 (18.0)."""

EMPTY_BYTES, EMPTY_MUCH, EMPTY_NARROW = 8, 1 << 23, 4
"""Bytes of an element, at most, for which tiles are worth it though they leave most of a block without a line, and
bytes of x from which they are, or lines side by side in y: on an H100 9 cases 1.04 to 3.1 times as fast, 64 x 10 x 414
x 16 permuted int64 33.4 us (69.5), 16 x 22936 x 9 x 2 59.5 (187), 20 x 6 x 546 x 12 bfloat16 6.4 (10.5); but 4 x 16384
x 2 x 2 complex128 20.5 (7.3), where a run is less than a sector 2 x 8192 x 24 x 4 int64 27.4 (17.5), where others share
sectors 2 x 524288 x 4 x 4 float32 328 (77), and of little two side by side 96 x 2 x 2290 x 2 bfloat16 11.7 (8.1)."""

STAGED_LEAST, STAGED_BYTES, STAGED_LINE = 1 << 21, 48 << 10, 56
"""Elements from which tiles of lines that are contiguous in y go there through shared memory, its bytes at most, and
those of a line of y up to which that is ahead of a lane a line: 14 x 8 x 63803 x 6 permuted int32 151 us (stored in
pieces 353), 22 x 6940 x 32 x 6 98 (a lane a line 286), 152 x 250 x 16 x 6 float64 22 (36); but 8 x 30489 x 6 bfloat16
8.2 (7.6), 232 x 6548 x 10 int64, lines of 80 bytes, 148 (102)."""

FAR_LEAST = 16384
"""Threads that are left then, at least: 18 x 244 x 8 x 128 float64 35.7 us by one line each, 38.2 by two; 32 x 24 x 64
x 28 float64 13.3 by two, 16.6 by one."""

WALK_SHARED = 1 << 18
"""Elements up to which threads share a line that a walk would take several turns for; half of that where neither x nor
y lies along it, for each element apart is a sector. 512 x 2 x 32 x 2 permuted int64 6.3 us (walked 9.1), 118 x 148 x 4
float64 7.5 (9.1), 1519 x 64 float32 8.5 (copied first 11.8), 64 x 3 x 333 x 4 8.3 (11.2), 8 x 4 x 5 x 1246 int32 8.7
(ring 18.8); 512 x 16 x 32 float32 11.0 (10.2 copied first), 7000 x 60 15.1 (13.1). Twice as many of up to WALKS lines
of LONG_WALK elements and more: 15 cases 1.15 times as fast, 32 x 4736 x 2 int64 8.7 (copied first 12.5), 158 x 64 x 13
complex128 7.2 (9.5), 256 x 109 x 8 8.5 (walked 10.3), the worst 2 x 5152 x 32 float16 12.6 (11.6); not of columns, 1024
x 256 int64 9.3 (linked 7.0)."""

SHARED_LINE, SHARED_FEW = 32, 64
"""Elements of a line along x from which they do so though it is one turn, and lines an SM, at most: 171 x 32 x 3
permuted int64 4.4 us (5.3 by a thread each), 32 x 160 x 5 float64 4.8 (5.1), 4 x 3 x 80 x 32 4.7 (`transposed_lines`
6.8), 54 x 32 x 17 int8 4.35 both; of 16 elements 16 x 128 x 8 float32 4.75 (4.4)."""

SHARED_STRIPS, SHARED_COLUMN = 1 << 17, 1024
"""Elements up to which they do so though strips are enough for half of the SMs; the longest columns they share before
blocks do: 1635 x 64 transposed int16 4.6 us (8.1 by tiles), 34 x 2 x 4 x 447 float16 4.6 (7.9), 996 x 64 int64 4.7
(ring 5.8); 1024 x 16 int16 5.2 (6.2), 1024 x 8 x 4 int32 5.9 (6.4), but 4257 x 4 float32 8.3 (6.4)."""

SHARED_COPIED = 6144
"""Elements of a line along x from which it is copied first in place of a block's: on an H100 16384 x 2 transposed
float32 8.2 us (14.9), x 8 10.6 (24.2), 8192 x 8 int32 9.4 (14.3), 15413 x 3 bfloat16 11.1 (16.1), 6853 x 8 complex64
9.4 (13.8); but 18 x 5888 x 4 int16 13.5 (12.1), 2757 x 4 x 3 float32 9.2 (8.0), 4238 x 7 float64 10.5 (9.0), and of
three lines 8192 x 3 float64 12.5 (11.3), int8 12.2 (10.4)."""

WALKS = 16384
LONG_WALK = 96
"""Up to WALKS lines of 4 bytes an element, of more bytes as many fewer, of LONG_WALK elements and more, that no other
variant takes are copied first, in place of a thread each: 93 x 1699 x 2 permuted int8 21.3 us (72.1), 4719 x 96 x 2
float16 9.5 (15.5), 512 x 16 x 32 float32 12.1 (32.8), 25220 x 8 x 32 complex128 163 (1400), 256 x 1064 x 64 int16 77
(97); but 64 x 78 x 5 x 8 float16 8.3 (6.1)."""


class Torn(NamedTuple):
    """From how many elements of x, and of a line, tiles had better not store sums in pieces; the lines side by side in
    y, at most.
    """

    elements: int
    line: int
    most: int


TORN = {
    ("integer", 1): Torn(1 << 22, 16, 512),
    ("integer", 2): Torn(3 << 21, 32, 8192),
    ("integer", 4): Torn(1 << 24, 256, 8192),
    ("float", 4): Torn(1 << 24, 640, 512),
}
TORN_BESIDE = 32
"""By the kind and the bytes of an element: which are copied first as their sums would be stored in pieces that cut
sectors, of TORN_BESIDE lines and more side by side. On an H100 34 of 167 random cases, 256 x 2048 x 58 int8 planes
turned 135 us (265), 512 x 32 x 8 x 151 uint8 106 (196), 131 x 270 x 3 x 50 int8 31.7 (41.5), 5 x 587 x 24 x 209 int16
83.5 (132), 35 x 334 x 727 x 2 98.8 (113), 2 x 1536 x 168 x 253 int32 1049 (1613), 512 x 4 x 46 x 247 180 (247), 1536 x
168 x 253 float32 428 (614), 4096 x 129 x 157 725 (1195); but 7 x 32 x 509 x 66 uint8 39.9 (42.3), 10 x 32768 x 63 int16
110 (89), 40 rows of 222 20.6 (14.6), 128 x 4 x 512 x 51 int32 103 (79.5), 203 x 6 x 6126 60.8 (44.9), 480 x 128 x 8 x
105 float32 325 (320)."""

TORN_LEAST, TORN_BLOCK, TORN_WIDTH = 1 << 25, 1 << 22, 64
"""Elements of 1 byte from which those are copied first whose sums a walk would store in pieces that cut sectors, where
so many lie side by side, and the same where a few that do are one block of y: 641 x 129 x 357 uint8 164 us (walked
213), 2048 x 4 x 7 x 734 int8 136 (215), 345 x 8 x 11 x 1573 198 (294), 8 x 128 x 71610 uint8 220 (368), 289517 x 32
x 2 int8 75 (183), 286 x 1707 x 9 x 2 43 (144); but 8 x 16 x 22136 x 30 380 (228), 1024 x 25099 x 3 401 (300), 24 x
14 x 5331 x 14 uint8 91 (74), 12 x 4 x 103181 x 2 44 (28), and whole sectors 137 x 19 x 708 x 36 226 (172)."""

APART_LEAST = 1 << 20
"""Elements from which odd rows in another order are copied first where lanes cannot count their dims, or hold less than
half a vector of a row: 10 x 213 x 512 x 17 permuted int8 71 us (walked 148), 131072 x 16 x 3 float16 22 (lanes 52), 2 x
8 x 1072808 x 3 132 (423); but 7968 x 1024 x 3 int16 153 (156), 9840 x 115 x 6 uint8 34 (28)."""

SHORT_ROW, SHORT_ROWS, SHORT_FEW = 24, 1 << 19, 5
"""Bytes of y of a row that cuts vectors up to which a thread walks it, and elements of all, of longer ones than
SHORT_FEW elements a quarter: 174763 x 3 bfloat16 4.8 us (5.5 by lanes), 161368 x 2 4.5 (6.0), 14567 x 9 4.3 (4.6),
104857 x 5 float32 5.4 (5.5); but 349527 x 3 float32 7.2 (6.8), 18729 x 7 4.4 both, 74903 x 7 6.9 (5.7), 69906 x 15
19 (6.8)."""

SHORT_TURN, SHORT_BYTES = 8, 32 << 20
"""Rows of a line that is one turn, and bytes of x and y, either up to which `short_lines` has it: 4 x 3 x 683 x 2
bfloat16 3.84 us (3.98 by `walked_lines`), 7 x 1392400 float16 14.0 (15.1), but 16 x 2202550 int32 131 (125), 40000 x 16
x 45 float32 79 (73)."""

HALF_ROW, HALF_WALKED = 128, 1 << 18
"""Elements of rows of 16-bit floats across x, of whole vectors or less than two, and of all, up to which they are
walked, by threads or lanes, in place of `lanes_rows`: on an H100 33 cases 1.05 to 1.16, 1879 x 64 turned float16 4.6 us
(5.1), 16 x 128 x 16 4.1 (4.8), 7681 x 8 bfloat16 4.3 (4.9), 19507 x 10 4.5 (5.1); but 4822 x 64 5.7 (5.4), 1879 x 65
4.8 (4.7), 529 x 8 x 21 5.4 (4.7)."""

HALF_BLOCK, HALF_BLOCKS = 96, 1 << 16
"""Elements of longer rows of them from which a block has a row, up to so many elements of all: on an H100 48 x 171
turned float16 4.5 us (5.1 by lanes), 89 x 386 bfloat16 4.7 (5.3), 256 x 256 4.9 (5.8); 423 x 183 5.1 both."""

HALF_TILED, HALF_TILED_LEAST, HALF_TILED_LINE = 1 << 16, 1 << 20, 48
"""Lines of 16-bit floats up to which x is copied first where a walk would go by tiles, a few bytes a thread: of so
many elements of x, and of a line, and more. On an H100 320 x 438 x 64 float16, planes turned, summed across, 29.0 us
(74.0), 160 rows 19.8 (38.6), 128 x 128 x 221 15.8 (35.4), 56 x 984 x 64 bfloat16 15.2 (18.0); but 86 x 142 x 1001
47.3 (45.9), 952 x 67 x 16 9.9 (8.9), float32 320 x 438 x 64 55.6 (49.5), int16 505 x
313 x 64 58.4 (48.9), though 1056 x 256 x 21 33.7 (62.2)."""

SHORT_PARTS = 1 << 21
"""Elements up to which rows of half a vector are walked: on an H100 300000 x 4 float16 6.2 us (flat 6.8); 256 x 128 x
56 x 2 float32 14.9 (14.4)."""
