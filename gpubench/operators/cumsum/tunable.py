"""What can be tuned of `cumsum`: constants of its rules, and the regimes in which they may differ."""

from __future__ import annotations

from gpubench.operators.constants import Constant, Regime
from gpubench.operators.cumsum import resident_tuning, run_tuning, transposed_tuning, tuning, walk_tuning

FLAT_LEAST = Constant("FLAT_LEAST", tuning.FLAT_LEAST, (1 << 13, 1 << 20, 1 << 40))
FLAT_VECTORS = Constant("FLAT_VECTORS", tuning.FLAT_VECTORS, (2, 8))
LANES_LONGEST = Constant("LANES_LONGEST", tuning.LANES_VECTORS, (8, 16, 32))
BLOCK_SHAPE = Constant(
    "BLOCK_SHAPE",
    None,
    (
        (2, 2),
        (2, 4),
        (4, 2),
        (4, 4),
        (8, 2),
        (4, 8),
        (8, 4),
        (5, 4),
        (8, 8),
        (16, 2),
        (16, 4),
        (16, 8),
        (32, 4),
        (32, 8),
    ),
)
LINKED_VECTORS = Constant("LINKED_VECTORS", tuning.LINKED_VECTORS, (256, 512, 2048, 4096))
LINKED_SHAPE = Constant("LINKED_SHAPE", None, ((8, 1), (8, 2), (8, 4), (16, 4), (8, 8), (16, 8)))
RING = Constant("RING", None, ((16, 8, 4, 6), (16, 8, 4, 4), (16, 8, 8, 3), (8, 4, 4, 6), (20, 8, 8, 5), (8, 4, 2, 4)))
STREAMING_L2 = Constant("STREAMING_L2", tuning.STREAMING_L2, (0.0, 1.0, 5.0))
SHARED_US = Constant("SHARED_US", tuning.SHARED_US, (4.0, 16.0, 32.0))
WALKED_COLUMN = Constant("WALKED_COLUMN", tuning.WALKED_COLUMN, (0, 24, 48, 192))
SIDES_LEAST = Constant("SIDES_LEAST", tuning.SIDES_LEAST, (1 << 16, 1 << 20, 1 << 22))
WALK_BLOCKS = Constant("WALK_BLOCKS", walk_tuning.WALK_BLOCKS, (1, 4))
STRIP = Constant(
    "STRIP",
    None,
    ((32, 8, 16, 1), (32, 8, 8, 2), (16, 8, 16, 1), (16, 8, 8, 2), (8, 8, 16, 1), (8, 8, 8, 2)),
)
LINKED_COLUMN = Constant("LINKED_COLUMN", tuning.LINKED_COLUMN, (0, 4096, 65536))
LINKED_TURNS = Constant("LINKED_TURNS", tuning.LINKED_TURNS, (2, 8, 1 << 40))
RESIDENT_LEAST = Constant("RESIDENT_LEAST", resident_tuning.LEAST_BYTES, (2 << 20, 24 << 20, 1 << 40))
SPILLED = Constant("SPILLED", resident_tuning.SPILLED, (0.0, 0.1, 0.5))
FORWARD_STAGE = Constant(
    "FORWARD_STAGE", None, ((48 << 10, 4), (64 << 10, 3), (32 << 10, 5), (32 << 10, 4), (16 << 10, 4))
)
TRANSPOSED_LENGTH = Constant("TRANSPOSED_LENGTH", transposed_tuning.LENGTH, (128, 256, 1024, 4096))
TRANSPOSED_SHAPE = Constant("TRANSPOSED_SHAPE", None, ((32, 32, 2), (32, 16, 1), (32, 32, 4), (32, 16, 2)))
RING_SLOT = Constant("RING_SLOT", transposed_tuning.RING_SLOT, (8 << 10, 32 << 10))
RING_LINES = Constant("RING_LINES", transposed_tuning.RING_LINES, ((32, 16), (16, 8)))
LINE_STRIPS = Constant("LINE_STRIPS", transposed_tuning.LINE_STRIPS, (1, 4, 8))
CHUNKED_LENGTH = Constant("CHUNKED_LENGTH", transposed_tuning.CHUNKED_LENGTH, (1024, 16384, 1 << 40))
CHUNK_TILES = Constant("CHUNK_TILES", transposed_tuning.CHUNK_TILES, (2, 4))
STRAIGHT_ELEMENTS = Constant("STRAIGHT_ELEMENTS", transposed_tuning.STRAIGHT_ELEMENTS, (0, 2 << 20, 16 << 20))
WALK_FEW = Constant("WALK_FEW", walk_tuning.WALK_FEW, (0, 128, 2048))
SHORT_ROWS = Constant("SHORT_ROWS", walk_tuning.SHORT_ROWS, (0, 1 << 17, 1 << 21))
WALK_SHARED = Constant("WALK_SHARED", walk_tuning.WALK_SHARED, (0, 1 << 16, 1 << 20))
FAR_LEAST = Constant("FAR_LEAST", walk_tuning.FAR_LEAST, (1 << 12, 1 << 16))
STAGED_LEAST = Constant("STAGED_LEAST", walk_tuning.STAGED_LEAST, (1 << 17, 1 << 24))
RUN_LEAST = Constant("RUN_LEAST", run_tuning.RUN_LEAST, (1 << 17, 1 << 22, 1 << 40))
RUN_CROSSED_LEAST = Constant("RUN_CROSSED_LEAST", run_tuning.RUN_CROSSED_LEAST, (1 << 17, 1 << 23, 1 << 40))
RUN_THREADS = Constant("RUN_THREADS", run_tuning.RUN_THREADS, (64, 256))
LINE_WARPS = Constant("LINE_WARPS", transposed_tuning.LINE_WARPS, (1, 4))

