"""Dims of a view by themselves: none is lost, none counted twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpubench.layout import view
from gpubench.operators.geometry.dims import kept_dims, part, split, without
from tests.operators.cases import layouts


@given(st.data())
def test_the_two_parts_are_the_view(data: st.DataObject) -> None:
    """Sizes and strides of kept and reduced dims together are those of the view."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), max_size=4)))
    one = view(shape, data.draw(layouts(shape)))
    reduced = tuple(dim for dim in range(len(shape)) if data.draw(st.booleans()))
    kept, summed = split(one, reduced)
    order = (*kept_dims(len(shape), reduced), *reduced)
    assert sorted(order) == list(range(len(shape)))
    assert (kept[0] + summed[0], kept[1] + summed[1]) == part(one, order)


def test_a_scalar_has_no_dims() -> None:
    """Its one dim, which operators count, is not there to be left out."""
    assert without(view(()), 0) == ((), ())
