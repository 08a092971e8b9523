"""The tuned numbers of transposed operands, apart from what they do as those of tuning.py. Times of one H200, in us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransposedShape:
    """Of a strip `lines`, of a block `warps`; a lane has `vectors` of 16 bytes of each line in a tile."""

    lines: int
    warps: int
    vectors: int


SHAPES: tuple[TransposedShape, ...] = (TransposedShape(32, 32, 2), TransposedShape(32, 16, 1))
"""Largest first; 32 and 16 KB of float32 under way a block, one and two blocks an SM. 4096 x 4096 float32, x along the
lines: 40.4 us; 44.3 by (32, 16, 2), 48.0 by (32, 32, 1). Across them 41.1; 48.4, 48.5."""

HALF_SHAPES: tuple[TransposedShape, ...] = (TransposedShape(32, 32, 2), TransposedShape(32, 16, 1))
"""For 16-bit floats along the lines, of which a vector takes 8 registers. 4096 x 4096 bfloat16: 25.2 us; 38.1 by (32,
16, 2), 29.2 by (32, 32, 1). 65536 lines of 1024: 93.9 us by the small one; 96.1, 105.8 by (32, 32, 1)."""

NARROW_SHAPES: tuple[TransposedShape, ...] = (
    TransposedShape(32, 32, 4),  # 4096 x 4096 int16: 49.2 us, 51.0
    TransposedShape(32, 32, 2),
    TransposedShape(32, 16, 1),
)
"""For integers of 1 and 2 bytes along the lines: a vector of 16 bytes of y is few bytes of x."""

WORDS_SHAPES: dict[int, tuple[TransposedShape, ...]] = {
    1: (TransposedShape(32, 32, 2), TransposedShape(32, 16, 1)),  # 4096 x 4096 int8: 45.6 us; 47.9 by (32, 32, 1)
    2: (
        TransposedShape(32, 16, 2),
        TransposedShape(32, 16, 1),
    ),  # bfloat16: 24.6 us; 25.1 by (32, 32, 2); int16 50.9, 51.3
}
"""For 16-bit floats and integers of 1 and 2 bytes across the lines, by their bytes; `vectors` are of x. 65536 lines of
1024, by the small shapes: bfloat16 81.6 us (91.9 by the large one), int8 172 (189), int16 198 (193)."""

STRIPS = 4
"""Strips an SM from which several small blocks an SM keep as much under way as one large one. Not measured yet."""

CHUNK_TILES = 1
"""Tiles of a chunk, at least, where the lines of few strips are cut. 20 x 20000 float32 15.0 us, 16.3 with 2, 20.1 with
4."""

CHUNKED_LENGTH = 4096
"""Elements of a line from which the lines of few strips are cut, in place of the ring: 31464 x 6 int64 17.2 us, 149.5
by the ring; 578981 x 128 int64 795, tiles 11880; 485 x 78608 int16 233, 656; 512 x 8192 float32 21.9, ring 27.4."""

CHUNKED_ACROSS = 16
"""Lines side by side from which they are cut rather than copied first, 16-bit floats only where they lie along x: 25 x
2097152 complex64 across x 370 us (copied 844), 17 x 1000000 int32 127 (168), 21 x 3836678 uint8 371 (509), 400000 x 20
float32 along x 42.6 (50.2); but 2524941 x 12 int64 664 (266), 16 x 1000000 bfloat16 across it 107 (39), 68 x 338392
116 (65), 300000 x 14 along it 31.6 (26.1), 300000 x 25 float16 32.8 (36.1): from half as many again on. So are
integers of 1 and 2 bytes: 49 x 1287435 int16 across 431 us (264), 54464 x 16 int8 along 17.3 (14.9), 802240 x 152 463
(608)."""

CUT_CHUNKS = 1 << 26
"""Bytes of x and y from which x is copied first though strips are full, where lines along x are no whole units; where a
strip is at most three quarters full, whatever they are. Tiles over copied: float32 lines along x, 16 of them 1.2 to
1.9, 24 1.0 to 1.4, 40 1.2 to 1.5, 32 and 64 0.9 at 17 MB, 1.0 at 50, 1.15 to 1.2 from 200 on; bfloat16 the same, 48
1.25 to 1.86; but whole units 20 0.9, 80 0.8. Lines of 4 bytes across x, if y's are no whole units: 16, 32 and more of
them 1.0 to 1.4, 20 to 28 of them 0.6 to 1.2; complex64 0.8 to 1.1."""

CUT_VECTORS = 4
"""Vectors of y that a row across x may touch, where it cuts them, for lanes to be worth more than a turn, whatever its
size; all that lanes hold of narrow integers. 2097152 x 6 float32 49 us (lines 80), 1000000 x 15 64.2 (64.7), 100000 x
255 uint8 99.7 (151), 920199 x 65 int16 249 (309); but 400000 x 33 bfloat16 55.6 (48.9), 200000 x 63 float32 68 (47)."""

COPIED_MOST = 1 << 19
"""Elements up to which lines along x are copied first, where strips are few and a walk is worse: 4906 x 64 int16 12.4
us, tiles 22.8; 5000 x 64 bfloat16 13.8, ring 15.6; 7000 x 60 float32 13.1, tiles 15.3."""

STRAIGHT_ELEMENTS = 6 << 20
"""Elements up to which lines across x are walked as rows, times the share of a line of the cache that a lane's vector
spans: 99 x 884 int16 6.6 us (tiles 15.6), 8 x 2279 6.6 (19.7), 2609 x 4 x 143 float16 10.5 (lines 20.9), 256 x 379 x 2
x 55 int32 43.3 (66.9); 527558 x 32 int64 82.7 (75.4)."""

STRAIGHT, STRAIGHT_PAIRS, STRAIGHT_WIDE = 64, 1 << 21, 1 << 20
"""... but where strips are enough for the device, only shorter ones: 4055 x 25 complex64 6.4 us (tiles 7.8), 15 x 128
of 243 float32 8.7 (ring 7.7); or so few elements of 2 bytes, in rows that lanes hold, of long whole ones of floats
half as many: 10 x 683 x 256 int16 9.6 (tiles 14.4), 1024 x 501 bfloat16 6.9 (ring 8.8); but 16 x 512 x 256 13.5
(8.6), 4096 x 384 float16 11.5 (7.4). Of 8 bytes and more in whole vectors, a line of the cache a row and more, so
many at most in any case: 8 x 188 x 128 x 32 float64 42.8 (30.0 by a lane a line), 310 x 1024 x 16 complex128 57
(45)."""

STRAIGHT_LITTLE = 1 << 19
"""Elements up to which lines across x are rows a step apart, wherever neighbouring rows lie, in place of tiles, the
ring or a lane a line, if fewer; of one byte in rows that lanes hold, neighbours in x, four times as many. On an H100 40
cases 0.49 to 0.97 of the time, three 1.04 to 1.10: 4308 x 128 turned uint8 6.0 us (12.3), 141 x 9 x 256 int64 7.2
(13.1), 38 x 168 x 30 float32 6.1 (9.2), 33 x 17 x 827 bfloat16 8.3 (16.9), 8727 x 128 int8 9.0 (12.1), 66 x 234 x 32
complex64 9.2 (8.4); of more 32 x 24 x 7 x 128 float32 10.0 (8.0), 256 x 145 x 16 9.0 (6.4)."""

STRAIGHT_WALK = 12
"""Elements of a line from which, up to SHORT_LINE, they are so in place of a walk, too, of 4 bytes and more: on an
H100 6 x 1024 x 31 int64 6.3 us (9.0), 26 x 203 x 64 6.5 (7.9), 40 x 71 x 23 float32 5.0 (5.8), 14 others 0.93 to
1.05."""

NARROW_STRIPS = 8
"""Strips an SM of fewer than ACROSS lines along x up to which x is copied first: 128 times 5 lines of 31872 int32 125
us, 265 by the ring, 871 by a lane a line; 512 x 7552 x 4 float64 151 (352); but 8192 x 984 x 4 265 (152). More, too,
where a row of y is less than a sector: 8192 x 1024 x 2 float16 41.6 (137), 6 x 2499 x 761 x 2 float32 96 (192). So are
lines of few strips, if they are fewer than a strip holds, or lie across x: 2805607 x 2 complex128 117 us (chunks 857),
2213616 x 9 int64 195 (323), 68 x 338392 bfloat16 65 (116); not 110816 x 128 float16 43 (36)."""

RING_BYTES = (192 << 10, 96 << 10, 64 << 10)
"""Shared memory of a block of `transposed_ring`, largest first, down to what the smallest GPUs have. 4096 x 4096, x
along the lines and across them: float32 39.3 and 39.2 us (tiles 40.3, 40.8; 96 KB 40.1, 40.3), bfloat16 22.7, 23.1
(25.2, 25.1), int32 57.7, 59.4 (64.2, 63.0), float64 74.8, 73.2 (73.7, 74.4). 65536 lines of 1024 float32 across 140.9
(146.2; two blocks an SM with 96 KB each 142.3)."""

RING_SLOT = 16 << 10
"""Bytes of a slot of the ring, unless one step fills more: 512 bytes of a line. 32 KB: 39.7 us for 39.3."""

RING_LINES = (32, 16, 8)
"""Lines of a strip: the most of which there is a strip for nearly every SM (FULL_SHARE). 2048 x 2048 float32, 64 strips
of 32: 16.1 us, 128 of 16 13.3, 256 of 8 16.2; 1024 x 1024, 128 of 8: 7.9 (9.7 by 32); 4096 x 2048, 128 of 16: 22.8
(25.8, tiles 30.0); 1000 lines of 70001 across: 576, 242, 207 (tiles 648)."""

ACROSS = 8
"""Lines side by side from which turning tiles is worth it: 32 bytes of float32, a sector; of 16-bit floats along x
twice as many, for rows of y that are less are written in parts (NARROW_STRIPS). Neither edge was timed: 2980 x 1152 x
8 bfloat16, reversed, took 149 us on an H100 by a lane a line (Inductor 72), a copy's bytes and columns' make 73."""

LENGTH = 512
"""Elements of a line from which tiles are worth turning where strips are many; shorter ones go to `transposed_lines`: a
block with one tile waits for memory once and has nothing else to do. float32, x along and across the lines: 32768 lines
of 256 22.7 and 23.4 us, 24.7 and 24.4 by tiles; 65536 of 512 83.2 and 75.3, by tiles 79.6 and 77.3."""

RING_LENGTH = 257
"""The same for lines of 2, 4 and 8 bytes across x, where there is a ring: on an H100 32 x 530 x 327 int16 27.8 us by
tiles (41.2 by lines), 10582 x 296 20.0 (24.5); 178 x 36 x 324 int32 18.1 us (26.0 by lines), 131072 x 401 float64 235
(321), 32 x 2 x 1024 x 286 86 (114), 131072 x 288 int64 170 (167)."""

HALF_LENGTH: dict[bool, int] = {True: 8192, False: 1024}
"""The same for 16-bit floats, by whether x lies along the lines. 65536 lines of 4096 bfloat16 along them: 310 us, 326
by tiles (longer ones were not measured); of 512 across them 45.1, 46.5, of 1024 85.8, 81.6."""

LINE_STRIPS = 2
"""Strips an SM from which `transposed_lines` has warps enough. Lines of 64 float32, x along them: two strips 6.4 us,
8.3 by tiles; one 6.0, 5.7."""

LINE_LEAST: dict[bool, int] = {True: 12, False: 4}
"""Elements from which a line is worth it, by whether x lies along the lines: shorter ones there are left to `naive`,
whose lanes then share the sectors that they touch. float32 along the lines: of 8 26.0 us (naive 22.7), of 12 26.9
(29.0), bfloat16 16.1 (14.5), 17.6 (18.1); across them of 8 37.9 (82.8), below not measured."""

LINE_UNITS = 32
"""Units of 16 bytes of a line that `transposed_lines` brings at once, at most; longer lines come in halves of that.
A warp then takes 17 KB, and an SM holds 13; with lines of 64 float32 8.7 KB, and 24. float32, x along the lines: of 128
23.8 us (22.5 by 16), of 256 22.7 (24.6); across them 21.7 (22.4), 23.4 (23.7)."""

LINE_WARPS = 2
"""Warps of a block of `transposed_lines`, which share nothing: a block leaves its place when the last is done, and an
SM holds at most 32 blocks. One, four or eight: no difference (bfloat16 19.1 us for 18.2 with one)."""

SHORT_LINE = 64
"""Elements of a line up to which lines of few strips are walked: 31 random cases 1.49 times as fast, 52 x 8192 float16
5.2 us (tiles 10.3), 34 x 7159 5.3 (11.6), 4983 x 64 int8 across x 6.0 (14.7); longer ones 19 x 64 x 370 int32 6.9
(ring 7.5)."""

COPIED_ACROSS = 16
"""Lines side by side across x up to which many of elements of 1 or 2 bytes, of LONG_WALK and more that cut vectors of
y, are copied first: 16 x 3741 x 475 uint8 100 us (140 by a lane a line), 8 x 8 x 97 x 219 bfloat16 11.3 (22.7); whole
vectors 8 x 22 x 341 x 512 bfloat16 68 (45)."""

FEW_LENGTH = 32
"""Elements from which `transposed_lines` takes lines of which fewer than ACROSS lie side by side, across them: 9728
pairs of lines of 71 complex64 20.0 us, a thread each 45.3."""

RUN_BYTES = 32
RUN_LEAST: dict[bool, int] = {True: 8, False: 16}
"""Bytes of transposed lines, of x where x lies along them, else of y, up to which a thread takes a line in place of
`transposed_lines`, of sums of 8 bytes twice as many; and of its loads or stores, at least. 11864690 x 4 float32 96 us
(lines 266), 32820 x 16 x 3 x 8 permuted uint8 39 (67), 256 x 17137 x 8 float32 75 (114), 12 x 39944 int16 5.3 (6.2);
7888756 x 8 int8 190 (217), but 2168009 x 32 float16 103 (91)."""

NARROW_WALKED = 96
"""Bytes of y of lines of narrow integers across x, whole sectors, up to which many are walked: on an H100 8811114 x 12
turned int8 336 us (a lane a line 393), 60000 x 32 x 2 x 8 permuted 99 (118), 17903 x 16 x 4 x 4 permuted int8 18.9 us
(a lane a line 37.0), int16 20.2 (37.4), 5000 x 16 x 4 x 4 8.2 (13.1)."""

NARROW_LINE, NARROW_ODD = 24, 1 << 19
"""Elements of longer ones from which those that cut units of y are copied first, and of x, from which it is worth two
launches: on an H100 2000 x 8 x 8 x 79 permuted uint8 44.0 us (76.8), 304 x 8 x 8 x 79 12.8 (16.2), 11 x 270 x 31 x 31
17.6 (27.2), 1000 x 4 x 4 x 33 10.2 (12.6)."""

NARROW_TORN = 1 << 21
"""Elements of x from which shorter ones are, too, that cut sectors of y: on an H100 9000 x 64 x 3 x 6 permuted uint8
49.7 us (223), 442 x 32 x 27 x 10 int16 22.7 (28.2), 128 x 192 x 6 x 15 16.1 (24.3); but 16 x 40 x 128 x 22 int8 13.2
(11.5), 192 x 64 x 3 x 7 8.4 (6.9)."""

NARROW_ACROSS, COPIED_LEAST = 32, 1 << 20
"""Lines side by side up to which longer ones of whole units are, of LONG_WALK and more, from so many elements on: on an
H100 592 x 18 x 144 permuted int8 12.6 us (14.9), 8832 x 4 x 10 x 154 int16 277 (340), though 96 x 100 x 256 int8 is
15.2 (20.1), too; 1024 x 33 x 128 uint8 23.9 (19.1), 120 x 17 x 4 x 128 12.8 (12.5). So are those that would leave half
of each tile empty, which was not timed: 8 x 2048 x 637 uint8, eight side by side, took 101 us by tiles (Inductor 51),
and what a copy moves is a fifth of all."""

CUT_STRIPS, CUT_ACROSS = 1024, 128
"""Elements of lines along x, no whole units of up to 4 bytes an element, from which x is copied first where strips are
no more than half of the SMs; how many lines side by side may be no whole vectors. On an H100 26 cases 1.14 times as
fast, 6 x 1338 x 113 bfloat16 12.8 us (21.2), int16 15.5 (22.7), float32 15.3 (17.7), 1364 x 1024 turned int16 14.0
(19.0), 4 x 16 x 2169 x 16 int8 15.8 (24.7), the worst 4 x 6486 x 256 float16 35.7 (30.8); but 24 x 1338 x 113 27.1
(18.7), 12 x 666 x 113 int16 13.7 (12.2 by lines shared), 1470 x 1095 int32 22.4 (20.5), 7194 x 781 float32 45.8
(42.9)."""

HALF_COPIED, HALF_CUT, HALF_MOST = 1024, 200, 5 << 20
"""Elements of lines of 16-bit floats across x, no whole units of y, from which x is copied first, from COPIED_LEAST
elements on; of shorter ones where tiles would turn them, or up to HALF_MOST a lane each; up to these lines are whole
units, too, if x's rows are none. On an H100 22 cases 0.42 to 0.84 of the time: 254 x 6 x 3649 permuted bfloat16 22.3 us
(tiles 53.6), 3200 x 4 x 1762 76.0 (ring 128), 976 x 32 x 1470 133 (275, lines 115), 20 x 512 x 235 float16 16.0 (a lane
a line 24.4), 128 x 16 x 2539 19.6 (a block a row 46.7), 1404 x 1840 14.4 (tiles 19.8); of more 11950 x 2 x 1968 139
(89), lines 4096 x 10 x 943 130 (93)."""
