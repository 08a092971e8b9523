"""The variants of `elementwise`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.elementwise.flat import Flat
from gpubench.operators.elementwise.naive import Naive
from gpubench.operators.elementwise.pytorch.variants import PYTORCH_VARIANTS
from gpubench.operators.elementwise.tiles import Tiles

VARIANTS: tuple[Variant, ...] = (Naive(), *PYTORCH_VARIANTS, Flat(), Tiles())
