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


LANES_VECTORS = 32
"""Rows of up to so many vectors go to lanes of a warp: 1048576 x 128 float32, 32 vectors: 252.3 us, 1.01 of a copy."""

BLOCK_SHAPES: tuple[BlockShape, ...] = (
    BlockShape(2, 1),
    BlockShape(4, 1),
    BlockShape(4, 2),  # 262144 x 1000 float32: 0.989 of a copy; 131072 x 512: 0.994
    BlockShape(8, 2),
    BlockShape(8, 4),  # 4096 x 4096 float32: 35.9 us, 0.987
    BlockShape(16, 4),  # 65536 x 2048: 258.9 us, 0.988
    BlockShape(16, 8),
)
"""Smallest first; a row goes to the first that holds it."""

LINKED_SHAPES: tuple[BlockShape, ...] = (BlockShape(8, 1), BlockShape(8, 4), BlockShape(8, 8))
"""For `linked_blocks`, smallest first; the first whose tiles are all resident at once is taken."""


@dataclass(frozen=True, slots=True)
class RingShape:
    """A block of `carry_forward`: warps by role, vectors a lane of a consumer, stages of the ring."""

    consumers: int
    reducers: int
    vectors: int
    stages: int


RING_BYTES = 200 * 1024
"""Shared memory that a ring may take: over half of an SM's, so that one block stays alone on it."""

_WORDS = RingShape(16, 8, 4, 6)  # stages of 32 KB; 2^28 float32: 526 us, 0.96 of a copy

RINGS: dict[str, tuple[RingShape, ...]] = {
    "uint8": (RingShape(16, 8, 4, 8),),
    "int8": (RingShape(16, 8, 4, 8),),
    "int16": (RingShape(16, 8, 4, 8),),
    "int32": (RingShape(16, 8, 4, 8),),
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

BLOCK_VECTORS = 4096
"""Rows of up to so many vectors go to a block each, where there are enough of them."""

BLOCK_ROWS_PER_SM = 1
"""... which is so many rows an SM; fewer rows are spread over linked blocks."""

LINKED_VECTORS = 512
"""Rows of up to so many vectors are not worth linking blocks, however few."""


@dataclass(frozen=True, slots=True)
class StripShape:
    """A block of columns.cu: `lanes` threads side by side, each with `rows` rows; `warps` x 32 threads; blocks an SM."""

    lanes: int
    rows: int
    warps: int
    blocks: int


STRIPS: tuple[StripShape, ...] = (StripShape(32, 8, 8, 2), StripShape(16, 8, 8, 2), StripShape(8, 8, 8, 2))
STRIPS_8: tuple[StripShape, ...] = (StripShape(16, 4, 8, 2), StripShape(8, 4, 8, 2))
LINKED_STRIPS: tuple[StripShape, ...] = (StripShape(8, 8, 8, 2),)
SINGLE_STRIPS: tuple[StripShape, ...] = (StripShape(32, 16, 8, 2), StripShape(16, 16, 8, 2))
STRIPS_PER_SM = 1


@dataclass(frozen=True, slots=True)
class RingStripShape(StripShape):
    """A block of column_ring.cu: a strip's shape, with the stages of its ring."""

    stages: int


RING_STRIPS: tuple[RingStripShape, ...] = (
    RingStripShape(32, 8, 8, 2, 3),
    RingStripShape(16, 8, 8, 2, 3),
    RingStripShape(8, 8, 8, 2, 3),
)
LINKED_RINGS: tuple[RingStripShape, ...] = (RingStripShape(8, 8, 16, 1, 3),)
NARROW_RINGS: tuple[RingStripShape, ...] = tuple(RingStripShape(lanes, 16, 16, 1, 3) for lanes in (2, 4, 8, 16, 32))
FULL_SHARE = 0.9

SHORT_COLUMN = 32
"""Columns of up to so many rows are summed from registers, a few warps a strip."""

SHORT_COLUMN_WIDTH = 16
"""... where so many lie side by side; narrower ones are left to one thread a column."""

SHORT_STRIPS: tuple[StripShape, ...] = (
    StripShape(32, 4, 1, 16),
    StripShape(32, 8, 1, 16),
    StripShape(32, 8, 2, 8),
    StripShape(32, 8, 4, 4),
)
