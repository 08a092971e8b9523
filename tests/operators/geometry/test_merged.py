"""Merged dims: the same elements in fewer dims, in the order of memory."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gpubench.operators.geometry.merged import merged_dims, result_steps
from gpubench.operators.geometry.rounding import ceil_div, power_of_two


@given(st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4), st.sets(st.integers(0, 3)))
def test_merged_dims_walk_the_same_elements(order: list[int], shape: list[int], reduced: set[int]) -> None:
    """Each pair of places in both operands is walked once, by dims that rise in memory."""
    sizes = [shape[dim] for dim in order]
    whole = result_steps(shape, ())
    steps = ([whole[dim] for dim in order], result_steps(sizes, reduced))
    found = merged_dims(sizes, *steps)

    def places(dims: list[tuple[int, tuple[int, ...]]]) -> list[tuple[int, ...]]:
        walks = itertools.product(*(range(size) for size, _ in dims))
        return sorted(
            tuple(sum(index * dim[1][operand] for index, dim in zip(walk, dims, strict=True)) for operand in (0, 1))
            for walk in walks
        )

    assert places(list(found)) == places([(size, (steps[0][dim], steps[1][dim])) for dim, size in enumerate(sizes)])
    assert sorted(found, key=lambda dim: dim.steps) == list(found)
    assert all(dim.size > 1 for dim in found)


def test_a_contiguous_view_is_one_dim_and_a_result_lacks_what_is_reduced() -> None:
    """Neighbours merge where all operands walk them as one, and only there."""
    assert merged_dims((3, 4, 5), (20, 5, 1)) == ((60, (1,)),)
    assert result_steps((3, 4, 5), (1,)) == (5, 0, 1)
    assert merged_dims((3, 4, 5), (20, 5, 1), (5, 0, 1)) == ((5, (1, 1)), (4, (5, 0)), (3, (20, 5)))
    assert merged_dims((), (), ()) == ()


def test_whole_numbers_round_up() -> None:
    """Not beyond what is whole already."""
    assert [ceil_div(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [power_of_two(n) for n in (0, 1, 2, 3, 4, 5)] == [1, 1, 2, 4, 4, 8]
