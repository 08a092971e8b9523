"""What can be tuned of `index_add`: constants of its rules, and the regimes in which they may differ."""

from __future__ import annotations

from gpubench.operators.constants import Constant, Regime
from gpubench.operators.index_add import tuning

COPIES_LEAST = Constant("COPIES_LEAST", tuning.COPIES_LEAST, (512, 32768, 1 << 40))
COPIES_PLACES = Constant("COPIES_PLACES", tuning.COPIES_PLACES, (0, 512, 8192))
COPIES_DENSE = Constant("COPIES_DENSE", tuning.COPIES_DENSE, (16, 1024))
LAST_DIM = Constant("LAST_DIM", tuning.LAST_DIM, (2048, 65536, 1 << 40))
GATHERED_LEAST = Constant("GATHERED_LEAST", tuning.GATHERED_LEAST, (8192, 65536, 1 << 40))
CACHED_ROW = Constant("CACHED_ROW", tuning.CACHED_ROW, (0, 16, 256))
CACHED_LEAST = Constant("CACHED_LEAST", tuning.CACHED_LEAST, (1 << 13, 1 << 15, 1 << 21, 1 << 40))
SINGLE_LEAST = Constant("SINGLE_LEAST", tuning.SINGLE_LEAST, (1 << 16, 1 << 17, 1 << 19))
CACHED_BLOCKS = Constant("CACHED_BLOCKS", tuning.CACHED_BLOCKS, (1, 2, 6, 12))
ASK_TILES = Constant("ASK_TILES", tuning.ASK_TILES, (0, 8))
ASK_ROWS = Constant("ASK_ROWS", tuning.ASK_ROWS, (0, 1, 4))
ROWS_LEAST = Constant("ROWS_LEAST", tuning.ROWS_LEAST, (1 << 17, 1 << 40))
ROWS_WIDE = Constant("ROWS_WIDE", tuning.ROWS_WIDE, (1 << 40,))
GROUPED_ROW = Constant("GROUPED_ROW", tuning.GROUPED_ROW, (32, 512))
GROUPED_COST = Constant("GROUPED_COST", tuning.GROUPED_COST, (0.0, 0.5, 0.75, 1.5, 1000.0))
PARTITION_LEAST = Constant("PARTITION_LEAST", tuning.PARTITION_LEAST, (1 << 21, 1 << 23, 1 << 40))
PARTITION_LEAST_ROWS = Constant("PARTITION_LEAST_ROWS", tuning.PARTITION_LEAST_ROWS, (1 << 22, 1 << 24, 1 << 40))
PARTITION_REACH = Constant("PARTITION_REACH", tuning.PARTITION_REACH, (24 << 20, 96 << 20, 768 << 20))
WAVES = Constant("WAVES", tuning.WAVES, (1, 6, 12))
WARPS = Constant("WARPS", tuning.WARPS, (4, 8, 32, 64))
OF_ROWS = (GROUPED_COST, WAVES, WARPS, ASK_ROWS)

REGIMES: tuple[Regime, ...] = (
    Regime(
        "along-the-last-dim",
        "inner == 1 and outer > 1",
        ("gathered", "block_copies", "cached", "combined"),
        (GATHERED_LEAST, LAST_DIM, CACHED_LEAST, CACHED_BLOCKS),
    ),
    Regime(
        "few-small-elements",
        "inner == 1 and indices < 1048576 and dtype in [int8, uint8, int16]",  # atomics exchange these word by word
        ("private_copies", "cached", "combined", "grouped"),
        (COPIES_LEAST, GROUPED_COST),
    ),
    Regime(
        "few-elements",
        "inner == 1 and indices < 1048576",
        ("private_copies", "block_copies", "cached", "combined"),
        (COPIES_LEAST, COPIES_PLACES, COPIES_DENSE, CACHED_LEAST, SINGLE_LEAST, ASK_TILES),
    ),
    Regime(
        "elements",
        "inner == 1",
        ("private_copies", "partitioned", "block_copies", "cached", "combined"),
        (PARTITION_LEAST, PARTITION_LEAST_ROWS, PARTITION_REACH, COPIES_LEAST, CACHED_BLOCKS, ASK_TILES),
    ),
    Regime(
        "short-rows",
        "inner * itemsize < 128",
        ("partitioned", "block_copies", "cached", "combined", "grouped"),
        (
            PARTITION_LEAST_ROWS,
            PARTITION_REACH,
            CACHED_ROW,
            CACHED_BLOCKS,
            ROWS_LEAST,
            ROWS_WIDE,
            GROUPED_ROW,
        ),
    ),
    Regime("rows", "outer == 1", ("combined", "grouped", "block_copies", "gathered"), OF_ROWS),
    Regime("rows-of-several-parts", "1", ("combined", "grouped", "block_copies"), OF_ROWS),
)
