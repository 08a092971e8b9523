"""The tuned numbers of the fast kernels, apart from what they do. Each names what chose it: device, dtype, size, time.

All were measured on one NVIDIA H200, cold. `docs/cumsum.md` holds the record, with what was tried and did not help.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BlockShape:
    """A block's tile: `warps` x 32 threads, `vectors` vectors of 16 bytes a thread."""

    warps: int
    vectors: int

    @property
    def capacity(self) -> int:
        """Vectors that a tile holds."""
        return 32 * self.warps * self.vectors


LANES_VECTORS = 64
"""Vectors of the longest rows for lanes of a warp, one a lane, above 32 two. 1048576 x 128 float32 252.3 us, 1.01 of a
copy, 257.9 with four a lane; 262144 x 256: 132.9 us, 162 by blocks of 64 threads."""

LANES_ROWS, LANES_MANY = 8, 96
"""Rows an SM from which longer rows go to lanes: of narrow integers twice as long ones, 131072 x 168 int8 60.9 us, a
block a row 90.0; and of so many vectors where one is not 4 elements: 219663 x 149 int64 130 (165), 103562 x 552
bfloat16 60.5 (69.4); but 42204 x 245 int64 45.3 (44.3), 166942 x 352 float32 118 (116)."""

FLAT_LEAST = 1 << 19
"""Elements from which flat rows are worth their longer code: 57 x 55 x 2 x 35 float64 7.6 us, by lanes 6.9, 5433 x 58
bfloat16 7.1, 6.2; 407392 x 2 float32 at offset 5 8.4, 11.8, 198 x 128 x 44 int64 10.7, 11.1."""

SIDES_LEAST = 1 << 18
"""Elements from which all columns of which a few lie side by side are taken as rows of these, by whichever variant has
such rows: 25 random cases 1.97 times as fast, 19584 x 568 x 2 bfloat16 27.3 us (walked 209), 2048 x 520 x 2 complex64
13.3 (54), 64 x 2 x 2048 x 2 float32 5.6 (linked columns 16), 5059 x 157 x 4 float16 9.5 (18.8); but 40000 x 3 x 2
float16 by flat rows 7.1 (6.4); long ones 56 cases 1.58 (`docs/cumsum.md`). From FLAT_LEAST on pairs of narrow integers
are flat rows: 22030 x 74 x 32 x 2 uint8 237 us (by lanes 270), 25047 x 2 x 8 x 2 int16 6.1 (6.5)."""

SIDES_LITTLE = 1 << 19
"""... and up to which those across x that are too long for lanes are rows of a block, in place of a copy first: on an
H100 16 x 2112 x 2 permuted float64 8.8 us (10.3), 512 x 256 x 2 7.1 (10.3), 4 x 4 x 1024 x 2 float16 4.9 (7.3)."""

SIDES_LONG, SIDES_LEAST_LONG = 16, 1 << 12
"""... and of columns of so many elements together, from so many on: 50 random cases of 2^12 to 2^18 elements 1.08 times
as fast, 2 x 3 x 6770 x 2 bfloat16 5.3 us (9.1), 171 x 12 x 2 complex64 4.0 (5.0), 32 x 41 x 8 x 2 int64 4.2 (4.8);
shorter ones 7958 x 4 x 2 float32 4.5 (4.4), 1308 x 3 x 2 float16 4.4 (4.1)."""

FLAT_SHORT, FLAT_LANES = 4, 32
"""Vectors of a row of floats up to which these do; of longer ones twice as many, of 16 bits four times: 4 x 1024 x 213
float16 6.3 us, lanes 5.3, 1024 x 26 x 28 float32 6.1, 5.7, on an H100 of 10068 x 160 bfloat16 7.5, 6.8, 12 such cases
1.07 times as fast; but two, 32768 x 8 x 2, 5.8, 7.8, and 16 x 3 x 512 x 28 int16 5.7, 6.2. And those of int32 that do
where no lane is idle, which would load half a vector each: 32768 x 64 13.4, flat 11.7; of other integers nothing."""

FLAT_VECTORS = 4
"""Vectors a lane of `flat_rows`: 262144 x 250 float16 80.8 us, 97.4 with eight; float32 130.9, 131.4."""

