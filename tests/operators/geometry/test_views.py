"""Rows, columns and transposed lines name the elements of the view that they stand for, each once and in order."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import Layout, View, view
from gpubench.operators.geometry.columns import columns_along
from gpubench.operators.geometry.rows import Rows, rows_along, rows_in_groups
from gpubench.operators.geometry.transposed import transposed_along
from tests.operators.cases import layouts


@st.composite
def views(draw: st.DrawFn) -> tuple[View, int]:
    """Draw views with elements, and one of their dims."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    kind = draw(st.integers(0, 2))  # most random layouts have no form at all
    layout = Layout() if kind == 0 else Layout(step=2, offset=1) if kind == 1 else draw(layouts(shape))
    return view(shape, layout), draw(st.integers(0, len(shape) - 1))


def offsets(one: View, order: list[int]) -> list[int]:
    """Return the distances from the first element, dims in this order, the last one fastest."""
    sizes, strides = [one.shape[dim] for dim in order], [one.strides[dim] for dim in order]
    return [sum(i * stride for i, stride in zip(at, strides, strict=True)) for at in np.ndindex(*sizes)]


@settings(deadline=None)
@given(views())
def test_rows_are_the_view(drawn: tuple[View, int]) -> None:
    """Row after row along the dim: the same elements in the same order, from the first to the last of the span."""
    one, dim = drawn
    rows = rows_along(one, (dim,))
    if rows is None:
        assert len(one.shape) > 2
        return
    found = [row * rows.pitch + place * rows.step for row in range(rows.rows) for place in range(rows.length)]
    assert found == offsets(one, [*(other for other in range(len(one.shape)) if other != dim), dim])
    assert max(found) + 1 == rows.span
    if rows.contiguous:
        assert found == list(range(one.size))


@settings(deadline=None)
@given(views(), st.sampled_from([1, 2, 4, 8]))
def test_rows_in_groups_are_the_view(drawn: tuple[View, int], items: int) -> None:
    """The same of rows in groups, and in groups of groups; on the grid are those of which each row is."""
    one, dim = drawn
    rows = rows_in_groups(one, (dim,))
    if rows is None:
        return
    starts = []
    for row in range(rows.rows):
        start, rest, pitch = 0, row, rows.pitch
        for size, next_pitch in rows.groups:
            start, rest, pitch = start + rest % size * pitch, rest // size, next_pitch
        starts.append(start + rest * pitch)
    found = [start + place * rows.step for start in starts for place in range(rows.length)]
    assert found == offsets(one, [*(other for other in range(len(one.shape)) if other != dim), dim])
    assert max(found) + 1 == rows.span
    stands = all((start - row * rows.length) % items == 0 for row, start in enumerate(starts))
    assert rows.on_grid(0, items) == (rows.step == 1 and stands)


@settings(deadline=None)
@given(views())
def test_columns_are_the_view(drawn: tuple[View, int]) -> None:
    """Block after block, row after row, columns side by side: the elements in the order of the dims."""
    one, dim = drawn
    columns = columns_along(one, (dim,))
    if columns is None:
        return
    found = [
        outer * columns.outer_pitch + row * columns.row_pitch + column
        for outer in range(columns.outer)
        for row in range(columns.length)
        for column in range(columns.inner)
    ]
    assert found == offsets(one, list(range(len(one.shape))))
    assert max(found) + 1 == columns.span
    assert columns.length == one.shape[dim]


def test_several_dims_may_be_worked_along() -> None:
    """A sum's dims: the last two as one row, the middle two as one column."""
    one = view((4, 3, 5, 7))
    rows = rows_along(one, (2, 3))
    assert rows == Rows(12, 35, 35, 1)
    columns = columns_along(one, (1, 2))
    assert columns is not None
    assert (columns.outer, columns.length, columns.inner, columns.row_pitch) == (4, 15, 7, 7)
    assert rows_along(one, (0, 3)) is None


@settings(deadline=None)
@given(st.permutations([0, 1, 2]), st.integers(0, 2), st.integers(0, 3))
def test_transposed_lines_are_both_views(order: list[int], dim: int, offset: int) -> None:
    """Along and across the lines, batch after batch, x and y meet each element once."""
    shape = (3, 4, 5)
    x, y = view(shape, Layout(permute=tuple(order), offset=offset)), view(shape)
    lines = transposed_along(x, y, dim)
    fastest = order[-1]
    assert (lines is None) == (fastest == 2 or dim not in (2, fastest))
    if lines is None:
        return
    assert (lines.length, lines.x_along_lines) == (shape[dim], dim != 2)
    across = 2 if lines.x_along_lines else fastest
    assert lines.across % shape[across] == 0  # and its neighbours, where both walk them as one
    assert lines.across * math.prod(lines.sizes) * lines.length == 60
    assert lines.strips(2) == -(-lines.across // 2) * lines.batches
    for along, beside, batch, operand in (
        (lines.x_along, lines.x_across, lines.x_batch, x),
        (lines.y_along, lines.y_across, lines.y_batch, y),
    ):
        found = {
            place * along + line * beside + sum(i * step for i, step in zip(at, batch, strict=True))
            for place in range(lines.length)
            for line in range(lines.across)
            for at in np.ndindex(*lines.sizes)
        }
        assert found == set(offsets(operand, [0, 1, 2]))


@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 50), st.integers(0, 9), st.sampled_from([1, 2, 4, 8]))
def test_vectors_of_a_row_are_enough_wherever_it_starts(
    count: int, length: int, gap: int, offset: int, items: int
) -> None:
    """Rows of y follow without gaps: none touches more vectors than promised; on the grid all begin on one."""
    rows = Rows(count, length, length + gap, 1)
    touched = [-(-((row * length) % items + length) // items) for row in range(count)]
    assert max(touched) <= rows.vectors(items) <= max(touched) + 1
    if rows.on_grid(offset, items):
        starts = [(offset + row * rows.pitch - row * length) % items for row in range(count)]
        assert set(starts) == {0}
