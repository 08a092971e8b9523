"""Places owned by threads where they could go wrong: runs over windows and pieces, rectangles, gaps."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.model import Plan, Refused
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import owned, owned_tiles, owning
from gpubench.operators.index_add.auto import choose
from gpubench.operators.index_add.form import form_of
from tests.operators.index_add.answers import PATTERNS, answers, noted, problem_of
from tests.operators.on_host import host, one_sm


def plan_of(problem: Any, **notes: Any) -> Plan:
    """Return the plan, which has these notes."""
    return noted(owned.build(problem, one_sm()), **notes)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_runs_over_windows_give_the_same_bits(pattern: Any) -> None:
    """Windows of neighbouring threads, and of a warp each; indices outside are left out."""
    problem = problem_of((50, 33), 500, pattern=pattern)
    plan = plan_of(problem, width=32, shares=8, pieces=1)
    assert len({bits for schedule in ("forward", "random:3") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize("pattern", ["uniform", "half_same", "same"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
def test_runs_over_pieces_meet(pattern: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that was sorted before, in pieces of which several end in one place."""
    monkeypatch.setattr(owning, "OWNED_ALONE", 0)
    problem = problem_of((3, 90, 2), 2500, dtype, dim=1, pattern=pattern, source_layout={"permute": (1, 2, 0)})
    plan = plan_of(problem, near=False, sorted=True)
    assert plan.notes["pieces"] != 1
    answers(problem, plan, "random:2")


@pytest.mark.parametrize("pattern", [*PATTERNS[:-2], {"duplicates": 70}], ids=str)
@pytest.mark.parametrize(("dtype", "layouts"), [
    ("float32", {"source_layout": {"permute": (0, 2, 1)}}),
    ("int32", {"layout": {"permute": (2, 1, 0)}, "source_layout": {"permute": (1, 0, 2)}}),
    ("complex128", {}),
])  # fmt: skip
def test_pieces_that_blocks_sort_for_themselves_meet(pattern: Any, dtype: str, layouts: Any) -> None:
    """Places of several pieces, the last one short; a block takes tiles of one piece after the other."""
    problem = problem_of((20, 9, 37), 1300, dtype, pattern=pattern, alpha=-1.0, **layouts)
    plan = plan_of(problem, sorted=False, pieces=3)
    answers(problem, plan, "random:2")


@pytest.mark.parametrize(("places", "alone"), [(64, True), (500, False)])
def test_many_places_are_sorted_for(places: int, alone: bool) -> None:
    """Each place of a piece is an atomic: few of them cost less than a launch that sorts, many do not."""
    problem = problem_of((places, 9, 133), 3517, "int32", source_layout={"permute": (0, 2, 1)})
    device = dataclasses.replace(host().info, sm_count=132)
    noted(owned.build(problem, device), sorted=not alone)
    assert owned.build(problem, device) == choose(problem, device)


