"""What a suite may write for `cumsum`."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpubench.layout import Layout


@dataclass(frozen=True, slots=True)
class CumsumParams:
    """The inclusive running sum of x along one dim; y has x's shape and is contiguous.

    shape: sizes of x, slowest first; `()` is a scalar. dim: counted from 0, or from the end when negative; a scalar
    takes 0 and -1. layout: how x lies in memory.
    """

    shape: tuple[int, ...]
    dim: int = -1
    layout: Layout = field(default_factory=Layout)
