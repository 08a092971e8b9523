"""The tuned numbers of `resident_columns`, as those of tuning.py apart from what they do. None is measured yet."""

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
"""52 of 128 registers hold x; an SM holds 312 KB of it where rows are narrow."""

SPILLED = 1.0
"""Pieces that are read twice, at most, for each that stays."""

COLUMNS = 128
"""Columns side by side, at most: a thread each where the sums of warps are joined."""

SLICES = 32
"""Threads that share the words of a column, at most: of 132 blocks each then reads five, all at once."""

IN_PLACE_BYTES = 128
"""Rows of fewer bytes are summed in place and leave as one run; others are stored by the lanes."""

PAUSE = 0
"""Nanoseconds until a thread asks again for sums that other blocks have not told yet: that loads the L2 cache."""
