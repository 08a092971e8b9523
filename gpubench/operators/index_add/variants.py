"""The variants of `index_add`, from naive to best: one row each."""

from __future__ import annotations

from gpubench.operators.base import Variant
from gpubench.operators.index_add.block_copies import BlockCopies
from gpubench.operators.index_add.cached import Cached
from gpubench.operators.index_add.combined import Combined
from gpubench.operators.index_add.conclusions import CONCLUSIONS
from gpubench.operators.index_add.gathered import Gathered
from gpubench.operators.index_add.grouped import Grouped
from gpubench.operators.index_add.naive import Naive
from gpubench.operators.index_add.oneflow import OneFlow
from gpubench.operators.index_add.partitioned import Partitioned
from gpubench.operators.index_add.private_copies import PrivateCopies
from gpubench.operators.index_add.pytorch import AUTO_PYTORCH, LargeIndex, SmallIndex, Uncollapsed
from gpubench.operators.index_add.sorted_deterministic import SortedDeterministic

VARIANTS: tuple[Variant, ...] = (
    Naive(),
    SortedDeterministic(),
    Uncollapsed(),
    OneFlow(),
    SmallIndex(),
    LargeIndex(),
    *CONCLUSIONS,
    Cached(),
    Combined(),
    PrivateCopies(),
    BlockCopies(),
    Gathered(),
    Partitioned(),
    Grouped(),
    AUTO_PYTORCH,
)
