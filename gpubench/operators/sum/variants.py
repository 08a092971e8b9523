"""The variants of `sum`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.sum.naive import Naive
from gpubench.operators.sum.reduce_config import AUTO_PYTORCH, ReduceConfigured

VARIANTS: tuple[Variant, ...] = (Naive(), ReduceConfigured(), AUTO_PYTORCH)
