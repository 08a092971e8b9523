"""`walked_lines`: its rule, and its kernel on the simulator, every access examined."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from gpubench.dtypes import NAMES
from gpubench.dtypes import dtype as dtype_of
from gpubench.operators import OPERATORS
from gpubench.operators.constants import in_force
from gpubench.operators.cumsum import walk_tuning
from gpubench.operators.cumsum.walked import WalkedLines, shared_vectors, shares_lines
from gpubench.operators.cumsum.walks import walk_of
from gpubench.operators.geometry.vectors import vector_items
from gpubench.operators.results import sum_dtype
from gpubench.operators.sectors import SECTOR
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]
WALKED = WalkedLines()
FIVE = {"permute": [4, 1, 3, 0, 2]}


def problem_of(shape: list[int], dim: int, dtype: str = "float32", **layout: Any) -> Any:
    """Return the problem of such a case."""
    return CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=dim, layout=layout))


@pytest.mark.parametrize(("few", "dtype"), some([0, 2**31], NAMES))
def test_lines_of_any_length(few: int, dtype: str) -> None:
    """Whole turns and the last one cut, in vectors and alone: each line its own sum, NaN and infinity, too."""
    with in_force({"WALK_FEW": few, "WALK_SHARED": 0}):
        for length in (1, 8, 9, 16, 39):
            for inner in (48, 31):
                wide = [5, length, inner]
                outputs("walked_lines", dtype, runs=1, shape=wide, dim=1, distribution="with_nonfinite")


LAYOUTS = [FIVE, {"step": 2}, {"expand": [0]}, {"offset": 1}, {"offset": 16}]


@pytest.mark.parametrize(("layout", "dim", "schedule"), some(LAYOUTS, [0, 2, 4], ["reverse", "random:3"], each=3))
def test_lines_of_any_layout(layout: dict[str, Any], dim: int, schedule: str) -> None:
    """Five dims in another order, with gaps, broadcast, off the grid of vectors; any of them summed."""
    outputs("walked_lines", "bfloat16", schedule, 1, shape=[3, 2, 7, 4, 8], dim=dim, layout=layout)


@pytest.mark.parametrize(
    ("shape", "layout", "items"),
    [
        ([7, 64], {}, 4),
        ([7, 66], {}, 1),
        ([7, 64], {"offset": 4}, 4),
        ([7, 64], {"offset": 2}, 1),
        ([7, 64], {"step": 2}, 1),
        ([7, 64], {"permute": [1, 0]}, 1),
        ([3, 7, 64], {"permute": [1, 0, 2]}, 4),
    ],
)
def test_lines_side_by_side_on_whole_vectors_go_together(shape: list[int], layout: dict[str, Any], items: int) -> None:
    """A thread takes a vector of lines only where each row of x and y begins on one."""
    walk = walk_of(problem_of(shape, len(shape) - 2, **layout))
    assert walk is not None
    assert walk.items == items
    assert (
        walk.vectors * items * 7 == CUMSUM.problem(make_case("cumsum", "float32", shape=shape)).operand("x").view.size
    )


@pytest.mark.parametrize(
    ("dtype", "inner", "offset", "items"),
    [
        ("float32", 66, 0, 2),
        ("float32", 67, 0, 1),
        ("float32", 68, 2, 2),
        ("bfloat16", 68, 0, 4),
        ("bfloat16", 70, 4, 2),
        ("float64", 66, 0, 2),
    ],
)
def test_many_lines_go_together_on_parts_of_vectors(dtype: str, inner: int, offset: int, items: int) -> None:
    """As many as every row of x and y begins on, if enough threads are left; each line its own sum."""
    shape, layout = [3, 9, inner], {"offset": offset}
    with in_force({"FAR_LEAST": 1, "WALK_SHARED": 0}):
        walk = walk_of(problem_of(shape, 1, dtype, **layout))
        assert walk is not None
        assert walk.items == items
        outputs("walked_lines", dtype, runs=1, shape=shape, dim=1, layout=layout, distribution="with_nonfinite")
    walk = walk_of(problem_of(shape, 1, dtype, **layout))
    assert walk is not None
    assert walk.items == (2 if dtype == "float64" else 1)  # a whole vector in any case


def test_dims_that_both_walk_as_one_are_merged() -> None:
    """The fewer dims, the fewer divisions a thread has to do."""
    walk = walk_of(problem_of([3, 5, 7, 2, 4], 2))
    assert walk is not None
    assert (walk.sizes, walk.x_steps, walk.y_steps) == ((15, 2), (56, 4), (56, 4))


TURNED = {"permute": [1, 3, 0, 2]}


@pytest.mark.parametrize(("shape", "dtype"), some([(3, 3, 9, 70), (2, 2, 2, 300), (9, 1, 40, 9)], NAMES, each=2))
def test_lines_that_are_neighbours_in_x_alone_go_in_tiles(shape: tuple[int, ...], dtype: str) -> None:
    """Tiles that are cut at both ends, narrow dims either way: each line its own sum."""
    walk = walk_of(problem_of([*shape], 1, dtype, **TURNED))
    assert walk is not None
    assert walk.far is not None
    outputs("walked_lines", dtype, runs=1, shape=[*shape], dim=1, layout=TURNED, distribution="with_nonfinite")


@pytest.mark.parametrize(("shape", "dtype"), some([(3, 5, 8, 70), (40, 17, 4, 90)], NAMES, each=2))
def test_neighbours_in_x_alone_come_in_vectors(shape: tuple[int, ...], dtype: str) -> None:
    """As many as x stands on, up to 16 bytes, and their sums go apart."""
    with in_force({"FAR_LEAST": 1, "WALK_SHARED": 0}):
        walk = walk_of(problem_of([*shape], 1, dtype, **TURNED))
        assert walk is not None
        assert walk.items == min(4, 16 // dtype_of(dtype).itemsize)
        outputs("walked_lines", dtype, runs=1, shape=[*shape], dim=1, layout=TURNED, distribution="with_nonfinite")


ALONG, ACROSS, TILES, BOTH = [0, 2, 1], [2, 0, 1], [2, 1, 3, 0], [3, 1, 0, 2, 4]


@pytest.mark.parametrize(
    ("dtype", "shape", "dim", "layout", "form"),
    [
        ("uint8", [3, 48, 70], 1, {"permute": ALONG}, (1, 16, 1)),  # a line's elements side by side in x ...
        ("uint8", [3, 48, 70], 1, {"permute": ALONG, "offset": 4}, (1, 4, 1)),  # ... begin on fewer
        ("float32", [3, 6, 70], 1, {"permute": ALONG}, (1, 2, 1)),
        ("complex128", [3, 8, 70], 1, {"permute": ALONG}, (1, 1, 1)),
        ("float32", [3, 70, 8], 2, {"permute": ACROSS}, (1, 1, 8)),  # ... in y, a sector at once
        ("float32", [3, 70, 7], 2, {"permute": ACROSS}, (1, 1, 1)),
        ("complex128", [3, 70, 6], 2, {"permute": ACROSS}, (1, 1, 2)),
        ("float32", [3, 70, 2], 2, {"permute": ACROSS}, (2, 1, 2)),  # less than a vector: lines that are neighbours
        ("bfloat16", [3, 72, 2], 2, {"permute": ACROSS}, (4, 1, 2)),
        ("bfloat16", [3, 70, 2], 2, {"permute": ACROSS, "offset": 1}, (1, 1, 2)),
        ("uint8", [40, 5, 17, 8], 3, {"permute": TILES}, (4, 1, 4)),  # neighbours in x alone
        ("float32", [2, 3, 4, 5, 16], 4, {"permute": BOTH}, (1, 4, 4)),  # in both
    ],
)
def test_contiguous_lines_move_in_runs(
    dtype: str, shape: list[int], dim: int, layout: dict[str, Any], form: tuple[int, int, int]
) -> None:
    """As much of a line at once as a load or a sector of y holds, wherever all lines begin and end on as much."""
    with in_force({"FAR_LEAST": 1}):
        walk = walk_of(problem_of(shape, dim, dtype, **layout))
    assert walk is not None
    assert (walk.items, walk.x_run, walk.y_run) == form
    assert walk.lanes == (2 if walk.y_run * dtype_of(sum_dtype(dtype)).itemsize == SECTOR else 1)


@pytest.mark.parametrize(
    ("length", "offset", "dtype"), some([2, 3, 4, 6, 8, 12, 16, 20, 33, 48], [0, 1, 8], NAMES, each=3)
)
def test_runs_of_any_length(length: int, offset: int, dtype: str) -> None:
    """Lines along x, across it, in tiles and along both, of whole turns and of parts: each its own sum, NaN, too."""
    with in_force({"FAR_LEAST": 1, "WALK_SHARED": 0}):
        for shape, dim, order in (
            ([3, length, 37], 1, ALONG),
            ([3, 36, length], 2, ACROSS),
            ([72, 3, 5, length], 3, TILES),
            ([2, 3, 4, 5, length], 4, BOTH),
        ):
            layout = {"permute": order, "offset": offset}
            outputs("walked_lines", dtype, runs=1, shape=shape, dim=dim, layout=layout, distribution="with_nonfinite")


@pytest.mark.parametrize(("last", "items"), [(3, 1), (4, 4)])
def test_neighbours_in_x_that_nearly_are_so_in_y_go_apart(last: int, items: int) -> None:
    """A thread's stores would leave gaps in a warp's; side by side in a warp they fill sectors at once."""
    with in_force({"FAR_LEAST": 1}):
        walk = walk_of(problem_of([9, 3, 128, last], 1, permute=[0, 1, 3, 2]))
    assert walk is not None
    assert walk.items == items


@pytest.mark.parametrize("dtype", NAMES)
def test_every_plan_has_an_instance(dtype: str) -> None:
    """What is compiled ahead of time is what short lines ask for, whatever their length and where they begin."""
    names = {name for _, name in WALKED.instances(dtype)}
    for length, offset, few in product((2, 3, 4, 6, 8, 16, 18, 32, 64), (0, 2, 4), (0, 2**31)):
        for shape, dim, order in (
            ([8, length, 64], 1, ALONG),
            ([8, 64, length], 2, ACROSS),
            ([72, 3, 5, length], 3, TILES),
            ([length, 5, 154], 0, [2, 1, 0]),
            ([2, 3, 4, 5, length], 4, BOTH),
        ):
            for staged in (1, 2**40):
                with in_force({"FAR_LEAST": 1, "WALK_SHARED": 0, "WALK_FEW": few, "STAGED_LEAST": staged}):
                    plan = planned(WALKED, problem_of(shape, dim, dtype, permute=order, offset=offset))
                assert plan.launches[0].kernel in names


@pytest.mark.parametrize(("length", "dtype"), some([33, 200, 2100, 4500], NAMES, each=2))
def test_of_little_data_lanes_or_a_block_share_a_line(length: int, dtype: str) -> None:
    """Lines along x and across it, of lanes, of warps, of more vectors a thread: each line its own sum."""
    for shape, dim, order in (
        ([2, length, 3], 1, [0, 2, 1]),
        ([2, 3, length], 2, [2, 0, 1]),
        ([3, length, 1, 2], 1, [2, 0, 1, 3]),
    ):
        problem = problem_of(shape, dim, dtype, permute=order)
        assert shares_lines(problem, DEVICE) == (
            length <= 1024 * shared_vectors(vector_items(problem))[-1] * vector_items(problem)
        )
        outputs(
            "walked_lines",
            dtype,
            runs=1,
            shape=shape,
            dim=dim,
            layout={"permute": order},
            distribution="with_nonfinite",
        )


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "copied_first")])
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
def test_long_lines_along_x_are_copied_not_shared(near: int, name: str, dtype: str) -> None:
    """By so many threads that each waits for all the others; columns stay with strips."""
    length = walk_tuning.SHARED_COPIED + near
    assert chosen((length, 4), 0, dtype, permute=(1, 0)) == name
    assert chosen((length, 4), 0, dtype) == chosen((walk_tuning.SHARED_COPIED - 9, 4), 0, dtype)


@pytest.mark.parametrize("near", [0, 1])
def test_more_data_is_walked_alone(near: int) -> None:
    """What is touched apart costs a sector each."""
    lines = walk_tuning.WALK_SHARED // 64 // 8 + near
    assert shares_lines(problem_of([8, 64, lines], 1, permute=[2, 0, 1]), DEVICE) == (near == 0)


@pytest.mark.parametrize(
    ("shape", "layout", "far"),
    [
        ([3, 64, 54], {"permute": [0, 2, 1]}, 0),  # x's fastest dim is y's second
        ([64, 3, 54], {"permute": [2, 1, 0]}, None),  # the summed dim is x's fastest: a line has sectors of its own
        ([5, 3, 154], {"permute": [2, 1, 0]}, 0),  # ... and of so few elements that neighbours share sectors
        ([5, 3, 54], {"permute": [2, 1, 0]}, None),  # a block has all of both dims anyhow
        ([3, 64, 54], {"step": 2}, None),
        ([3, 64, 54], {"permute": [0, 2, 1], "expand": [1]}, None),
    ],
)
def test_tiles_are_for_neighbours_that_share_sectors(shape: list[int], layout: dict[str, Any], far: int | None) -> None:
    """Only where lanes side by side in y would each touch a sector of x for one element."""
    walk = walk_of(problem_of(shape, 0, **layout))
    assert walk is not None
    assert walk.far == far


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "copied_first")])
def test_few_long_lines_in_any_order_are_copied_first(near: int, name: str) -> None:
    """A thread a line would wait for memory again and again."""
    length = walk_tuning.LONG_WALK + near
    assert chosen((length, 1480, 4), 0, permute=(0, 2, 1)) == name
    assert chosen((length, walk_tuning.WALKS // 4 + 1, 4), 0, permute=(0, 2, 1)) == "walked_lines"


@pytest.mark.parametrize("near", [-1, 0, 1])
def test_blocks_are_as_small_as_spreads_them_over_all_sms(near: int) -> None:
    """Fewer lines than fill the SMs twice go to smaller blocks."""
    for larger, smaller in zip(walk_tuning.WALK_THREADS, walk_tuning.WALK_THREADS[1:], strict=False):
        lines = walk_tuning.WALK_BLOCKS * larger * DEVICE.sm_count + near
        plan = planned(WALKED, problem_of([9, lines * 4], 0))
        assert plan.launches[0].block[0] == (larger if near >= 0 else smaller)


def test_what_it_does_not_take() -> None:
    """Nothing at all, and no dims."""
    assert refusal(WALKED, problem_of([0, 4], 0)) is not None
    assert refusal(WALKED, problem_of([], 0)) is not None


@pytest.mark.parametrize(
    ("length", "shape", "lanes"),
    [(31, (171, 3), 0), (32, (171, 3), 8), (32, (64 * 132, 3), 0)],
)
def test_a_long_turn_along_x_is_shared(length: int, shape: tuple[int, int], lanes: int) -> None:
    """Of few lines, from SHARED_LINE elements on; a thread each has shorter ones, and those across x."""
    outer, inner = shape
    plan = planned(WALKED, problem_of([outer, length, inner], 1, permute=[0, 2, 1]), DEVICE)
    assert plan.notes.get("lanes", 0) == lanes
    assert "lanes" not in planned(WALKED, problem_of([outer, length, inner], 1), DEVICE).notes


@pytest.mark.parametrize(("more", "name"), [(0, "walked_lines"), (1, "copied_first")])
def test_twice_as_much_of_few_long_lines_is_shared(more: int, name: str) -> None:
    """Where the other way is a copy: not of columns, which strips take."""
    length = 2 * walk_tuning.WALK_SHARED // (60 * 2) + more
    assert chosen((60, length, 2), 1, "int64", permute=(0, 2, 1)) == name
    assert chosen((1024, 257), 0, "int64", offset=1) == "linked_columns"
