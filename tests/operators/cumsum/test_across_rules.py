"""The rule of `auto` for little across x, which is not turned, and for lines that a turn would store in pieces."""

from __future__ import annotations

import pytest

from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import transposed_tuning, tuning, walk_tuning
from tests.operators.cases import DEVICE
from tests.operators.cumsum.edges import chosen

SMS = DEVICE.sm_count


def test_lines_across_x_are_rows_with_steps_where_strips_are_few_or_short() -> None:
    """Neighbouring rows share x's sectors in the caches; enough strips of long lines are better turned."""
    strips = -(-round(10 * tuning.FULL_SHARE * SMS) // 10)  # of the fewest lines
    enough, length = transposed_tuning.RING_LINES[-1] * strips, transposed_tuning.STRAIGHT
    shared = walk_tuning.SHARED_STRIPS // length  # lines that lanes share
    assert chosen((shared, length), 1, permute=(1, 0)) == "walked_lines"
    assert chosen((shared + 64, length), 1, permute=(1, 0)) == "walked_lines"
    with in_force({"STRAIGHT_LITTLE": 1 << 17}):
        assert chosen((shared + 64, length + 1), 1, permute=(1, 0)) == "transposed_ring"
        assert chosen((shared + 64, length - 1), 1, permute=(1, 0)) == "lanes_rows"
        assert chosen((enough, 3 * length), 1, permute=(1, 0)) == "transposed_ring"
        assert chosen((enough - transposed_tuning.RING_LINES[-1], 3 * length), 1, permute=(1, 0)) == "lanes_rows"
    assert chosen((99, 884), 1, "int16", permute=(1, 0)) == "block_rows"


@pytest.mark.parametrize(("near", "name"), [(-1, "block_rows"), (0, "transposed_ring"), (1, "transposed_tiles")])
def test_little_across_x_is_not_worth_a_turn(near: int, name: str) -> None:
    """The L2 cache keeps the sectors that rows touch, wherever neighbouring rows lie."""
    rows = transposed_tuning.STRAIGHT_LITTLE // 256 + near
    assert chosen((rows, 256), 1, "int32", permute=(1, 0)) == name
    assert chosen((rows // 32 + near, 32, 256), 2, "float64", permute=(2, 1, 0)) == name
    assert chosen((8 * rows, 128), 1, "uint8", permute=(1, 0)) == ("lanes_rows" if near < 0 else "transposed_lines")


@pytest.mark.parametrize(("length", "name"), [(11, "walked_lines"), (12, "lanes_rows"), (64, "lanes_rows")])
def test_short_lines_of_little_across_x_are_rows(length: int, name: str) -> None:
    """A thread would ask for a line in one turn, lanes ask for it at once."""
    assert chosen((6, 1000, length), 2, "int64", permute=(2, 1, 0)) == name
    assert chosen((6, 100, length), 2, "int64", permute=(2, 1, 0)) != "transposed_lines"


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "walked_lines"), (1, "lanes_rows")])
def test_little_of_16_bit_floats_across_x_is_walked(near: int, name: str) -> None:
    """By vectors of y, where rows are whole ones; of longer rows that cut them a block has one each."""
    assert chosen((walk_tuning.HALF_WALKED // 64 + near, 64), 1, "float16", permute=(1, 0)) == name
    assert chosen((walk_tuning.HALF_BLOCKS // 128 + near, 129), 1, "float16", permute=(1, 0)) == "lanes_rows"
    assert chosen((walk_tuning.HALF_BLOCKS // 132 + near, 129), 1, "bfloat16", permute=(1, 0)) == "block_rows"
    assert chosen((1000, walk_tuning.HALF_BLOCK - 1), 1, "bfloat16", permute=(1, 0)) == "lanes_rows"


@pytest.mark.parametrize(("near", "name"), [(0, "lanes_rows"), (1, "transposed_lines")])
def test_a_little_of_16_bit_elements_across_x_is_rows_with_steps(near: int, name: str) -> None:
    """Lanes hold a row; though strips are enough, tiles take longer."""
    rows = transposed_tuning.STRAIGHT_PAIRS // 200 + near
    assert chosen((rows, 200), 1, "int16", permute=(1, 0)) == name
    assert chosen((rows, 200), 1, "float32", permute=(1, 0)) == "transposed_lines"


@pytest.mark.parametrize(("dtype", "items"), [("float32", 4), ("int16", 2)])
def test_rows_in_pairs_are_turned_where_lanes_touch_many_lines_of_the_cache(dtype: str, items: int) -> None:
    """What counts is how far the vector of a lane reaches: 2 * items elements of x."""
    reach = 2 * items * {"float32": 4, "int16": 2}[dtype]
    most = transposed_tuning.STRAIGHT_ELEMENTS * 128 // reach // (2 * 128)
    assert chosen((most, 2, 128), 2, dtype, permute=(0, 2, 1)) == "lanes_rows"
    assert chosen((most + 1, 2, 128), 2, dtype, permute=(0, 2, 1)) == "transposed_lines"


@pytest.mark.parametrize(("near", "name"), [(-1, "transposed_lines"), (0, "copied_first"), (1, "copied_first")])
def test_torn_lines_of_narrow_integers_are_copied_first(near: int, name: str) -> None:
    """From so much on that a copy of few bytes is worth its launch; lines of a sector are walked."""
    short, odd = transposed_tuning.NARROW_TORN // 10, transposed_tuning.NARROW_ODD // 33
    few = transposed_tuning.COPIED_LEAST // 32 // 96
    assert chosen(((short // 64 + 1 + near) * 64, 1, 1, 10), 3, "int16", permute=(3, 1, 2, 0)) != "copied_first"
    assert chosen((short // 2560 + 1 + near, 512, 5, 10), 3, "int16", permute=(2, 0, 3, 1)) == name
    assert chosen((odd // 256 + 1 + near, 16, 16, 33), 3, "int8", permute=(2, 0, 3, 1)) == name
    assert chosen((few + 1 + near, 32, 96), 2, "int8", permute=(0, 2, 1)) == name
    assert chosen((17903, 16, 4, 4), 3, "int8", permute=(2, 0, 3, 1)) == "walked_lines"
