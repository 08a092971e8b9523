"""Tiles of a walk: which lines go to y through shared memory, and which are better copied first or walked by tiles."""

from __future__ import annotations

import pytest

from gpubench import dtypes
from gpubench.dtypes import NAMES
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import walk_tuning
from gpubench.operators.cumsum.walked import WalkedLines
from gpubench.operators.cumsum.walks import walk_of
from tests.operators.cases import planned
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.cumsum.test_walked_lines import TILES, problem_of
from tests.operators.sampling import some

WALKED = WalkedLines()
REVERSED = (2, 1, 0)


@pytest.mark.parametrize(
    ("length", "shape", "dtype"),
    some([3, 5, 6, 7, 9, 18, 33, 40], [(72, 3, 5), (7, 2, 41), (18, 2, 70), (5, 90, 2)], NAMES, each=3),
)
def test_tiles_wait_in_shared_memory(length: int, shape: tuple[int, ...], dtype: str) -> None:
    """Of one turn and of several, cut at both ends, with one line a thread and with vectors: each line its own sum."""
    with in_force({"FAR_LEAST": 1, "WALK_SHARED": 0, "STAGED_LEAST": 1}):
        made = problem_of([*shape, length], 3, dtype, permute=TILES)
        walk = walk_of(made)
        assert walk is not None
        assert walk.staged == (walk.lanes == 1 and walk.y_run == 1 and walk.far is not None)
        if walk.staged:
            assert planned(WALKED, made).notes["staged"]
            layout = {"permute": TILES}
            outputs(
                "walked_lines",
                dtype,
                runs=1,
                shape=[*shape, length],
                dim=3,
                layout=layout,
                distribution="with_nonfinite",
            )


@pytest.mark.parametrize("near", [-1, 0])
def test_little_data_needs_no_shared_memory(near: int) -> None:
    """Its tiles would be a trip longer, and what they store in pieces the L2 cache joins."""
    lines = -(-walk_tuning.STAGED_LEAST // (6 * 16)) + near
    walk = walk_of(problem_of([16, lines, 6], 2, permute=[2, 1, 0]))
    assert walk is not None
    assert walk.staged == (near == 0)


@pytest.mark.parametrize(("near", "name"), [(-1, "transposed_lines"), (0, "walked_lines")])
def test_short_lines_that_would_be_stored_in_pieces_are_walked(near: int, name: str) -> None:
    """A lane a line stores each by itself, and what it cuts goes to memory in part; longer ones hardly."""
    rows = -(-walk_tuning.STAGED_LEAST // (2048 * 9)) + near
    assert chosen((rows, 2048, 9), 2, "float16", permute=(1, 2, 0)) == name
    longer = walk_tuning.STAGED_LINE // 2 + 1
    assert chosen((rows, 2048, longer), 2, "float16", permute=(1, 2, 0)) == "transposed_lines"


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_vectors_in_another_order_are_walked_by_tiles(dtype: str) -> None:
    """So that what a warp reads and what it writes are whole sectors; lanes would read a vector here and there."""
    items = {"float32": 4, "complex64": 2}[dtype]
    assert chosen((1545, 1024, items), 2, dtype, permute=(1, 0, 2)) == "walked_lines"
    assert chosen((1545, 1024, 2 * items), 2, dtype, permute=(1, 0, 2)) == "lanes_rows"


@pytest.mark.parametrize(("near", "name"), [(-1, "lanes_rows"), (0, "copied_first")])
def test_rows_of_less_than_half_a_vector_in_another_order_are_copied_first(near: int, name: str) -> None:
    """Lanes would be idle for most of it, and odd ones have no vectors to walk by."""
    rows = -(-walk_tuning.APART_LEAST // (16 * 3)) + near
    assert chosen((rows, 16, 3), 2, "float16", permute=(1, 0, 2)) == name
    assert chosen((rows + 9, 16, 5), 2, "float16", permute=(1, 0, 2)) == "lanes_rows"


@pytest.mark.parametrize(("length", "name"), [(16, "walked_lines"), (17, "copied_first")])
def test_odd_rows_of_many_dims_in_another_order_are_copied_first(length: int, name: str) -> None:
    """More than lanes count; whole vectors of them are walked."""
    assert chosen((10, 3, 71, 512, length), 4, "int8", permute=(0, 3, 2, 1, 4)) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "copied_first")])
