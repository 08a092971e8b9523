"""What can be tuned of `elementwise`: constants of its rules, and the regimes in which they may differ."""

from __future__ import annotations

from gpubench.operators.constants import Constant, Regime
from gpubench.operators.elementwise import tuning

FLAT_THREADS = Constant("FLAT_THREADS", tuning.FLAT_THREADS, (64, 256, 512))
TWO_VECTORS = Constant("TWO_VECTORS", tuning.TWO_VECTORS, (0, 1 << 22, 1 << 40))
SPREAD = Constant("SPREAD", tuning.SPREAD, (32, 64, 256, 512, 1024))
GATHER_RUN = Constant("GATHER_RUN", tuning.GATHER_RUN, (0, 9, 144, 1 << 30))
GATHER_ELEMENTS = Constant("GATHER_ELEMENTS", tuning.GATHER_ELEMENTS, (0, 1 << 15, 1 << 19, 1 << 21))

REGIMES: tuple[Regime, ...] = (
    Regime("little", "flat and n * y_itemsize < 4194304", ("flat",), (SPREAD, FLAT_THREADS)),
    Regime("one-byte", "flat and y_itemsize == 1", ("flat",), (FLAT_THREADS, TWO_VECTORS)),
    Regime("flat", "flat", ("flat",), (FLAT_THREADS, TWO_VECTORS)),
    Regime(
        "little-other-layouts",
        "n * y_itemsize < 4194304",
        ("flat", "tiles"),
        (GATHER_ELEMENTS, SPREAD),
    ),
    Regime(
        "other-layouts",
        "1",
        ("flat", "tiles"),
        (GATHER_RUN, FLAT_THREADS),
    ),
)