BLOCK_SHAPES: dict[int, tuple[BlockShape, ...]] = {
    4: (
        BlockShape(2, 2),
        BlockShape(4, 2),  # 65536 x 1000 float32: 129.1 us, 0.98 of a copy; 138.4 by 8 warps of one vector
        BlockShape(4, 4),  # 65536 x 2048: 260.8 us; 263.1 by (8, 2), 293.4 by (16, 1)
        BlockShape(4, 8),  # 4096 x 4096: 36.2 us, 0.995; 37.0 by (8, 4)
        BlockShape(8, 8),  # 4096 x 4097: 37.6 us, 0.956; 38.7 by (16, 4)
        BlockShape(16, 8),  # 8192 x 16384: 269.3 us; 296.5 by (32, 4); 332.0 by the ring of carry_forward
        BlockShape(32, 8),  # 8192 x 32000: 519.6 us, 0.952; 563.8 by the ring
    ),
    8: (
        BlockShape(2, 2),  # 65536 x 1000 bfloat16: 67.1 us; 71.1 by (4, 1), 87.6 by (4, 2)
        BlockShape(4, 2),
        BlockShape(8, 2),  # 4096 x 4096 bfloat16: 20.8 us; 21.0 by (4, 4), 26.0 by (16, 1)
        BlockShape(5, 4),  # 4096 x 4097 float16: 21.6 us; 22.2 by (9, 2), 24.6 by (8, 4), 29.6 by (16, 2)
        BlockShape(8, 4),
        BlockShape(10, 4),  # 8192 x 10007 bfloat16: 83.8 us; 97.3 by (12, 4), 100.6 by (16, 4), 100.4 by (20, 2)
        BlockShape(16, 4),
        BlockShape(32, 4),  # 8192 x 32000 bfloat16: 289.9 us; 295.3 by the ring, 470.9 by (16, 8), which spills
    ),
}
"""By the registers of a vector (8 for the 16-bit floats), smallest first; a row goes to the first that holds it."""

LONE_SHAPES: tuple[BlockShape, ...] = (
    *(BlockShape(warps, 2) for warps in (2, 4, 8)),  # 2^10 float32: 3.7 us
    BlockShape(16, 2),  # 2^12 float32: 4.19 us; 4.35 by four linked blocks, 4.70 by (32, 1)
)
"""Where rows are fewer than SMs, before those above: one row is done the sooner, the more warps take part."""

LINKED_SHAPES: dict[int, tuple[BlockShape, ...]] = {
    4: (
        BlockShape(8, 2),  # 2^14 float32 4.7 us, 2^16 5.3 us, 2^18 6.0 us
        BlockShape(8, 4),
        BlockShape(16, 4),  # 2^20 float32: 8.0 us; 8.4 by (8, 8), 8.5 by (8, 4), 9.2 by (32, 4)
        BlockShape(16, 8),  # 2^22: 14.5 us; 15.7 by (8, 8), the ring 18.7
    ),
    8: (
        BlockShape(8, 2),  # few rows of up to 16 MB 0.994 and 0.983 of the time by (8, 1) first, in two tunings
        BlockShape(8, 4),
    ),
}
"""For `linked_blocks`, as above; the first with at most a tile an SM, else the last while its tiles are resident."""


@dataclass(frozen=True, slots=True)
class StagedShape(BlockShape):
    """A block of staged_blocks.cu: beside `vectors` in registers, a thread has up to `most` in shared memory."""

    most: int


STAGED = StagedShape(16, 8, 14)
"""For `linked_blocks` where registers are not enough: two blocks an SM, with as few staged vectors as the rows need. 14
are 112 KB, half of an SM's shared memory; of narrow integers a tile must hold fewer than 65536. 2^23 float32: 25.9 us;
26.7 with 6 vectors in registers, 27.2 with 4, 27.7 by (8, 8, 13), 25.7 by (32, 8, 14), 28.2 by the ring."""


@dataclass(frozen=True, slots=True)
class RingShape:
    """A block of `carry_forward`: warps by role, vectors a lane of a consumer, stages of the ring."""

    consumers: int
    reducers: int
    vectors: int
    stages: int


STREAMING_L2 = 2.5
"""Bytes of x and y, in sizes of the L2 cache, up to which a ring's copies let it give up x first. On an H200 (60 MB):
2^23 float32 25.7 us (27.2), 262144 x 64 47.6 (48.8), 2^24 43.9 (43.5); beyond it costs bandwidth: 2^25 83.9 (82.1),
2^26 152.4 (147.3), 1000000 x 32 86.6 (85.0)."""

_WORDS = RingShape(16, 8, 4, 6)  # stages of 32 KB; 2^28 float32: 545 us, 0.93 of a copy; 654 with (16, 8, 8, 3)

_BYTES = RingShape(20, 8, 8, 5)  # 2^27 int16: 352.6 us, 362.1 by (16, 8, 8, 6); int8: 377.6, 393.8

RINGS: dict[str, tuple[RingShape, ...]] = {
    "uint8": (_BYTES,),
    "int8": (_BYTES,),
    "int16": (_BYTES,),
    "int32": (_WORDS,),
    "int64": (_WORDS,),
    "float16": (_WORDS,),
    "bfloat16": (_WORDS,),
    "float32": (_WORDS,),
    "float64": (_WORDS,),
    "complex64": (_WORDS,),
    "complex128": (_WORDS,),
}
"""By the dtype of x."""