@pytest.mark.parametrize("pattern", ["zipf", "same", {"below": 2}], ids=str)
@pytest.mark.parametrize("indices", [300, 2100])
def test_a_source_that_is_dense_along_the_dim_comes_to_shared_memory(
    pattern: Any, indices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted by the block, or before; wherever the destination is dense."""
    monkeypatch.setattr(owned_tiles, "NEAR_LEAST", 0)
    for layout in ({}, {"permute": (1, 0), "offset": 1}):
        problem = problem_of((19, 40), indices, "float64", dim=1, pattern=pattern, layout=layout, alpha=-2.0)
        answers(problem, plan_of(problem, near=True, pieces=1), "random:4")


@pytest.mark.parametrize("pattern", ["uniform", "same", "half_same"])
@pytest.mark.parametrize(("indices", "dtype"), [(33, "float32"), (300, "bfloat16"), (700, "int8"), (150, "complex128")])
def test_rows_dense_in_both_operands_have_windows_side_by_side(indices: int, dtype: str, pattern: Any) -> None:
    """Of an odd number of pairs each; the source's rows in shared memory, however little it is."""
    problem = problem_of((23, 110), indices, dtype, dim=1, pattern=pattern, layout={"offset": 1}, alpha=-2.0)
    plan = plan_of(problem, near=True, inside=True)
    assert int(str(plan.notes["shares"])) * owned_tiles.NEAR_WINDOW >= indices
    answers(problem, plan, "random:4")


@pytest.mark.parametrize(("near", "inside"), [(-1, False), (0, True), (1, True)])
def test_few_places_of_dense_rows_leave_neighbouring_threads_to_positions(near: int, inside: bool) -> None:
    """What they write is few sectors then, whichever thread does."""
    places = owned_tiles.NEAR_INSIDE // 4 + near
    noted(owned.build(problem_of((5000, places), 40, "float32", dim=1), host().info), inside=inside)


@pytest.mark.parametrize("indices", [11, 601])
def test_elements_of_16_bytes_are_aligned_behind_an_odd_list(indices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of an odd length, sorted by the block or before, and complex128 behind it."""
    monkeypatch.setattr(owned_tiles, "NEAR_LEAST", 0)
    problem = problem_of((19, 40), indices, "complex128", dim=1, pattern="zipf")
    answers(problem, plan_of(problem, near=True))


@pytest.mark.parametrize("indices", [65, 79, 600])
def test_neighbouring_threads_may_share_a_position(indices: int) -> None:
    """The destination is dense along the dim, the source across it."""
    problem = problem_of((70, 301), indices, dim=1, source_layout={"permute": (1, 0)}, pattern={"below": 9})
    answers(problem, plan_of(problem, inside=True), "random:4")


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("indices", [1, 7, 9, 123, 129])
def test_windows_end_anywhere_in_a_turn(pattern: Any, indices: int) -> None:
    """Lists of a turn, a little less and more; runs that end with it; indices outside, up to whole windows of them."""
    if pattern == {"out_of_range": 30}:
        pattern = {"out_of_range": indices - indices // 4}
    for dtype in ("float32", "int16", "float64", "complex128"):
        if dtype != "float32" and "out_of_range" in str(pattern):
            continue
        problem = problem_of((16, 13, 2, 5), indices, dtype, pattern=pattern, source_layout={"permute": (0, 1, 3, 2)})
        found = {bits for schedule in ("forward", "random:7") for bits in answers(problem, plan_of(problem), schedule)}
        assert len(found) == 1


def test_integers_wrap_in_any_order_of_windows() -> None:
    """Sums beyond the dtype, times alpha, as numpy's wrap."""
    for dtype in ("int8", "uint8", "int64"):
        problem = problem_of((3, 40, 2, 6), 200, dtype, alpha=113.0, source_layout={"permute": (0, 1, 3, 2)})
        answers(problem, plan_of(problem), "random:1")


def test_tiles_are_as_narrow_as_makes_the_trips_fewest() -> None:
    """768 tiles of 64 are two for some blocks and one for others; 1536 of 32 are three for nearly all."""
    device = dataclasses.replace(host().info, sm_count=132)
    problem = problem_of((16, 128, 2, 191), 123, source_layout={"permute": (0, 1, 3, 2), "offset": 1})
    noted(owned.build(problem, device), width=32, shares=8)
    with in_force({"OWNED_EVEN": 0}):
        noted(owned.build(problem, device), width=64, shares=4)
    many = problem_of((16, 1000, 2, 191), 123, "bfloat16", source_layout={"permute": (0, 1, 3, 2), "offset": 1})
    noted(owned.build(many, device), width=256, shares=1)


@pytest.mark.parametrize(("shape", "dtype", "tile"), [
    ((60_000, 8, 6), "complex128", (8, 8, 4)),  # half of the width's height: six of eight, the rest in shares
    ((60_000, 8, 8), "complex128", (8, 8, 4)),
    ((60_000, 8, 9), "complex128", (8, 4, 8)),  # three rows of four, not one of 16
    ((60_000, 8, 17), "float32", (8, 32, 1)),
    ((60_000, 8, 33), "float32", (16, 16, 1)),  # three rows of 16, not two of 32
    ((60_000, 8, 4), "float32", (64, 4, 1)),
    ((60_000, 8, 3), "float32", (256, 1, 1)),
])  # fmt: skip
def test_rectangles_are_no_higher_than_their_dim(shape: Any, dtype: str, tile: tuple[int, int, int]) -> None:
    """A dim of six has eight rows of threads, not 32."""
    device = dataclasses.replace(host().info, sm_count=132)
    count = 12 if dtype == "float32" else 82
    problem = problem_of(shape, count, dtype, dim=1, layout={"permute": (1, 2, 0)})
    width, height, shares = tile
    with in_force({"BY_SOURCE_LIST": 24}):
        noted(owned.build(problem, device), width=width, height=height, shares=shares)


@pytest.mark.parametrize(("sizes", "height"), [((4, 8), 1), ((16, 16), 1), ((16, 17), 8), ((5, 52), 64)])
def test_what_a_tile_has_whole_is_no_rectangle(sizes: tuple[int, int], height: int) -> None:
    """Both dims within the width, and one more: positions side by side are all of them."""
    device = dataclasses.replace(host().info, sm_count=132)
    problem = problem_of((4096, 3, *sizes), 9, dim=1, source_layout={"permute": (0, 1, 3, 2)})
    plan = noted(owned.build(problem, device))
    assert (int(str(plan.notes["height"])) > 1) is (height > 1), dict(plan.notes)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize("sizes", [(4, 5), (37, 4), (9, 6), (33, 33), (3, 50)])
@pytest.mark.parametrize("indices", [3, 17, 82])
def test_rectangles_of_any_height_add_everything(sizes: tuple[int, int], indices: int, dtype: str) -> None:
    """Dims that rectangles do not divide, with another between or behind; plans as for many SMs."""
    problem = problem_of((sizes[0], 7, 3, sizes[1]), indices, dtype, dim=1, layout={"permute": (1, 3, 2, 0)}, alpha=2.0)
    answers(problem, plan_of(problem), "random:3")


@pytest.mark.parametrize(("indices", "places", "dtype", "near"), [
    (2048, 32, "float32", True),  # 32 MiB, neighbours 128 bytes apart
    (2047, 32, "float32", False),
    (2048, 31, "float32", False),
    (1024, 16, "float64", True),
    (1023, 16, "float64", False),
    (1024, 15, "float64", False),
])  # fmt: skip
def test_a_source_whose_neighbours_are_far_apart_comes_to_shared_memory_sooner(
    indices: int, places: int, dtype: str, near: bool
) -> None:
    """From `NEAR_SPREAD_LEAST` bytes on; with as many as `NEAR_LEAST` it is as for others."""
    device = dataclasses.replace(host().info, sm_count=132)
    problem = problem_of((16, places, 256), indices, dtype, dim=1, source_layout={"permute": (0, 2, 1)})
    noted(owned.build(problem, device), near=near)
    with in_force({"NEAR_SPREAD_LEAST": owned_tiles.NEAR_LEAST}):
        noted(owned.build(problem, device), near=False)


@pytest.mark.parametrize("source", [{"offset": 1}, {"permute": (2, 1, 0)}], ids=str)
def test_tiles_and_rectangles_have_rests(source: Any) -> None:
    """Linear tiles, and rectangles whose rests no tile fills."""
    problem = problem_of((37, 5, 141), 9, "float16", dim=1, pattern="same", source_layout=source, index_dtype="int32")
    plan = plan_of(problem)
    assert (int(str(plan.notes["height"])) > 1) is ("permute" in source)
    answers(problem, plan)


def test_every_dim_may_lie_anywhere() -> None:
    """Gaps, a source that is broadcast beside the dim, sizes of one, a single place."""
    layouts: tuple[dict[str, Any], ...] = (
        {"shape": (5, 1, 6, 7), "dim": 2, "layout": {"step": 2, "permute": (3, 0, 1, 2)}},
        {"shape": (4, 9, 3), "dim": 0, "source_layout": {"broadcast": (1,)}},
        {"shape": (1, 77), "dim": 0, "layout": {"offset": 3}},
        {"shape": (123,), "dim": 0},
    )
    for params in layouts:
        for indices in (1, 6, 90):
            problem = problem_of(indices=indices, **params)
            answers(problem, plan_of(problem), "random:1")


@pytest.mark.parametrize("shared_kb", [64, 99, 227])
@pytest.mark.parametrize("dtype", ["int8", "complex128"])
def test_a_block_fits_every_architecture(shared_kb: int, dtype: str) -> None:
    """The list, the sums and a tile of the source take no more shared memory than there is."""
    device = dataclasses.replace(host().info, max_shared_bytes=shared_kb << 10, sm_count=132)
    for indices in (1, 255, 512, 2049, 8192, 100_000):
        for layout in ({}, {"permute": (1, 0)}):
            plan = owned.build(problem_of((3000, 70), indices, dtype, dim=1, layout=layout), device)
            assert isinstance(plan, Plan)
            assert all(launch.shared_bytes <= device.max_shared_bytes for launch in plan.launches)


@pytest.mark.parametrize(("near", "dtype", "owns"), [(0, "int64", True), (1, "int64", False), (1, "int16", True)])
def test_lines_that_shared_memory_does_not_hold_turn_in_squares(near: int, dtype: str, owns: bool) -> None:
    """A source whose neighbours are indices, from so many on; words of small integers are left to owners."""
    problem = problem_of((16, 500, 16), owning.LONG_LINE + near, dtype, dim=1, source_layout={"permute": (0, 2, 1)})
    assert owning.is_for_owned(problem, form_of(problem)) == owns


def test_more_positions_than_32_bits_count_are_left_to_others() -> None:
    """A destination of 2.1 billion elements beside the indexed dim is refused, and `auto` has a plan for it."""
    problem = problem_of((712, 1535, 65, 1965), 129, "uint8", dim=2, layout={"permute": (0, 1, 3, 2)})
    assert isinstance(owned.build(problem, host().info), Refused)
    assert isinstance(choose(problem, host().info), Plan)
