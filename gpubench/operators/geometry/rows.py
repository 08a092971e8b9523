"""A view as rows: what is worked on together lies `step` apart, and rows one pitch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpubench.layout import View
from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.dims import part, without


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r starts at r * pitch, its elements are `step` apart. Counted in elements.

    group: rows of a group, where groups begin `group_pitch` apart and r counts in a group; 0 where there are none.
    side: columns that stand side by side in a row, which begins on as many elements of what is written.
    """

    rows: int
    length: int
    pitch: int
    step: int
    group: int = 0
    group_pitch: int = 0
    side: int = 1

    @property
    def contiguous(self) -> bool:
        """True when the view is one piece of memory, row after row."""
        return self.step == 1 and self.group == 0 and (self.rows == 1 or self.pitch == self.length)

    @property
    def span(self) -> int:
        """Elements from the first to the last, both counted."""
        in_groups = (self.rows // self.group - 1) * self.group_pitch if self.group else 0
        return in_groups + ((self.group or self.rows) - 1) * self.pitch + (self.length - 1) * self.step + 1

    def on_grid(self, offset: int, items: int) -> bool:
        """Tell whether each row, and what follows it without a gap, begins as a vector of so many items does.

        offset: of the first row behind a vector's begin. The elements of a row must lie side by side.
        """
        between = 0 if self.rows == 1 else self.pitch - self.length
        after = self.group_pitch - self.group * self.length if self.group else 0
        return self.step == 1 and all(distance % items == 0 for distance in (offset, between, after))

    def vectors(self, items: int) -> int:
        """Return the vectors that a row may touch on the grid of those of rows without gaps, wherever it starts."""
        extra = 0 if self.length % items == 0 or self.rows == 1 else items - self.side
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


def rows_in_groups(view: View, dims: Collection[int]) -> Rows | None:
    """Return the view as rows along some dims whose others walk as two: rows of a group, and groups of rows.

    None where they walk as one, or as more; the view must have elements.
    """
    along = one_pitch(*part(view, sorted(dims)))
    sizes, (steps,) = coalesce(*without(view, *dims))
    if along is None or len(sizes) != 2 or sizes[0] * sizes[1] >= 2**31:
        return None
    (length, step), (groups, group) = along, sizes
    return Rows(groups * group, length, steps[1], step if length > 1 else 1, group, steps[0])


def one_pitch(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Return (size, stride) of dims that walk as one; None when they do not. No dims are one element."""
    sizes, (steps,) = coalesce(shape, strides)
    if not sizes:
        return 1, 1
    return (sizes[0], steps[0]) if len(sizes) == 1 else None