def test_bytes_whose_sums_cut_sectors_are_copied_first(near: int, name: str) -> None:
    """Their sums are eight times as much: to copy them is little beside storing those in pieces. Wider ones are not."""
    columns = -(-walk_tuning.TORN_LEAST // (8 * 128)) + near
    columns += columns % 4 == 0  # whole sectors are not cut
    near_shape = (8, 128, columns if near == 0 else columns - 4)
    assert chosen(near_shape, 0, "uint8", permute=(0, 2, 1)) == name
    assert chosen(near_shape, 0, "int16", permute=(0, 2, 1)) == "walked_lines"
    assert chosen((8, 128, columns + 4 - columns % 4), 0, "uint8", permute=(0, 2, 1)) == "walked_lines"


@pytest.mark.parametrize(
    ("dtype", "whole"), [("int8", "int16"), ("int16", "float32"), ("int32", "float64"), ("float32", "float64")]
)
def test_long_lines_whose_sums_cut_sectors_are_copied_first(dtype: str, whole: str) -> None:
    """From fewer elements and shorter lines on the narrower they are; not whole sectors, nor many side by side."""
    kind = dtypes.dtype(dtype)
    least, line, most = walk_tuning.TORN[kind.kind, kind.itemsize]
    rows = -(-least // (line * 101))

    def taken(length: int, planes: int, side: int) -> str:
        return chosen((length, planes, side), 0, dtype, permute=(0, 2, 1))

    assert taken(line, rows, 101) == "copied_first"
    assert taken(line, rows - 1, 101) == taken(line - 1, rows + 40, 101) == "walked_lines"
    assert taken(line, rows, 104) == taken(line, 2000, most + 1) == "walked_lines"
    assert chosen((line, rows, 101), 0, whole, permute=(0, 2, 1)) == "walked_lines"


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "copied_first")])
def test_bytes_of_a_few_lines_that_are_a_block_of_y_are_copied_first(near: int, name: str) -> None:
    """Then they are rows of these lines; where they are no block, only more of them."""
    rows = -(-walk_tuning.TORN_BLOCK // 64) + near
    assert chosen((rows, 32, 2), 1, "int8", permute=REVERSED) == name
    assert chosen((rows, 4, 8, 2), 1, "int8", permute=(3, 1, 0, 2)) == "walked_lines"


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "order", "far"),
    [
        ([29, 16, 3195, 7], 0, "complex64", [3, 0, 2, 1], 0),
        ([4, 1395, 64, 34], 2, "int64", [3, 2, 1, 0], 0),
        ([2, 8192, 24, 4], 2, "int64", [3, 1, 2, 0], None),  # a run is half of a sector
        ([4, 16384, 2, 2], 3, "complex128", [2, 3, 1, 0], None),  # a line is half of a sector
        ([2, 524288, 4, 4], 2, "float32", [2, 3, 1, 0], None),  # lines that follow in y share sectors as well
        ([96, 2, 2290, 2], 1, "bfloat16", [3, 2, 0, 1], None),  # little, of which two lines lie side by side in y
    ],
)
def test_tiles_that_fill_no_block_are_for_lines_that_share_no_sector(
    shape: list[int], dim: int, dtype: str, order: list[int], far: int | None
) -> None:
    """What is far lies outside of what a block would take in the order of y, but a tile has few threads' work."""
    walk = walk_of(problem_of(shape, dim, dtype, permute=order))
    assert walk is not None
    assert walk.far == far
