"""A view as rows: what is worked on together lies `step` apart, and rows one pitch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpubench.layout import View
from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.dims import part, without


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r starts at r * pitch, its elements are `step` apart. Counted in elements."""

    rows: int
    length: int
    pitch: int
    step: int

    @property
    def contiguous(self) -> bool:
        """True when the view is one piece of memory, row after row."""
        return self.step == 1 and (self.rows == 1 or self.pitch == self.length)

    @property
    def span(self) -> int:
        """Elements from the first to the last, both counted."""
        return (self.rows - 1) * self.pitch + (self.length - 1) * self.step + 1

    def on_grid(self, offset: int, items: int) -> bool:
        """Tell whether each row, and what follows it without a gap, begins as a vector of so many items does.

        offset: of the first row behind a vector's begin. The elements of a row must lie side by side.
        """
        between = 0 if self.rows == 1 else self.pitch - self.length
        return self.step == 1 and offset % items == 0 and between % items == 0

    def vectors(self, items: int) -> int:
        """Return the vectors that a row may touch on the grid of those of rows without gaps, wherever it starts."""
        extra = 0 if self.length % items == 0 or self.rows == 1 else items - 1
        return -(-(self.length + extra) // items)


def rows_along(view: View, dims: Collection[int]) -> Rows | None:
    """Return the view as rows along some dims, one for each index of the others.

    None where these dims, or the others, do not walk as one; the view must have elements.
    """
    along, others = one_pitch(*part(view, sorted(dims))), one_pitch(*without(view, *dims))
    if along is None or others is None:
        return None
    (length, step), (rows, pitch) = along, others
    return Rows(rows, length, pitch if rows > 1 else length, step if length > 1 else 1)


def one_pitch(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Return (size, stride) of dims that walk as one; None when they do not. No dims are one element."""
    sizes, (steps,) = coalesce(shape, strides)
    if not sizes:
        return 1, 1
    return (sizes[0], steps[0]) if len(sizes) == 1 else None
