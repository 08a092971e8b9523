"""The variants of `index_add`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.index_add.naive import Naive

VARIANTS: tuple[Variant, ...] = (Naive(),)