SMALL_RING = RingShape(8, 4, 2, 4)
"""Where shared memory is scarce: stages of 8 KB."""

TILE_STEP_BYTES = 128
"""Tiles of a ring are cut to a multiple of that, so that they fill whole turns of the blocks and whole lines of memory.
Full tiles of 32 KB make 15.5 turns of 132 blocks of 2^24 float32: 43.9 us; whole turns 43.6: no difference."""


BLOCK_ROWS_PER_SM = 1
"""From so many rows an SM on, rows that fit a block get one each; fewer are spread over linked blocks."""

LINKED_VECTORS = 2048
"""Rows of up to so many vectors are not worth linking blocks, however few: 5 x 8 x 2800 int16 6.5 us, linked 7.8; 40 x
6000 float32 6.9, 8.0; 4 x 16000 float16 6.5, 7.0."""

LINKED_ROWS = 24
"""... twice as long ones, where they are so many: on an H100 64 x 4679 int16 5.5 us (linked 7.7), 32 x 5728 int8 5.5
(6.3), 64 x 6528 int32 7.0 (8.3), 37 x 28000 float16 6.9 (7.2), 71 x 8192 int64 8.8 (9.3); but 6 x 7652 int32 6.4
(5.7)."""


@dataclass(frozen=True, slots=True)
class StripShape:
    """In columns.cu: `lanes` threads side by side, each with `rows` rows; `warps` x 32 threads; `blocks` fit an SM."""

    lanes: int
    rows: int
    warps: int
    blocks: int


LINKED_STRIPS: tuple[StripShape, ...] = (StripShape(8, 8, 8, 2),)
LINKED_STRIPS_8: tuple[StripShape, ...] = (StripShape(8, 4, 8, 2),)
LINKED_SINGLES: tuple[StripShape, ...] = (StripShape(32, 32, 8, 2), StripShape(32, 16, 8, 2))
LINKED_SINGLES_WIDENED: tuple[StripShape, ...] = (StripShape(32, 24, 8, 2), StripShape(32, 8, 8, 2))
LINKED_SINGLES_WIDE: tuple[StripShape, ...] = (StripShape(32, 8, 8, 2),)
LINKED_TURNS = 4
"""Strips that blocks share, by the columns of a thread: a vector of 2 or 4 sums, of 8; single columns (sums of 4 bytes,
sums of 8 of narrower x, wide x). More rows a thread spill. A tile waits for those of all other blocks, so that tall
tiles are better where each block has LINKED_TURNS of them."""

STRIP_LANES = (32, 16, 8, 4)
STRIP_WARPS = (1, 2, 4, 8, 16)
STRIP_ROWS = 8
SINGLE_ROWS = (16, 8)
"""Strips of `columns`: the rows of a thread are 8, of single columns of up to SINGLE_BYTES also 16."""

SINGLE_BYTES = 4
"""Of x; more rows of wider elements spill: 1652 x 22489 float64 310 us with 16 rows a thread, 181 with 8."""

STRIP_WIDTH = 128
"""Columns of a strip, at most."""


@dataclass(frozen=True, slots=True)
class StripTimes:
    """What a strip's block takes, in microseconds and bytes: see `strips.time_us`."""

    launch: float = 4.8
    begin: float = 1.0  # of a block
    tile: float = 0.48  # of a tile, whatever its size
    doubling: float = 0.025  # a tile's step of the scan over lanes
    sm_bytes: float = 61e3  # that an SM moves a microsecond
    element_bytes: float = 2.6  # as many as an element's instructions take
    row_bytes: float = 21.0  # ... as the ends of a strip's row
    cut_bytes: float = 32.0  # ... where rows of y start within sectors
    whole_turns: float = 0.7  # share of the blocks of the last turn that wait for those before them
    full: float = 1.08  # where the registers of one block are all of an SM


STRIP_TIMES = StripTimes()
"""Fitted to 2900 cuts of 130 random problems on one H200 (16 to 20000 rows, every dtype, aligned or not): the cut that
takes least by it is 2.0 % slower than the best one on average, 2.3 % where it was fitted to the other half of them."""

TORN_BYTES = 96.0
"""... and as many more for each row of a strip that cuts sectors, where the L2 cache does not keep them all until the
neighbouring strip has written its share: 28 x 1041 x 597 in strips of 8 columns 121 us uint8, 108 float32, of 32 61
both."""

SHARED_US = 8.0
SHARED_SM_BYTES = 32e3
SHARED_TALL, SHARED_SHORT = 8192, 0.75
"""What columns take whose strips are shared, roughly: a constant, and the bytes of an SM in a microsecond, fewer by
this part where columns are no longer. Shared and not: 1618 x 287 float32 8.7 us and 10.0, 1367 x 592 complex128 15.0,
14.0, 2 x 1521 x 410 int64 15.0, 13.2, 10409 x 230 float16 14.1, 29.6."""

