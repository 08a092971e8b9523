"""A view as rows: what is worked on together lies `step` apart, and rows one pitch."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpubench.layout import View
from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.dims import part, without


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r starts at r * pitch, its elements are `step` apart. Counted in elements.

    groups: where r counts in a group, (rows of it, the pitch of groups), then maybe (groups of an outer group, the
    pitch of these); none where there is one pitch.
    side: columns that stand side by side in a row, which begins on as many elements of what is written.
    """

    rows: int
    length: int
    pitch: int
    step: int
    groups: tuple[tuple[int, int], ...] = ()
    side: int = 1

    @property
    def contiguous(self) -> bool:
        """True when the view is one piece of memory, row after row."""
        return self.step == 1 and not self.groups and (self.rows == 1 or self.pitch == self.length)

    @property
    def span(self) -> int:
        """Elements from the first to the last, both counted."""
        counts, pitches = self._levels()
        apart = sum((count - 1) * pitch for count, pitch in zip(counts, pitches, strict=True))
        return apart + (self.length - 1) * self.step + 1

    def _levels(self) -> tuple[list[int], list[int]]:
        """Return how many there are of rows, of groups and of outer groups, each in the next, and their pitches."""
        sizes, pitches = [size for size, _ in self.groups], [pitch for _, pitch in self.groups]
        return [*sizes, self.rows // math.prod(sizes)], [self.pitch, *pitches]

    def on_grid(self, offset: int, items: int) -> bool:
        """Tell whether each row, and what follows it without a gap, begins as a vector of so many items does.

        offset: of the first row behind a vector's begin. The elements of a row must lie side by side.
        """
        counts, pitches = self._levels()
        inner = [math.prod(counts[:level]) for level in range(len(counts))]  # rows of one of each
        levels = zip(counts, pitches, inner, strict=True)
        gaps = [pitch - rows * self.length for count, pitch, rows in levels if count > 1]
        return self.step == 1 and all(distance % items == 0 for distance in (offset, *gaps))

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
    """Return the view as rows along some dims whose others walk as two or three: rows of a group, groups, outer groups.

    None where they walk as one, or as more; the view must have elements.
    """
    along = one_pitch(*part(view, sorted(dims)))
    sizes, (steps,) = coalesce(*without(view, *dims))
    rows = math.prod(sizes)
    if along is None or len(sizes) not in (2, 3) or rows >= 2**31:
        return None
    (length, step), pitch = along, steps[-1]
    groups = tuple(zip(sizes[:0:-1], steps[-2::-1], strict=True))
    return Rows(rows, length, pitch, step if length > 1 else 1, groups)


def one_pitch(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Return (size, stride) of dims that walk as one; None when they do not. No dims are one element."""
    sizes, (steps,) = coalesce(shape, strides)
    if not sizes:
        return 1, 1
    return (sizes[0], steps[0]) if len(sizes) == 1 else None
