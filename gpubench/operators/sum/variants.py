"""The variants of `sum`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.sum.naive import Naive

VARIANTS: tuple[Variant, ...] = (Naive(),)