FULL_SHARE = 0.9
"""Share of the strips wanted, as many as blocks fit the device, that is enough: 128 strips on 132 SMs walk 16384 x
16384 float32 in 531 us."""

WALKED_COLUMN = 96
"""Columns of up to so many rows are walked by a thread each (a vector of them where it can) ..."""

LEAST_WALKS = 6144
"""... from so many threads on. Walked and by strips: 5000 x 5 x 17 int8 5.4 us and 7.5, 600 x 48 x 564 bfloat16 29.4,
89.3; 15 x 70 x 17600 float64 79.1, 102.6, 600 x 70 x 48 float32 (7200 threads) 13.0, 16.2; of 3600 threads 600 x 16 x
48 bfloat16 6.5, 5.3; of 100 rows 64 x 100 x 564 int32 20.5, 20.2, of 200 36.5, 28.8."""

LEAST_NARROW_WALKS = 2048
"""The same where fewer than SHORT_COLUMN_WIDTH columns lie side by side: 600 x 64 x 8 int16 9.7 us, by strips 14.5."""

SHORT_COLUMN_WIDTH = 16

LINKED_BYTES = 16 << 20
LINKED_COLUMN = 16384
"""Bytes of x, and rows, up to which `linked_columns` is ahead of `column_forward`: 4096 x 229 complex128 18.9 (26.0)
us, 8192 x 64 complex64 8.6 (11.8), 4701 x 8 int16 6.4 (8.5); 25997 x 10 float32 10.5 (9.2), 1048576 x 16 float64 98.1
(85.4)."""

LINKED_LONG, LINKED_LONG_ITEMS = 3 << 14, 4
"""... rows of longer ones of which each block takes one tile, by vectors of 2 to so many columns: on an H100 50 cases
1.04 to 1.34 times as fast, 24505 x 8 int64 8.6 us (10.6), 18101 x 8 int8 7.2 (9.7), 32768 x 32 12.9 (14.4), but 65536
x 4 int32 10.9 (9.8), and by vectors of 8 28901 x 64 bfloat16 17.3 (11.4)."""

LINKED_FEW_TURNS, LINKED_WIDE = 2, 64
"""Tiles of a block of `linked_columns`, each of which waits for those of all other blocks, up to which it is ahead of
`column_forward`, unless more columns than LINKED_WIDE lie side by side, which copies bring in pieces (5488 x 512 int8
17.1 us, 19.4): on an H100 64 x 2000 x 8 float16, of 4, 9.9 us (16.8), 32 x 10000 x 8, of 10, 12.5 (34.9), 24 x 9232 x
8 bfloat16, of 7, 13.0 (21.3), 16 x 7072 x 18 float32, of 4, 13.5 (14.9); of 2 16 x 1086 x 45 float16 8.7 (8.2)."""

STRIP_ITEMS = 8
"""Columns of a thread of columns.cu, at most."""


@dataclass(frozen=True, slots=True)
class ForwardShape:
    """A block of `column_forward`: warps by role. Linkers come by fours, so that 128 columns have a thread each."""

    consumers: int
    reducers: int
    linkers: int
    joiners: int
    producers: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * (self.consumers + self.reducers + self.linkers + self.joiners + self.producers)


FORWARD = ForwardShape(12, 8, 8, 2, 2)
"""262144 x 64 float32: 55.8 us by four linkers, 49.4 by eight; 50.0 by 16 consumers and 4 reducers."""

FORWARD_STAGES: tuple[tuple[int, int], ...] = (
    (48 << 10, 4),  # 1000000 x 9 float32: 34.6 us, 37.6 by (32 KB, 6), 38.6 by (64 KB, 3); x 32 float16: 54.4, 63.8
    (32 << 10, 5),
    (32 << 10, 4),
    (16 << 10, 4),
    (8 << 10, 4),
    (8 << 10, 3),
    (8 << 10, 2),
)
"""Bytes of a stage and stages: the first that fits the shared memory."""

FORWARD_COLUMNS = 128
"""Columns of a strip, at most: a linker's threads."""

FORWARD_STRIP_BYTES = (128, 512)
"""Bytes of a strip's row where it is a piece of a longer one: 64 bytes took 95 us where 128 took 56 (262144 x 64
float32)."""

FORWARD_LEAST_BYTES = 4096
"""Of a tile, however few rows there are."""

FORWARD_JOINED = 16
"""From so many blocks a strip on, sums travel in two steps, joined by the square root of the blocks. 262144 x 64
float32, 132 blocks a strip: 193 us in one step."""