BLOCKS = ("block_rows", "flat_rows", "lanes_rows", "linked_blocks", "carry_forward")
COLUMNS = ("columns", "walked_lines", "resident_columns", "linked_columns", "column_forward")
TRANSPOSED = ("transposed_ring", "transposed_tiles", "transposed_lines", "copied_first", "walked_lines")

_ROWS = "inner == 1 and contiguous"


def _block_regime(name: str, most: int) -> Regime:
    """Return the regime of rows of up to so many bytes, of which there are as many as SMs."""
    when = f"{_ROWS} and rows >= sms and row_size * x_itemsize <= {most}"
    fits = "BLOCK_SHAPE_0 * BLOCK_SHAPE_1 * 512 <= 8 * row_size * x_itemsize"  # larger tiles stay empty
    return Regime(name, when, BLOCKS, (BLOCK_SHAPE,), (fits,))


REGIMES: tuple[Regime, ...] = (
    Regime(
        "short-rows",
        f"{_ROWS} and row_size * x_itemsize <= 1024",
        ("single_elements", "walked_lines", "lanes_rows", "flat_rows", "block_rows"),
        (SHORT_ROWS, FLAT_LEAST, FLAT_VECTORS, LANES_LONGEST),
    ),
    _block_regime("rows-of-4K", 4096),
    _block_regime("rows-of-16K", 16384),
    _block_regime("rows-of-128K", 131072),
    Regime(
        "few-rows",
        f"{_ROWS} and n * x_itemsize <= 16777216",
        BLOCKS,
        (LINKED_VECTORS, LINKED_SHAPE),
    ),
    Regime("long-rows", _ROWS, BLOCKS, (RING, STREAMING_L2)),
    Regime(
        "columns-side-by-side",
        "contiguous and inner <= 8",
        (*COLUMNS, *BLOCKS),
        (SIDES_LEAST, WALKED_COLUMN, RUN_LEAST, RUN_THREADS),
    ),
    Regime(
        "short-columns",
        "contiguous and row_size <= 384",
        COLUMNS,
        (WALKED_COLUMN, SHARED_US, WALK_BLOCKS, WALK_FEW, RUN_LEAST, RUN_THREADS),
    ),
    Regime(
        "few-columns",
        "contiguous and outer * inner * x_itemsize <= 131072",
        COLUMNS,
        (RESIDENT_LEAST, SPILLED, LINKED_COLUMN, LINKED_TURNS, FORWARD_STAGE),
    ),
    Regime("columns", "contiguous", COLUMNS, (STRIP, SHARED_US, LINKED_TURNS)),
    Regime(
        "short-transposed-lines",
        "row_size <= 512",
        (*TRANSPOSED, *BLOCKS),
        (TRANSPOSED_LENGTH, LINE_STRIPS, LINE_WARPS, WALK_SHARED, FAR_LEAST, STAGED_LEAST, RUN_CROSSED_LEAST),
    ),
    Regime(
        "transposed-lines",
        "1",
        (*TRANSPOSED, *BLOCKS, *COLUMNS),
        (TRANSPOSED_SHAPE, RING_SLOT, RING_LINES, CHUNKED_LENGTH, CHUNK_TILES, STRAIGHT_ELEMENTS),
    ),
)
