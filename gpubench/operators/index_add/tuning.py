"""Numbers of the fast index_adds that measurements chose. All on one H200 where nothing else stands."""

from __future__ import annotations

SMALL = ("int8", "uint8", "int16")
"""Dtypes of which words are added to, and carries taken back: a second addition for each that carries."""

SINGLE = ("int32", "int64", "float64")
"""Dtypes that atomics add one by one: neighbours by neighbouring lanes 1.3 to 1.9 times as fast as four by a lane
(100000 x 128, 100000 of int32 49 us, 87)."""

CUT = ("float16", "bfloat16")
"""Dtypes of which rows that stand anywhere go by vectors of the destination that their ends cut, not by elements: 52
random cases 1.46 times as fast; of float32 0.95, complex64 0.85, small integers 0.5 to 0.8."""

CUT_MUCH = 9 * 2**18
"""... even where a warp has eight rows only, from so many bytes on: 1669 x 267, 3733 of one place of float16 8.9 us
(13.7), 289 x 18421, 184 in order 11.3 (15.6), 58 random cases of fewer 0.5 to 1."""

ALONE_SINGLE = 1024
"""Single elements up to which lanes look for no others with their place: all of one place cost 2 us, looking 0.1."""

LOOKING_BLOCK = 2**15
"""... and from which a block keeps sums of places that come again, up to `SINGLE_LEAST`: 2^16 into 2^20 half on one
place 6.6 us (12.8 where warps look), by 1 / rank 8.8 (14.7), even 6.2 (5.9), 65536 into as many 5.0 (4.7)."""

COPIES_LEAST = 4096
"""Indices from which `private_copies` is taken where the places fit: 31243 uint8 into 14 8 us (20 ms by atomics)."""

PRIVATE_ROWS, PRIVATE_BYTES = (1024, 2**20), (512, 2**18)
PRIVATE_ROW_BYTES = 512
PRIVATE_WIDE = 128
PRIVATE_WIDE_ELEMENTS = 2**22
"""Repetitions, and their elements, from which a warp of `private_copies` takes each, the second of single bytes, if the
sums of its places take so many bytes at most: 768 x 11 x 8 x 6, 1798 indices of a dim of 8; on an H100 512 x 32, 1024
of uint8 even, half on one place and all 8.5 us (16.0, 12.5, 8.0), 512 6.5 (8.5, 7.3, 5.8), of int16 10.7 (9.9, 8.9,
7.2). Of fewer indices than 256, or ten a place, copies cost more, but not where
much of eight bytes comes to places that get three or more each: 32768 x 64, 202 in order of float64 58 us (85), 32768 x
20, 160 by 1 / rank of complex64 33 (53); 32768 x 64, 100 of float32 39 (22)."""

COPIES_PLACES = 2048
COPIES_DENSE = 128
COPIES_ITEMS = 1024
"""`block_copies` for up to so many elements of the destination that each take so many of the source: 2^20 float32 even,
by 1 / rank, half on one place and in order into 2000 18, 20, 25, 17 us (44, 32, 32, 13 by `cached`), float64 into 300
21, 24, 26, 15 (25, 31, 24, 13), 2^18 float32 into 2000 12, 14, 22, 15 (16, 18, 16, 11); complex64, which is not taken,
into 2000 30, 28, 28, 21 (27, 27, 24, 14). And from so many of a repetition on, which a block takes: 19485 times 206
indices of one place, turned, 102 us (13.6 by `combined`)."""

FEW_EACH, FEW_BLOCKS = 4096, 2
"""Elements of a block of `cached`, at least, and blocks an SM, at most, where places are so few, of what is not for
`block_copies`: every block's sums go to the same lines of the L2 cache. 2^20 float32 even, by 1 / rank, half on one
place and in order into 300 36, 40, 35, 12 us (59, 58, 56, 11 by 512 blocks), 2^18 17, 21, 16, 10 by 66 (35, 27, 27, 8
by 256)."""

LAST_DIM = 16384
"""Indices of the last dim from which a block takes a repetition: 256 x 30000 88 us (115 by atomics), 256 x 4096 22
(18)."""

LAST_DIM_WORDS, LAST_DIM_SMALL = 2048, 1536
"""... of integers, which shared memory adds by itself, and of `SMALL`, if each place takes eight: 586 x 64, 2635 int16
14 us (23). On an H100 512 x 32, 1768 of uint8 even, half on one place and all 10.8 us (29, 22.6, 11.6), int16 10.9
(16.4, 14.2, 10.0), int32 11.4 (11.0, 9.8, 8.4); 1024 of int16 10.8 (9.9, 8.9, 7.2). 32-bit integers before `gathered`,
too: 256 x 4119, 57624 of int32 60 to 65 us (79 to 90), 256 x 1024, 20000 26 (44); of float32 88 to 182 (79 to 89)."""

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
CACHED_LEAST_DENSE = 2**13
DENSE = 8
"""... through a block's table from so many elements on, or fewer where each element of the destination takes `DENSE`:
13120 x 2 float64 into 44 13 us (19 by atomics)."""

