"""What a suite may write for `sum`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpubench.layout import Layout


@dataclass(frozen=True, slots=True)
class SumParams:
    """The sum of x over a set of dims; y is contiguous.

    shape: sizes of x, slowest first; `()` is a scalar. dim: one dim, a list of dims (in any order, negative ones
    counted from the end) or "all". An empty list reduces nothing, as in numpy (torch would reduce everything: write
    "all" for that). Normalised params hold the sorted tuple. keepdim: reduced dims stay, with size 1. layout: how x
    lies in memory.
    """

    shape: tuple[int, ...]
    dim: int | tuple[int, ...] | Literal["all"] = "all"
    keepdim: bool = False
    layout: Layout = field(default_factory=Layout)
