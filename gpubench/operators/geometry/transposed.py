"""Two views with different fastest dims, one of which is worked along."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpubench.layout import View
from gpubench.operators.coalesce import coalesce


@dataclass(frozen=True, slots=True)
class Transposed:
    """Lines of `length` elements, `across` of them side by side, and further dims in batches. Distances in elements.

    x_along_lines: x's fastest dim is the one along the lines and y's the one across; otherwise the other way round.
    """

    x_along_lines: bool
    length: int
    across: int
    x_along: int
    x_across: int
    y_along: int
    y_across: int
    sizes: tuple[int, ...]
    x_batch: tuple[int, ...]
    y_batch: tuple[int, ...]

    @property
    def batches(self) -> int:
        """How many pairs of the two dims there are."""
        return math.prod(self.sizes)

    def strips(self, lines: int) -> int:
        """Return the strips of so many lines."""
        return -(-self.across // lines) * self.batches


def transposed_along(x: View, y: View, dim: int) -> Transposed | None:
    """Return the views as transposed lines along a dim; None where their fastest dims agree, or `dim` is neither.

    y must be contiguous. None, too, where there is no element or `dim` has a single one.
    """
    if not y.is_contiguous or x.size == 0 or not x.shape or x.shape[dim] == 1:
        return None
    long = [place for place, size in enumerate(x.shape) if size > 1]
    across = _across(x, dim, long)
    if across is None:
        return None
    rest = [place for place in long if place not in (dim, across)]
    steps = ([view.strides[place] for place in rest] for view in (x, y))
    sizes, (x_batch, y_batch) = coalesce([x.shape[place] for place in rest], *steps)
    return Transposed(
        long[-1] != dim,
        x.shape[dim],
        x.shape[across],
        x.strides[dim],
        x.strides[across],
        y.strides[dim],
        y.strides[across],
        sizes,
        x_batch,
        y_batch,
    )


def _across(x: View, dim: int, long: list[int]) -> int | None:
    """Return the dim across the lines: y's last where x is fastest along them, else x's fastest."""
    if long[-1] != dim:
        return long[-1] if x.strides[dim] == 1 else None
    return next((place for place in long if place != dim and x.strides[place] == 1), None)
