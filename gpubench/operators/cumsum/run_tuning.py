"""The tuned numbers of lines that go to y in runs, apart from what they do as those of tuning.py; times cold, in us."""

from __future__ import annotations

RUN_LEAST, RUN_CROSSED_LEAST = 1 << 19, 1 << 18
"""Elements from which blocks take runs of y: less is a launch's latency, to which two barriers and a trip through
shared memory would be added. 4681 x 16 x 7 float32 6.3 us (walked 6.5), but 845 x 31 x 5 float16 5.2 (4.9), 1365 x 16 x
6 turned 5.7 (4.6); across x 34952 x 15 float16 5.3 us (by lanes 6.7), 8 x 2184 x 15 float32 5.2 (5.8), 23831 x 11 int8
4.9 (5.0), but 2080 x 63 float32 5.3 (5.0), 8 x 528 x 31 int16 5.6 (5.1)."""

RUN_HALVES, RUN_HALF_SHARES = 1 << 20, 8
"""Elements from which rows of y of 16 bytes, or an odd number of times these, go in runs too, and shares of a line at
most: a walk, or strips, would store half of a sector at once. On an H100 24 random cases 1.41 times as fast, 156149 x
25 x 8 float16 49.9 us (169), 262144 x 65 x 4 float32 193 (860), 128 x 384 x 179 x 10 uint8 282 (569), 24864 x 16 x 8
bfloat16 10.4 (14.1), 1389 x 256 x 8 float16 9.9 (11.7); but 2000 x 200 x 24 21.3 (19.8), of 16 shares 512 x 512 x 4
float32 9.3 (8.0), of less 4 x 128 x 109 x 10 uint8 6.6 (5.4), 21 x 4 x 320 x 24 bfloat16 6.6 (6.1)."""

RUN_SIDE, RUN_SIDE_ITEMS = 128, 64
"""Bytes of a row of y, at most, of the lines beside each other: a warp that walks wider ones writes mostly whole
sectors. Twice as many of up to so many elements where they are beside each other in x, too: 20000 x 50 x 37 float32 105
us (walked 154), 40000 x 16 x 45 85 (97), 30000 x 30 x 19 float64 98 (129); but 30000 x 20 x 99 float16 117 (106)."""

RUN_LINE = 32
"""Bytes of a line of y from which its group lands as a run: of shorter ones threads have too little under way."""

RUN_LINE_ITEMS = 10
"""... or of so many elements. On an H100 397125 x 11 x 3 x 2 float16 51.0 us (104), 8192 x 14 x 7 6.24 (7.69), 9592 x
11 x 5 bfloat16 5.76 (6.59); of 8 and 9 0.91 to 0.94."""

RUN_SHORT, RUN_SHORT_ITEMS = 1 << 21, 3
"""... or of so few, of 4 bytes and more, where elements in all are so many. On an H100 24982 x 3 x 3 x 10 float64 18.5
us (21.5), 200000 x 3 x 10 int64 39.6 (47.9), 300000 x 4 x 6 float32 30.2 (39.9), 400000 x 7 x 3 28.8 (56.6), 4 x 524288
x 4 x 3 88.6 (112); but 91392 x 4 x 2 x 2 10.0 (9.0), 32754 x 3 x 7 complex64 8.9 (8.3), 167 x 487 x 3 x 19 float64 33.3
(32.0), two elements 0.84 to 0.88."""

RUN_LENGTH = 8
"""Elements of a line that lies along x from which its group goes in a run: a thread loads shorter ones as a vector."""

RUN_SHARES, RUN_CROSSED_SHARES = 16, 8
"""Shares of a line, at most: each thread adds up the totals of all before its own. Of those across x so many of 4 bytes
are 256 elements: longer lines are the ring's."""

RUN_THREADS, RUN_MOST_THREADS = 128, 512
"""Threads of a block, as far as a group needs no more, and at most (`run_threads` in C++)."""

