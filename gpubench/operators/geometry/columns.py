"""A view as columns: what is worked on together lies a row apart, and neighbouring columns side by side."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gpubench.layout import View
from gpubench.operators.geometry.rows import one_pitch


@dataclass(frozen=True, slots=True)
class Columns:
    """`outer` blocks of `length` rows of `inner` neighbouring columns. Pitches in elements."""

    outer: int
    length: int
    inner: int
    outer_pitch: int
    row_pitch: int

    @property
    def contiguous(self) -> bool:
        """True when each block is one piece of memory."""
        return self.length == 1 or self.row_pitch == self.inner

    @property
    def span(self) -> int:
        """Elements from the first to the last, both counted."""
        return (self.outer - 1) * self.outer_pitch + (self.length - 1) * self.row_pitch + self.inner

    def on_grid(self, offset: int, items: int) -> bool:
        """Tell whether each row, also where rows follow without gaps, begins as a vector of so many items does.

        offset: of the first row behind a vector's begin.
        """
        return all(step % items == 0 for step in (self.inner, self.row_pitch, self.outer_pitch, offset))


def columns_along(view: View, dims: Collection[int]) -> Columns | None:
    """Return the view as columns along some neighbouring dims.

    None where there are no columns beside each other, or memory has no such form; the view must have elements.
    """
    first, behind = min(dims), max(dims) + 1
    outer = one_pitch(view.shape[:first], view.strides[:first])
    along = one_pitch(view.shape[first:behind], view.strides[first:behind])
    inner = one_pitch(view.shape[behind:], view.strides[behind:])
    if outer is None or along is None or inner is None or inner[0] == 1 or inner[1] != 1:
        return None
    length, row_pitch = along if along[0] > 1 else (1, inner[0])
    return Columns(outer[0], length, inner[0], outer[1] if outer[0] > 1 else length * inner[0], row_pitch)
