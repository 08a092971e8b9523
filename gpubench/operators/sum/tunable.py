"""What can be tuned of `sum`: constants of its rules, and the regimes in which they may differ."""

from __future__ import annotations

from gpubench.operators.constants import Constant, Regime
from gpubench.operators.sum import cuts, tuning

FEW_THREADS = Constant("FEW_THREADS", tuning.FEW_THREADS, (64, 256))
FEW_TERMS = Constant("FEW_TERMS", tuning.FEW_TERMS, (2, 4, 16, 32))
FEW_ALIGNED = Constant("FEW_ALIGNED", tuning.FEW_ALIGNED, (16, 64, 256, 512))
FEW_OF_LITTLE = Constant("FEW_OF_LITTLE", tuning.FEW_OF_LITTLE, (2, 8, 128))
LANES_ROW = Constant("LANES_ROW", tuning.LANES_ROW, (32, 64, 256))
LANES_THREADS = Constant("LANES_THREADS", tuning.LANES_THREADS, (256,))
STAGED_ROWS = Constant("STAGED_ROWS", None, (0, 512, 1024, 4200, 8400))
STAGED_THREADS = Constant("STAGED_THREADS", None, (128, 256))
STAGED_GROUP = Constant("STAGED_GROUP", tuning.STAGED_GROUP, (0, 4096, 32768))
ROWS_THREADS = Constant("ROWS_THREADS", None, (64, 128, 256, 512))
SHORT_RUN = Constant("SHORT_RUN", tuning.SHORT_RUN, (128, 256, 512, 4096))
WORDS = Constant("WORDS", cuts.WORDS, (1088, 2176, 8704))
NARROW_LINE = Constant("NARROW_LINE", cuts.NARROW_LINE, (0, 16, 256))
LONG_LINE = Constant("LONG_LINE", cuts.LONG_LINE, (512, 1024, 8192))
NARROW_VECTOR = Constant("NARROW_VECTOR", tuning.NARROW_VECTOR, (4, 8, 16))

REGIMES: tuple[Regime, ...] = (
    Regime(
        "little",
        "n * itemsize < 4194304",
        ("single_terms", "few", "lanes", "staged", "places", "rows"),
        (FEW_OF_LITTLE, LANES_ROW, ROWS_THREADS),
    ),
    Regime(
        "other-layouts",
        "not contiguous",
        ("single_terms", "rows", "places", "lanes", "staged", "few"),
        (ROWS_THREADS, SHORT_RUN, LONG_LINE, NARROW_VECTOR),
    ),
    Regime(
        "short-rows",
        "inner == 1 and adjacent and row_size * itemsize <= 8192 and rows >= sms",
        ("single_terms", "few", "lanes", "staged", "rows"),
        (LANES_ROW, STAGED_ROWS, STAGED_THREADS, LANES_THREADS),
    ),
    Regime("long-rows", "inner == 1 and adjacent", ("rows", "lanes"), (ROWS_THREADS,)),
    Regime(
        "short-columns",
        "adjacent and row_size <= 512",
        ("single_terms", "few", "staged", "places"),
        (FEW_TERMS, FEW_ALIGNED, FEW_THREADS, STAGED_GROUP),
    ),
    Regime("columns", "adjacent", ("staged", "places", "few"), (STAGED_GROUP, WORDS, NARROW_LINE, NARROW_VECTOR)),
    Regime("several-dims", "1", ("places", "rows", "few"), (SHORT_RUN, LONG_LINE, FEW_TERMS, NARROW_VECTOR)),
)
