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

    Dims across that both views walk as one count as one.

    y must be contiguous. None, too, where there is no element or `dim` has a single one.
    """
    if not y.is_contiguous or x.size == 0 or not x.shape or x.shape[dim] == 1:
        return None
    others = [place for place in range(len(x.shape)) if place != dim]
    shape = [x.shape[place] for place in others]
    sizes, (x_steps, y_steps) = coalesce(shape, *([view.strides[place] for place in others] for view in (x, y)))
    along = y.strides[dim] != 1  # then y's fastest dim is the one across
    beside = [place for place, step in enumerate(y_steps if along else x_steps) if step == 1]
    if not beside or (along and x.strides[dim] != 1):
        return None
    across = beside[-1]
    rest = [place for place in range(len(sizes)) if place != across]
    steps = ([all_steps[place] for place in rest] for all_steps in (x_steps, y_steps))
    batch, (x_batch, y_batch) = coalesce([sizes[place] for place in rest], *steps)
    return Transposed(
        along,
        x.shape[dim],
        sizes[across],
        x.strides[dim],
        x_steps[across],
        y.strides[dim],
        y_steps[across],
        batch,
        x_batch,
        y_batch,
    )
