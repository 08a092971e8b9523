"""The fast index_adds where they could go wrong: runs over blocks, several passes, full tables, words left behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import (
    block_copies,
    cached,
    combined,
    gathered,
    grouped,
    private_copies,
    scattered,
)
from gpubench.operators.index_add.auto import choose, preferred
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import INDEX_ADD, PATTERNS, answers, form, noted, problem_of
from tests.operators.index_add.test_partitioned import small_slices
from tests.operators.on_host import host


def small_groups(problem: Problem[Any], device: DeviceInfo, pairs: int = 64) -> Plan | Refused:
    """Return a grouped plan whose list is sorted by several blocks, in small pieces."""
    return grouped.build(problem, form(problem), device, pairs, least_range=64)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_grouped_gives_the_same_bits_under_every_schedule(pattern: Any) -> None:
    """Runs inside a group, over groups, over blocks and over windows of blocks; indices outside are left out."""
    problem = problem_of((90, 12), 3000, pattern=pattern)
    found: set[bytes] = set()
    for schedule in ("forward", "random:3"):
        found.update(answers(problem, small_groups(problem, host().info), schedule))
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "complex128", "int64"])
@pytest.mark.parametrize("shape", [(40, 24), (3, 40, 7), (2, 500, 300)])
def test_grouped_takes_rows_of_any_width_and_alpha(dtype: str, shape: tuple[int, ...]) -> None:
    """Vectors and single elements, rows wider than a group of lanes, one list for several repetitions."""
    problem = problem_of(shape, 200, dtype, dim=len(shape) - 2, alpha=-3.0, index_dtype="int32")
    answers(problem, small_groups(problem, host().info), "random:1")


@pytest.mark.parametrize("pattern", ["uniform", "half_same", "same", "sorted"])
@pytest.mark.parametrize(("width", "dtype"), [(8, "float32"), (16, "bfloat16"), (12, "float64"), (64, "float32")])
def test_long_runs_of_a_warps_list_are_one_groups(pattern: Any, width: int, dtype: str) -> None:
    """From `RUNS_LEAST` indices on; right with warps of 32 rows and of fewer, the last one cut."""
    problem = problem_of((50, width), 2085, dtype, pattern=pattern)
    for rows in (8, 32):
        plans = []
        for least in (2085, 2086):
            with in_force({"RUNS_LEAST": least}):
                plans.append(noted(combined.build(problem, form(problem), rows)))
        assert ["runs" in plan.launches[0].kernel for plan in plans] == [True, False]
        answers(problem, plans[0], "random:6")


BUILDS: dict[str, Callable[[Problem[Any], DeviceInfo], Plan | Refused]] = {
    "flat": lambda problem, _: combined.build(problem, form(problem), 1),
    "few": lambda problem, _: combined.build(problem, form(problem), 4),
    "combined": lambda problem, _: combined.build(problem, form(problem), 32),
    "cached": lambda problem, _: cached.build(problem, form(problem), 2),
    "block_copies": lambda problem, device: block_copies.BlockCopies().plan(
        problem, dataclasses.replace(device, max_shared_bytes=4096)
    ),
}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_atomics_are_right_whatever_the_indices(build: str, pattern: Any) -> None:
    """Equal indices in a thread, a warp, a table that overflows; segments of places; indices outside are left out."""
    problem = problem_of((450, 3), 4000, pattern=pattern)
    answers(problem, BUILDS[build](problem, host().info), "random:2")


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint8", "int16", "complex64", "float64"])
def test_atomics_of_vectors_are_right_for_every_dtype(build: str, dtype: str) -> None:
    """16 bytes of 16-bit floats, of small integers by words, and of what has no vector form."""
    problem = problem_of((2, 20, 16), 90, dtype, dim=1, alpha=2.0, index_dtype="int32")
    plan = BUILDS[build](problem, host().info)
    if not isinstance(plan, Refused):
        answers(problem, plan, "random:2")


def test_single_elements_at_wrong_indices_are_left_out() -> None:
    """The variants that take nothing else, too, add the right ones and touch nothing more."""
    problem = problem_of((40,), 700, pattern={"out_of_range": 30})
    answers(problem, private_copies.build(problem, form(problem), host().info))
    answers(problem, private_copies.build_rows(problem, form(problem), host().info))
    answers(problem, gathered.build(problem, form(problem), host().info))
    answers(problem, small_slices(problem, host().info))


@pytest.mark.parametrize("dtype", ["int8", "int64", "bfloat16", "complex64", "float64"])
def test_single_elements_take_alpha_as_it_is(dtype: str) -> None:
    """The launch that knows nothing but pointers and three numbers."""
    problem = problem_of((501,), 700, dtype, alpha=-3.0, index_dtype="int32")
    plan = combined.build(problem, form(problem), 1)
    assert isinstance(plan, Plan)
    assert "add_single" in plan.launches[0].kernel
    answers(problem, plan)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_neighbours_that_share_a_place_are_added_up_once(pattern: Any) -> None:
    """Single elements a thread: hot places, none, some outside the dim; a last warp that is not full."""
    for dtype in ("float32", "float64"):
        problem = problem_of((500,), 1237, dtype, pattern=pattern)
        answers(problem, combined.build(problem, form(problem), 1))


@pytest.mark.parametrize("alone", [0, scattered.ALONE_LEAST])
@pytest.mark.parametrize("pattern", ["half_same", "same", {"out_of_range": 30}], ids=str)
def test_lanes_that_share_a_place_are_added_up_once(pattern: Any, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of three elements and of two vectors; repetitions as neighbours, and indices as neighbours; no looks."""
    monkeypatch.setattr(scattered, "ALONE_LEAST", alone)
    for width in (3, 8):
        problem = problem_of((50, width), 237, pattern=pattern)
        answers(problem, combined.build(problem, form(problem), 1))
    for layout in ({}, {"permute": (1, 0)}):
        problem = problem_of((50, 5), 237, pattern=pattern, layout=layout, source_layout=layout)
        answers(problem, scattered.build(problem))


