"""The variants of `sum`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.sum.few import Few
from gpubench.operators.sum.lanes import Lanes
from gpubench.operators.sum.naive import Naive
from gpubench.operators.sum.places import Places
from gpubench.operators.sum.reduce_config import AUTO_PYTORCH, WIDTH_FIRST, ReduceConfigured
from gpubench.operators.sum.rows import Rows
from gpubench.operators.sum.single_terms import SingleTerms
from gpubench.operators.sum.staged import Staged

VARIANTS: tuple[Variant, ...] = (
    Naive(),
    WIDTH_FIRST,
    ReduceConfigured(),
    SingleTerms(),
    Few(),
    Lanes(),
    Staged(),
    Places(),
    Rows(),
    AUTO_PYTORCH,
)