SINGLE_LEAST = 3 * 2**16
"""... single elements without gaps from so many on, of which `combined` has blocks that look: 2^17 into 2^14 even, by 1
/ rank, half on one place, in order 6.2, 6.9, 6.0, 5.4 us (6.8, 8.9, 7.9, 6.2 by the table), into 2^20 7.6, 12.4, 8.5,
6.4 (7.9, 9.4, 9.0, 7.2), 2^18 into 2^20 9.6, 18.5, 11.7, 7.2 (10.2, 11.5, 10.7, 8.4)."""

CACHED_MANY_FEW = 4
"""... or so many times as many elements, where indices are fewer: 10000 x 3, 100000 indices 8.6 us an element a thread,
half of them on one place 32 (12 and 18 by the table; torch 9.9 and 101)."""

TOTALS_LEAST = 2**18
TOTALS_WIDE, TOTALS_FEW = 3 * 2**17, 1 / 32
TOTALS_PLACES = 4
"""... small integers by way of 32-bit totals in the workspace from so many on, up to so many of the destination each:
2^20 of int8 27 us, half of them on one place 25 (25 and 55 by atomics); 175507 into 55636 of int16 11.3 (7.8). Single
ones of more places for each than `TOTALS_FEW` from the second number on: 2^18 of int16 into 2^20 14 to 16 us (8 to 17
by `combined`, 9 to 13 by the table), but into 8192 10 to 14 (7 to 15, 8 to 16)."""

ROWS_SUMS, ROWS_LEAST, ROWS_WIDE = 96, 2**19, 2**26
ROWS_TABLE = 100_000
"""Rows of up to 64 bytes whose sums take so many through a table of rows, from so many elements on; wider ones, of less
than `GROUPED_ROW` and of up to 128 bytes of sums, from so many bytes on; bytes of the table. On an H100 even, by 1 /
rank, half on one place, in order: 2^22 x 8 float32 307, 142, 192, 148 us (atomics 305, 731, 1211, 145; sorted 431, 400,
375, 224), 2^21 x 16 207, 115, 133, 140; 160000 rows of 24 bfloat16 even 17 (21 by elements), by 1 / rank 19 (75), but
of 32, below 512, even 21 (17 by atomics), 160000 of 8 float32 below 5236 12 (9.6)."""

ASK_TILES = 32
ASK_SHARE = 2 / 3
"""Tiles an SM up to which blocks of `cached` ask for the whole destination before they know where to add, if its bytes
are so much of the list's at most: an atomic that finds its sector in the L2 cache is done sooner. 2^20 even elements
1.04 to 1.07 times as fast, of float64 into 2^22 1.06; all on one place 0.86 to 0.93; 6.8 M elements of a few of 37 M
places, without this limit, 0.76."""

ASK_ROWS = 2
ASK_ROW = 256
"""Rows a place up to which warps of `combined` ask for each place while its row is on its way, where these are vectors
of 16 bytes, or elements of rows of so many bytes: 64 x 4096 x 128 float32 98 to 83 us, 262144 of 64 57 to 50, bfloat16
32 to 28; but 4096 x 32, 65536 half on one place of bfloat16 15 to 18, 26722 x 4, 19363 below 7 of int32 14 to 17."""

CACHED_BLOCKS = 3
"""Blocks an SM of `cached` where tiles are more than eight an SM."""

GROUPED_ROW = 128
GROUPED_ROW_SMALL = 16
"""Rows of fewer bytes are not sorted for."""

GROUPED_SHORT = 2**27
"""Bytes from which rows of `CACHED_ROW` and more are: 2^21 x 16 float32 227 us (160 by atomics, 950 of half on one)."""

GROUPED_COST = 0.87
"""What the cost of sorting counts against that of atomics: 2^20 x 32 float32 130 us (123), half on one place 122 (367);
2^18 x 64 would be 78 (59)."""

ASKED_COST = 1.15
"""... more where warps ask for the places of their rows: 131072 x 256 bfloat16 even 48 us by atomics (67 sorted), by
1 / rank 53 (65), half on one place 49 (73); 2^20 x 32 float32, from 1.2 on, 107 (125), 134 (114), 126 (116)."""

WARPS = 16
"""Warps an SM from which a warp of `combined` takes more rows."""

OWNED_LEAST = {1: 2**21, 2: 2**21, 4: 2**22, 8: 2**22, 16: 2**22}
"""Elements of the source from which threads own places where dims do not merge, or turn, by the bytes of one; twice as
many of eight bytes where indices seldom come again. 32768 x 16 x 10, 21 indices of int8 39 us (84 by atomics), but
26 x 4 x 7 x 38014, 1720 36 (30); 638 x 851, 578 of bfloat16 28 (12); 2 x 256 x 266 x 5, 1884 of float32 48 (79);
328 x 7 x 41, 594 of int64 64 (114), but 32 x 7118 x 110, 40 of float64 220 (148)."""

