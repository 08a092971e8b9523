"""The tuned numbers of `resident_columns`, apart from what they do as those of tuning.py. Times of one H200, in us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResidentShape:
    """A block: each of `warps` has `slots` pieces in shared memory and `held` pieces in registers.

    `vectors`: of 16 bytes a lane that hold a piece, so that it has up to 512 * vectors bytes.
    """

    warps: int
    slots: int
    held: int
    vectors: int


RESIDENT = ResidentShape(16, 2, 1, 13)
"""52 of 128 registers hold x; an SM holds 312 KB of it where rows are narrow. 65536 x 100 float32 22.8 (column_forward
29.9), float16 262144 x 64 26.9 (29.7), 1000000 x 9 26.1 (31.3), bfloat16 500000 x 33 35.3 (39.3)."""

RESIDENT_HALVED = ResidentShape(16, 4, 2, 7)
"""Where that is more than two pieces, and not of 16-bit floats: pieces of half the size. 1000000 x 9 float32 31.4 (36.5
by the first, column_forward 33.3), 180000 x 64 33.4 (36.1, 37.2; 32.5 by (8, 4, 3, 13), which holds more)."""

SPILLED = 0.2
"""Pieces that are read twice, at most, for each that stays. 262144 x 64 float32, four of ten: 48.8 (column_forward
47.1)."""

LEAST_BYTES = 6 << 20
"""Bytes of x from which it is worth it. float32 20000 x 64 (5 MB) 11.4 (column_forward 11.1), 200000 x 9 (7 MB) 13.3
(14.4), 100000 x 32 14.8 (15.3), 4 x 40000 x 64 28.2 (31.1); float64 20000 x 64 (10 MB) 14.3 (15.7). Not of bytes:
365078 x 45 int8 135 (59)."""

LEAST_SHARE = 8
"""SMs to each block of columns from which it is worth it; fewer were not measured. 16 x 4000 x 64 16.0 (16.3)."""

COLUMNS = 128
"""Columns side by side, at most: a thread each where the sums of warps are joined."""

SLICES = 32
"""Threads that share the words of a column, at most: of 132 blocks each then reads five, all at once."""

IN_PLACE_BYTES = 128
"""Rows of fewer bytes are summed in place and leave as one run; others are stored by the lanes."""
