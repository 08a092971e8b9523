"""How owners tile positions: in whose order, and how wide."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.operators.constants import in_force
from gpubench.operators.index_add import owned
from gpubench.operators.index_add.owned_tiles import is_by_source, tile_of
from gpubench.operators.index_add.strides import strides_of
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import PATTERNS, answers, noted, problem_of
from tests.operators.on_host import one_sm

APART = {"layout": {"permute": (0, 1, 3, 2)}, "source_layout": {"permute": (2, 0, 3, 1)}}
"""Dims of two, which make no rectangles, between elements that lie side by side in one operand alone."""


@pytest.mark.parametrize("pattern", [*PATTERNS[:-2], {"below": 2}], ids=str)
@pytest.mark.parametrize(("indices", "dtype"), [(40, "float32"), (700, "float32"), (700, "int8"), (300, "complex128")])
def test_positions_in_the_order_of_the_source_are_right(indices: int, dtype: str, pattern: Any) -> None:
    """Wherever their places are; sorted by the block, or in pieces."""
    problem = problem_of((6, 2, 9, 32), indices, dtype, pattern=pattern, alpha=-2.0, **APART)
    plans = []
    for least in (0.0, 1e9):
        with in_force({"BY_SOURCE": least, "BY_SOURCE_APART": 0.0}):
            plans.append(noted(owned.build(problem, one_sm())))
    assert plans[0].launches[-1].arguments != plans[1].launches[-1].arguments
    answers(problem, plans[0], "random:3")


@pytest.mark.parametrize(
    ("shape", "indices", "dim", "layouts", "by_source"),
    [
        ((21_448, 2, 32, 2), 26, 1, {"layout": {"permute": (3, 2, 0, 1)}}, True),
        ((21_448, 2, 32, 2), 26, 1, {}, False),
        ((20_000, 2, 300), 11, 1, {"source_layout": {"permute": (1, 2, 0)}}, False),
        ((20_000, 2, 300), 12, 1, {"source_layout": {"permute": (1, 2, 0)}}, True),
        (
            (8, 8697, 2, 32),
            9,
            0,
            {"layout": {"permute": (3, 1, 0, 2)}, "source_layout": {"permute": (1, 0, 3, 2)}},
            False,
        ),
    ],
)
def test_the_source_has_its_order_where_that_is_fewer_sectors(
    shape: Any, indices: int, dim: int, layouts: Any, by_source: bool
) -> None:
    """Not where operands agree, rectangles hold whole sectors of both and places have few indices, or all places would
    be sectors of their own.
    """
    strides = strides_of(problem_of(shape, indices, "float32", dim=dim, **layouts))
    tile = tile_of(strides, "float32", 2**17, DEVICE)
    assert is_by_source(strides, "float32", tile) == by_source


def test_sectors_of_a_position_are_those_of_memory() -> None:
    """Eight float32 side by side are one; a step of 32 bytes makes each its own; beyond the positions is nothing."""
    problem = problem_of((5, 4, 64), 9, "float32", source_layout={"permute": (0, 2, 1)})
    strides = strides_of(problem)
    assert strides.sectors(0, 256, 4) == 1 / 8
    assert strides.sectors(1, 8, 4) == 4 / 8
    assert strides.by_source().sectors(1, 512, 4) == 1 / 8
    assert strides.by_source().dims == strides.dims[::-1]


@pytest.mark.parametrize(("dtype", "width"), [("float32", 256), ("int8", 32)])
def test_long_lists_have_wide_tiles_but_of_small_integers(dtype: str, width: int) -> None:
    """Pieces fill the GPU; small integers' atomics at their ends would cost more."""
    problem = problem_of((40, 3, 300), 400_000, dtype, source_layout={"permute": (1, 0, 2)})
    assert tile_of(strides_of(problem), dtype, 0, DEVICE).width == width
