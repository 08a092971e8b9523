from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import view
from gpubench.operators.elementwise.pytorch import iterator
from gpubench.operators.elementwise.pytorch.iterator import Walk, walks
from tests.operators.cases import layouts, shapes


def meetings(walk: Walk) -> list[tuple[int, ...]]:
    """Return, in the walk's order, the distances in bytes of all operands' elements that meet."""
    slowest_first = [range(size) for size in reversed(walk.sizes)]
    found = []
    for place in itertools.product(*slowest_first):
        steps = tuple(reversed(place))
        found.append(
            tuple(
                start + sum(i * stride for i, stride in zip(steps, strides, strict=True))
                for start, strides in zip(walk.starts, walk.strides, strict=True)
            )
        )
    return found


def expected(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the same for the tensors as they are, sorted."""
    return sorted(
        tuple(sum(i * s for i, s in zip(place, stride, strict=True)) for stride in strides)
        for place in np.ndindex(*shape)
    )


@st.composite
def operands(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Draw a shape, and strides in bytes of one to three operands of that shape."""
    shape = draw(shapes(5, 4))
    itemsizes = draw(st.lists(st.sampled_from([1, 2, 4, 16]), min_size=1, max_size=3))
    strides = [tuple(s * size for s in view(shape, draw(layouts(shape))).strides) for size in itemsizes]
    return shape, strides


@settings(deadline=None)
@given(operands())
def test_every_element_meets_its_partners_once(given_operands: tuple[tuple[int, ...], list[tuple[int, ...]]]) -> None:
    """However dims are sorted and merged, the same elements of all operands meet, each combination once."""
    shape, strides = given_operands
    found = [meeting for walk in walks(shape, strides) for meeting in meetings(walk)]
    assert sorted(found) == expected(shape, strides)


@settings(deadline=None)
@given(operands(), st.integers(20, 200))
def test_parts_fit_and_cover(given_operands: tuple[tuple[int, ...], list[tuple[int, ...]]], largest: int) -> None:
    """With a small limit in place of 2^31 - 1: every part keeps to it, and all parts together are the whole."""
    shape, strides = given_operands
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(iterator, "LARGEST_32_BIT", largest)
        parts = walks(shape, strides)
        assert all(part.fits_32_bits for part in parts)
    assert sorted(meeting for part in parts for meeting in meetings(part)) == expected(shape, strides)


def test_dims_are_sorted_by_the_output_first() -> None:
    """A transposed output and an input like it become one run; against a row-major output the output decides."""
    (walk,) = walks((3, 5), [(4, 12), (8, 24)])
    assert walk == Walk((15,), ((4,), (8,)), (0, 0))
    (walk,) = walks((3, 5), [(20, 4), (4, 12)])
    assert walk == Walk((5, 3), ((4, 20), (12, 4)), (0, 0))
    (walk,) = walks((3, 5), [(0, 4), (4, 12)])  # broadcast in the output's place: the next operand decides
    assert walk.sizes == (3, 5)


def test_equal_strides_put_the_smaller_dim_first() -> None:
    """Where the strides of two dims are the same, the smaller size is the faster dim."""
    assert iterator.sorted_dims((3, 5), [(4, 4)]) == (0, 1)
    assert iterator.sorted_dims((5, 3), [(4, 4)]) == (1, 0)


def test_contiguous_tensors_become_one_run() -> None:
    """Any contiguous shape is one dim, a broadcast row two, a scalar none."""
    (walk,) = walks((4, 1, 5, 6), [(120, 120, 24, 4), (60, 60, 12, 2)])
    assert walk.sizes == (120,)
    assert walk.is_contiguous((4, 2))
    assert not walk.is_contiguous((4, 4))
    (walk,) = walks((4, 6), [(24, 4), (0, 4)])
    assert walk.sizes == (6, 4)
    assert not walk.is_contiguous((4, 4))
    (walk,) = walks((), [(), ()])
    assert walk.is_contiguous((4, 4))
    assert walks((3, 0), [(0, 4)]) == ()


def test_the_limit_is_of_bytes_and_of_elements() -> None:
    """2^29 floats just fit, one more does not; halves keep the order and start where they should."""
    assert len(walks((2**29,), [(4,), (4,)])) == 1
    first, second = walks((2**29 + 1,), [(4,), (4,)])
    assert (first.sizes, second.sizes) == ((2**28,), (2**28 + 1,))
    assert (first.starts, second.starts) == ((0, 0), (2**30, 2**30))
    assert len(walks((2**31 - 1,), [(1,)])) == 1
    assert len(walks((2**31,), [(1,)])) == 2
    assert [part.sizes for part in walks((2**32,), [(1,)])] == [(2**31 // 2,)] * 4


def test_the_dim_that_reaches_farthest_is_cut() -> None:
    """A narrow input with far rows is cut along them, although the output would fit."""
    parts = walks((8, 100), [(400, 4), (2**30, 4)])
    assert [part.sizes for part in parts] == [(100, 2)] * 4
    assert [part.starts for part in parts] == [(n * 800, n * 2**31) for n in range(4)]


def test_a_cut_to_size_one_is_merged() -> None:
    """A dim that a cut makes 1 disappears."""
    parts = walks((2, 100), [(400, 4), (2**31, 4)])
    assert [part.sizes for part in parts] == [(100,), (100,)]


@pytest.mark.parametrize(("distance", "fits"), [(2**31 - 2, True), (2**31 - 1, False)])
def test_32_bits_reach_to_the_last_byte(distance: int, fits: bool) -> None:
    """The last byte may be number 2^31 - 1, in every operand."""
    assert Walk((2,), ((4,), (distance,)), (0, 0)).fits_32_bits is fits
    assert Walk((2,), ((distance,), (4,)), (0, 0)).fits_32_bits is fits


def test_of_dims_that_reach_as_far_the_slowest_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both dims reach 16 bytes: the cut goes through the outer one, whose first half is one row."""
    monkeypatch.setattr(iterator, "LARGEST_32_BIT", 30)
    first, *_ = walks((3, 5), [(8, 4)])
    assert first == Walk((5,), ((4,),), (0,))