@pytest.mark.parametrize(
    "pattern", ["uniform", "half_same", "zipf", "same", {"below": 7}, {"out_of_range": 30}], ids=str
)
def test_squares_turn_whatever_is_left_over(pattern: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No multiple of a square, two dims beside the indexed one, elements with gaps; indices alike, some and all."""
    monkeypatch.setattr(scattered, "TURNED_LEAST", 0)
    for dtype, shape, layout in (
        ("float32", (90, 33), {"step": 2}),
        ("complex64", (40, 3, 20), {}),
        ("int32", (9, 70), {}),
    ):
        if "out_of_range" in str(pattern) and dtype == "complex64":
            continue  # what numpy is asked then is real
        turned = {"permute": tuple(reversed(range(len(shape))))}
        problem = problem_of(shape, 101, dtype, pattern=pattern, layout=layout, source_layout=turned)
        plan = scattered.build(problem)
        assert isinstance(plan, Plan)
        assert plan.notes["turned"]
        answers(problem, plan)


@pytest.mark.parametrize(("width", "turned"), [(scattered.SQUARE_LEAST, True), (scattered.SQUARE_LEAST - 1, False)])
def test_narrow_operands_that_turn_are_no_squares(width: int, turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of an index too few for a square are neighbours in the destination, whichever operand is turned."""
    monkeypatch.setattr(scattered, "TURNED_LEAST", 0)
    for operand in ("layout", "source_layout"):
        turn: dict[str, Any] = {operand: {"permute": (1, 0)}}
        problem = problem_of((width, 3000), 2048, dim=1, pattern="zipf", **turn)
        plan = scattered.build(problem)
        assert isinstance(plan, Plan)
        assert plan.notes["turned"] == turned
        answers(problem, plan)


@pytest.mark.parametrize("pattern", [*PATTERNS, {"below": 7}, {"below": 32}], ids=str)
@pytest.mark.parametrize(("dtype", "width"), [("float32", 33), ("bfloat16", 64), ("int32", 16), ("complex64", 19)])
def test_squares_add_up_what_comes_to_one_place(
    pattern: Any, dtype: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a square's indices alike, some, none, and some outside; indices stand fastest in the destination alone."""
    if "out_of_range" in str(pattern) and dtype not in ("float32", "int32"):
        return
    monkeypatch.setattr(scattered, "TURNED_LEAST", 0)
    source = {"offset": 1}
    problem = problem_of((300, width), 2051, dtype, layout={"permute": (1, 0)}, source_layout=source, pattern=pattern)
    answers(problem, noted(scattered.build(problem), turned=True, to_places=True), "random:2")


@pytest.mark.parametrize("blocks", [64, 65])
def test_blocks_find_their_places_alone_or_together(blocks: int) -> None:
    """As many blocks as add up all counts for themselves, and one more."""
    problem = problem_of((3000, 8), 20 * blocks, pattern="zipf")
    many = dataclasses.replace(host().info, sm_count=blocks)
    plan = grouped.build(problem, form(problem), many, 64, least_range=20)
    assert isinstance(plan, Plan)
    answers(problem, grouped.build(problem, form(problem), many, 64, least_range=20))


@pytest.mark.parametrize("build", [small_groups, small_slices])
def test_what_a_launch_left_that_was_ended_early_is_no_matter(build: Any) -> None:
    """Whatever an earlier launch left in the workspace, blocks wait for this launch's words."""
    problem = problem_of((700,), 2000) if build is not small_groups else problem_of((70, 8), 2000, pattern="half_same")
    answers(problem, build(problem, host().info), stale=0x41)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_rules_plan_whatever_comes(data: st.DataObject) -> None:
    """Any shape, dim and layout has a plan whose grid, threads and shared memory a GPU takes."""
    shape = tuple(data.draw(st.lists(st.integers(1, 3000), min_size=1, max_size=4)))
    layout: dict[str, Any] = {"offset": data.draw(st.integers(0, 5)), "step": data.draw(st.integers(1, 2))}
    if data.draw(st.booleans()):
        layout["permute"] = tuple(data.draw(st.permutations(range(len(shape)))))
    dtype = data.draw(st.sampled_from(INDEX_ADD.dtypes))
    dim, indices = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(1, 2**23))
    problem = problem_of(shape, indices, dtype, dim=dim, layout=layout)
    for shared_kb in (64, 227):
        device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kb << 10)
        plans = [variant.plan(problem, device) for variant in preferred(problem, device)]
        assert isinstance(choose(problem, device), Plan)
        for plan in plans:
            for launch in plan.launches if isinstance(plan, Plan) else ():
                assert 0 < launch.grid[0] < 2**31
                assert launch.grid[1] < 65536
                assert launch.block[0] <= 1024
                assert launch.shared_bytes <= device.max_shared_bytes
