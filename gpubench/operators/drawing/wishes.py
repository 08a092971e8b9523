"""What a suite may ask of random cases, whatever the operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

LAYOUTS: Mapping[str, float] = MappingProxyType(
    {
        "contiguous": 0.76,
        "transposed": 0.12,
        "misaligned": 0.06,
        "permuted": 0.06,
        "stepped": 0.0,
        "broadcast": 0.0,
    }
)
"""The kinds of layout that can be drawn, and their shares where a suite names none."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The bounds and shares of one random entry.

    cases: how many. seed: which. elements: least and most elements of the largest tensor (index_add: of destination
    and source). dims: fewest and most. friendly: share of the sizes that are powers of two or multiples of one.
    layouts: weights of the kinds of `LAYOUTS`, those left out 0. memory: bytes that all operands together may take.
    broadcasts: share of elementwise operands, beside a whole one, that are broadcast. casts: share of elementwise cases
    in which an operand or the result has another dtype.
    """

    cases: int
    seed: int = 1
    elements: tuple[int, int] = (2**14, 2**27)
    dims: tuple[int, int] = (1, 4)
    friendly: float = 0.4
    layouts: Mapping[str, float] = field(default_factory=lambda: LAYOUTS)
    memory: int = 2**32
    broadcasts: float = 0.2
    casts: float = 0.1
