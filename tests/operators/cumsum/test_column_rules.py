"""The rule of `auto` for columns: walks, strips, linked or on the chip, at every edge and one step to either side."""

from __future__ import annotations

import pytest

from gpubench.operators import OPERATORS
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import resident_tuning, tuning, walk_tuning
from tests.operators.cases import DEVICE, auto, make_case, refusal
from tests.operators.cumsum.edges import chosen

CUMSUM = OPERATORS["cumsum"]
SMS = DEVICE.sm_count
MOST_ROWS = 192192
"""Of 64 float32 that `resident_columns` takes on 132 SMs: 49 MB."""


@pytest.mark.parametrize(("length", "name"), [(31, "columns"), (32, "columns"), (33, "columns")])
def test_columns_by_their_length(length: int, name: str) -> None:
    """Columns of few rows stay in registers."""
    assert chosen((length, 16384), 0) == name


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((walk_tuning.ONE_TURN, 40000), "walked_lines"),
        ((walk_tuning.ONE_TURN + 1, 40000), "columns"),
        ((walk_tuning.FEW_TURNS, walk_tuning.LITTLE_COLUMNS // walk_tuning.FEW_TURNS), "columns"),
        ((walk_tuning.FEW_TURNS, walk_tuning.LITTLE_COLUMNS // walk_tuning.FEW_TURNS + 1), "walked_lines"),
    ],
)
def test_little_of_a_few_turns_goes_by_strips(shape: tuple[int, int], name: str) -> None:
    """What a thread would walk in one turn, and much of anything, is walked."""
    assert chosen(shape, 0) == name


@pytest.mark.parametrize(("inner", "name"), [(15, "walked_lines"), (16, "columns"), (17, "columns")])
def test_short_narrow_columns_are_walked(inner: int, name: str) -> None:
    """Fewer columns side by side than a strip is worth."""
    assert chosen((200, walk_tuning.WALK_ROWS[-1] + 1, inner), 1) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "columns"), (0, "walked_lines"), (1, "walked_lines")])
def test_short_columns_are_walked_where_they_are_many(near: int, name: str) -> None:
    """A vector of four columns a thread; longer ones are not."""
    lines = 4 * (tuning.LEAST_WALKS + near)
    assert chosen((tuning.WALKED_COLUMN, lines), 0) == name
    assert chosen((tuning.WALKED_COLUMN + 1, lines), 0) == "columns"


@pytest.mark.parametrize(("near", "name"), [(-1, "linked_columns"), (0, "linked_columns"), (1, "column_forward")])
def test_a_few_megabytes_of_columns_are_linked(near: int, name: str) -> None:
    """Up to so many rows; the exchange of narrow strips is short. More by vectors, of which a block has a tile."""
    assert chosen((tuning.LINKED_COLUMN + near, 15), 0) == name
    assert chosen((tuning.LINKED_LONG + near, 16), 0) == name
    assert chosen((tuning.LINKED_COLUMN + near, 16), 0, "float16") == name  # vectors of eight


@pytest.mark.parametrize(("near", "name"), [(-1, "column_forward"), (0, "resident_columns"), (1, "resident_columns")])
def test_columns_stay_on_the_chip_from_a_few_megabytes_on(near: int, name: str) -> None:
    """One exchange of sums in the place of one a tile is worth it where there are many tiles; but x must fit."""
    assert chosen((resident_tuning.LEAST_BYTES // 96 + near, 24), 0) == name
    assert chosen((resident_tuning.LEAST_BYTES // 128 + near, 64), 0, "float16") == name
    assert chosen((262144, 64), 0) == "column_forward"
    assert chosen((resident_tuning.LEAST_BYTES // 64 + near, 64), 0, "int8") == "column_forward"
    assert chosen((tuning.LINKED_COLUMN, 128), 0) == "linked_columns"


@pytest.mark.parametrize(("near", "name"), [(-1, "resident_columns"), (0, "resident_columns"), (1, "column_forward")])
def test_few_blocks_of_columns_stay_on_the_chip(near: int, name: str) -> None:
    """Each block of columns has several SMs."""
    assert chosen((SMS // resident_tuning.LEAST_SHARE + near, tuning.LINKED_COLUMN + 1, 16), 1) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "resident_columns"), (0, "resident_columns"), (1, "column_forward")])
def test_columns_that_do_not_fit_the_chip_share_strips(near: int, name: str) -> None:
    """Registers and shared memory of all SMs, and a seventh that is read twice."""
    assert chosen((MOST_ROWS + near, 64), 0) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "columns"), (0, "walked_lines")])
def test_many_columns_are_walked_further(near: int, name: str) -> None:
    """Where threads fill the device, a strip's exchange is not worth it; of few rows it never is."""
    assert chosen((walk_tuning.MANY_COLUMN, 4 * (walk_tuning.MANY_WALKS + near)), 0) == name
    assert chosen((walk_tuning.WALK_ROWS[2] - near, 44), 0) == ("walked_lines" if near == 0 else "columns")
    assert chosen((walk_tuning.MANY_COLUMN + 1, 4 * walk_tuning.MANY_WALKS), 0) == "columns"


@pytest.mark.parametrize(("near", "name"), [(0, "walked_lines"), (1, "columns")])
def test_narrow_columns_are_walked_the_further_the_emptier_a_strip(near: int, name: str) -> None:
    """Three columns leave four fifths of a strip's lanes idle. So where they do not go by runs."""
    with in_force({"RUN_LEAST": 1 << 40}):
        assert chosen((5000, tuning.WALKED_COLUMN * 5 + near, 3), 1, "int32") == name


def test_more_strips_than_a_grid_has_blocks_are_left_to_others() -> None:
    """Two-row columns of over four billion matrices: `columns` refuses, `auto` has a plan."""
    problem = CUMSUM.problem(make_case("cumsum", "int8", shape=(2**32 + 5, 2, 3), dim=1))
    columns = next(variant for variant in CUMSUM.variants if variant.name == "columns")
    assert "grid" in (refusal(columns, problem) or "")
    assert auto(problem)


@pytest.mark.parametrize(
    ("dtype", "name"), [("float32", "walked_lines"), ("int32", "columns"), ("int16", "walked_lines")]
)
def test_many_single_columns_are_walked_far(dtype: str, name: str) -> None:
    """Up to MANY_SINGLE_COLUMN rows of 16384 threads and more, where strips would have a column a lane."""
    assert chosen((4, walk_tuning.MANY_COLUMN + 1, 8193), 1, dtype) == name
    assert chosen((4, walk_tuning.MANY_SINGLE_COLUMN + 1, 8193), 1, dtype) == "columns"
