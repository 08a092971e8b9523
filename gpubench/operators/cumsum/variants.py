"""The variants of `cumsum`, from naive to best: one row each. `auto.choose` says which regime each is for."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.cumsum.carry import CarryForward
from gpubench.operators.cumsum.column_forward import ColumnForward
from gpubench.operators.cumsum.columns import ColumnStrips, LinkedStrips
from gpubench.operators.cumsum.copied import CopiedFirst
from gpubench.operators.cumsum.flat_rows import FlatRows
from gpubench.operators.cumsum.linked import LinkedBlocks
from gpubench.operators.cumsum.naive import Naive
from gpubench.operators.cumsum.pytorch.variants import PYTORCH_VARIANTS
from gpubench.operators.cumsum.resident_columns import ResidentColumns
from gpubench.operators.cumsum.rows import BlockRows, LanesRows
from gpubench.operators.cumsum.single_elements import SingleElements
from gpubench.operators.cumsum.transposed import TransposedTiles
from gpubench.operators.cumsum.transposed_lines import TransposedLines
from gpubench.operators.cumsum.transposed_ring import TransposedRing
from gpubench.operators.cumsum.walked import WalkedLines

_STRAIGHT: tuple[Variant, ...] = (
    Naive(),
    *PYTORCH_VARIANTS,
    SingleElements(),
    LanesRows(),
    FlatRows(),
    BlockRows(),
    LinkedBlocks(),
    CarryForward(),
    WalkedLines(),
    ColumnStrips(),
    LinkedStrips(),
    ColumnForward(),
    ResidentColumns(),
)
_TRANSPOSED: tuple[Variant, ...] = (
    TransposedTiles(),
    TransposedLines(),
    TransposedRing(),
)

VARIANTS: tuple[Variant, ...] = (
    *_STRAIGHT,
    *_TRANSPOSED,
    CopiedFirst(_STRAIGHT),
)