SHORT = 8
"""Elements of a row up to which they do where dims merge: warps add up longer ones, 1093 x 1 x 15, 1418 47 us (83)."""

NARROW_LEAST = 2**15
"""Indices from which few repetitions that turn, of elements of 4 bytes and more, go through a table rather than by
squares: 10 x 2048, 27408 of float64 even 9.2 us (12.7), 10 x 1639, 17706 half on one place 7.0 (8.7), 8 x 2484, 21867
of one place of int64 5.5 (7.7), but 8 x 4050, 62283 of one place of int8 64 (10)."""

SQUARES_LEAST = 2048
"""Indices from which operands that turn are added by squares in shared memory until a sort pays: 16 x 100000, 60000
indices 13.7 us (39.6 sorted, 21.6 by a table)."""

SCATTERED_MOST = 2**14
"""Indices of several repetitions of short rows up to which each is an atomic of its own, which seldom meet: 128 x 2762,
11128 of bfloat16, half of them on one place 17 us (54 by `cached`); 232 x 6621 x 8, 2095 25 (59)."""

HOT_LEAST, HOT_CUT = 2**12, 2**14
HOT_VECTORS = 8
"""Indices, of rows of whole vectors and of others, and vectors of a row, from which a warp of `combined` adds up equal
ones even where work is little, with as many rows as its groups of lanes take at once: 10000 x 32, 9000 indices, half of
them on one place 11.3 us (17.5 one vector a thread, whose neighbours see four rows alone); even 7.6 (6.8). Never of
single bytes. On an H100, 13421 rows of 10 and 24, a vector a thread and by warps: even float16 5.8 and 6.3 us, int32
6.1 and 7.5, int8 7.5 and 13.2, half of them on one place float16 39 and 19, int32 14.3 and 10.6, int8 41.7 and 27.9."""

RUNS_LEAST = 2**15
"""Indices from which one group of a warp's lanes has all of a long run of its list, of which each group would send its
part. On an H100, half of 2^18 rows of 32 on one place: bfloat16 43 us (128), float32 57 (100), by 1 / rank 43 (49) and
55 (57), even 1 to 2 % more, for the code is longer; half of 2^15 rows 33 (46) and 29 (37), even and in order 3 to 10 %
more."""

ONE_ROWS_LEAST = 2**18
ONE_ROWS_LIST = (9, 2048)
ONE_ROWS = 64
"""Elements, the fewest and the most indices, and rows of a source from which lanes share its rows, where it is dense
along a dim of one place: a thread a row has its lanes a row apart, and each load of a warp is a line for each. On an
H100 22 cases 1.67 times as fast, 2507 x 88 x 1, 34 of float16 13.0 us (25.8)."""

FEW = 32
"""Indices that a warp of `combined` adds up by itself: there is nothing to sort."""

GROUPED_LEAST_SMALL = 2**14
"""Indices from which rows of `SMALL` are sorted whatever it costs: 404096 x 25 int8 145 us (0.2 s by atomics)."""

PARTITION_REACH = 2**25
PARTITION_LEAST, PARTITION_LEAST_SMALL = 2**24, 2**22
"""`partitioned` from so many bytes of sums, and so many indices of rows or elements of up to 4 bytes, on: 2^24 into
2^24 324 us (617 by atomics), 2^24 into 2^22 285 (204). Fewer of `SMALL`, whose totals would be beyond the L2 cache: on
an H100 15.7 M into 10.9 M of int16 214 us (by totals 535), 5.7 M into 13.3 M of uint8 120 (290)."""

PARTITION_LEAST_ROWS = 2**23
"""... of those of 8 and 16 bytes: on an H100 2^24 of two float32 490 us (1072 by a table's atomics), 2^23 of four 426
(576), 2^24 of float64 489 (1063), of four float16 648 (1277), 2^23 of complex128 414 (642)."""

PIECE_PAIRS = 256
"""Pairs of a block of `grouped` where rows are of 256 bytes and more; up to four times as many of shorter ones.
1000000 x 128 bfloat16 with 512, without the sort: even 159 us (155), by 1 / rank 120 (126)."""

RUNS = 32
"""Indices a place from which pieces are twice as long, and half as many will do, for most are joined: without the
sort 1024 x 128 float16, 2^20 indices 97 us (105), 4096 x 256 float32, 2^18 of one place 89 (100), of two 86 (95)."""

WAVES = 3
"""Pieces of `grouped` for every five blocks an SM: 64 x 4096 x 128 took 93 us with 1.6. With 6 the cases of the suite
that change took 1.07 times as long, 18 random ones 1.055 times."""