RUN_ROWS, RUN_ROW_BYTES = (8, 16, 32), 128
"""Elements of a thread, of at most so many bytes: the first that holds a line, or the last. 32 float32 are 16 KB of x a
block."""

RUN_CROSSED = 128
"""Bytes of a row across the lines, of the wider of x and y, that a block reads at once as far as threads are enough."""

RUN_BYTES = 48 << 10
"""Bytes of a block's run in shared memory, at most: four such blocks an SM."""

RUN_SPREAD_LEAST = 1 << 16
"""Elements from which a run of lines along x is spread over the rows of y: 165 x 399 complex64 5.28 us (5.47 walked).
Fewer were not timed."""

RUN_SPREAD_LITTLE, RUN_SPREAD_LINES = 1 << 18, 300
"""Elements below which these lines are wanted, and RUN_SPREAD_ITEMS of each whatever they are: 51 x 4096 int32 5.23 us
(7.07 by a walk), 414 x 590 6.40 (tiles 13.1), 698 x 121 int16 6.37 (5.25), 9 x 8192 int64 4.69 (4.32)."""

RUN_SPREAD_LINE, RUN_SPREAD_ITEMS = 64, 48
"""Bytes of a line at least, and elements of 1 or 2 bytes: 18 x 558266 float32 27.2 us (by transposed lines 31.6), 11 x
38730 5.38 (5.15), 54 x 2485513 uint8 446 (541), 46 of them 19.4 (18.3), 57 x 2164724 float16 168 (199 by a walk), 38 x
16762 6.14 (5.25), 18 x 1575808 55.5 (33.8)."""

RUN_SPREAD_NARROW, RUN_SPREAD_CUT = 1 << 21, 1 << 20
"""Elements from which narrow integers, whose sums are 8 bytes wide, gain nothing, and from which rows of y that cut
sectors must be half of RUN_SPREAD_ROW: 76 x 4240 uint8 5.18 us (tiles 10.2), 142 x 32768 int16 18.5 (17.1), 461 x 16384
26.8 (25.9), 2 x 558 x 5401 47.0 (36.1); 501 x 786 float32 6.46 (9.73)."""

RUN_SPREAD_LONG, RUN_SPREAD_VECTORS = 96, 1 << 20
"""Elements from which lines of whole vectors, but not of whole cache lines, are spread, too, and elements in all, at
most, of 4 bytes (these beside each other for a cache line; 13 x 60 x 112 x 16 float32 10.1 us, 9.4). On an H100 28 x
120 x 106 float32 6.28 us (7.90), 172 x 1525 5.74 (7.96), 392 x 1453 int64 9.49 (12.8), 4 x 366 x 16384 complex64 143
(168), 125 x 65536 complex128 102 (114), 35 such random cases 1.14 times as fast, 0.93 to 1.39; but 700 x 56204 int32
190 (180), 108 x 65536 float32 25.5 (23.2), 8 x 14 x 55904 int64 41.3 (38.2), 968 x 8192 bfloat16 25.6 (18.7)."""

RUN_SPREAD_SIDE = 64
"""Bytes of a row of y, of the lines that are neighbours in x, too, from which blocks write it though it cuts sectors:
4001 x 33 x 12 int32 9.34 us (9.82)."""

RUN_SPREAD_SHARES = 32
"""Shares of a line, at most, where lines are too long for RUN_SHARES: 991 x 4096 float32, 32 of them, 15.6 us (tiles
17.9), 457 x 8192 float64, 31, 22.5 (31.7)."""

RUN_SPREAD_ROW = 256
"""Bytes of a row of y that a block writes, two lines of the cache, unless RUN_THREADS are more. Others were not
timed."""

RUN_SPREAD_BLOCKS, RUN_SPREAD_THREADS = 2, 128
"""Blocks an SM for which a block has fewer lines, down to a sector of y, and threads an SM for which they hold less of
a line: few lines wait for memory once, and for what a thread does with its share. Others were not timed."""
