"""The fast index_adds where they could go wrong: runs over blocks, several passes, full tables, words left behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.devices.host_options import parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.index_add import (
    block_copies,
    cached,
    combined,
    gathered,
    grouped,
    partitioned,
    private_copies,
    sampled,
    scattered,
)
from gpubench.operators.index_add.auto import choose, preferred
from gpubench.operators.index_add.form import Form, form_of
from tests.operators.cases import DEVICE, make_case
from tests.operators.on_host import host, one_sm

INDEX_ADD = OPERATORS["index_add"]
PATTERNS = ("uniform", "zipf", "sorted", "same", "half_same", {"duplicates": 40}, {"out_of_range": 30})


def problem_of(shape: tuple[int, ...], indices: int, dtype: str = "float32", **params: Any) -> Problem[Any]:
    """Return an index_add's problem."""
    return INDEX_ADD.problem(make_case("index_add", dtype, shape=shape, indices=indices, **params))


def noted(plan: Plan | Refused, **notes: Any) -> Plan:
    """Return a plan that was made and has these notes."""
    assert isinstance(plan, Plan), plan
    assert notes.items() <= plan.notes.items(), dict(plan.notes)
    return plan


def answers(problem: Problem[Any], plan: Plan | Refused, schedule: str = "forward", stale: int = 0) -> list[bytes]:
    """Run a plan twice on one workspace, full of `stale` bytes at first; check each answer where it is defined."""
    assert isinstance(plan, Plan), plan
    device = host()
    device.options = type(device.options)(parse_schedule(schedule), "checked", 1)
    inputs = INDEX_ADD.inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, True)
    if stale:
        device.fill(operands.workspace, stale)
    run = device.bind(plan, operands.addresses, operands.workspace).run
    found = []
    for _ in range(2):
        operands.restore()
        run()
        output = operands.output()
        if "out_of_range" in problem.case.id:
            np.testing.assert_allclose(output, without_wrong_ones(problem, inputs), rtol=1e-4, atol=1e-4)
        else:
            verdict = check(problem, INDEX_ADD.reference(problem, inputs), plan.accuracy, output)
            assert verdict.ok, (problem.case.id, plan.variant, dict(plan.notes), verdict.first_mismatch)
        found.append(np.ascontiguousarray(output).tobytes())
    return found


def without_wrong_ones(problem: Problem[Any], inputs: dict[str, Any]) -> Any:
    """Return numpy's sums over the indices that are inside the dim."""
    wanted = problem.operand("destination").view.of(inputs["destination"]).astype(np.float64)
    source, index = problem.operand("source").view.of(inputs["source"]), inputs["index"]
    inside = (index >= 0) & (index < wanted.shape[0])
    np.add.at(wanted, index[inside], source[inside])
    return wanted


def form(problem: Problem[Any]) -> Form:
    """Return the problem's form."""
    found = form_of(problem)
    assert isinstance(found, Form), found
    return found


def small_groups(problem: Problem[Any], device: DeviceInfo, pairs: int = 64) -> Plan | Refused:
    """Return a grouped plan whose list is sorted by several blocks, in small pieces."""
    return grouped.build(problem, form(problem), device, pairs, least_range=64)


def small_slices(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return a partitioned plan of slices of 8 KB, filled by several blocks."""
    return partitioned.build(
        problem, form(problem), dataclasses.replace(device, max_shared_bytes=9 * 1024), least_range=300
    )


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


@pytest.mark.parametrize(
    ("pattern", "dtype", "sorts"),
    [
        ("uniform", "float32", False),
        ("sorted", "bfloat16", False),
        ({"out_of_range": 30}, "float32", False),
        ("half_same", "bfloat16", True),
        ("zipf", "float32", True),
        ("same", "float16", True),
    ],
    ids=str,
)
def test_a_sample_decides_on_the_device_whether_to_sort(pattern: Any, dtype: str, sorts: bool) -> None:
    """Right either way, twice on one workspace; a list with a hot place is sorted, so its bits repeat."""
    problem = problem_of((5000, 16), 6001, dtype, pattern=pattern)
    plan = sampled.Sampled().plan(problem, host().info)
    found = answers(problem, plan, "random:2")
    assert isinstance(plan, Plan)
    assert not plan.repeatable
    grouped_bits = answers(problem, grouped.Grouped().plan(problem, host().info), "random:1")
    assert not sorts or found[0] == grouped_bits[0]
    assert isinstance(sampled.Sampled().plan(problem_of((5000, 16), 31), host().info), Refused)


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


@pytest.mark.parametrize("pattern", ["uniform", "half_same", {"duplicates": 90}], ids=str)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_totals_of_small_integers_are_right_and_leave_zeros(dtype: str, pattern: Any) -> None:
    """Sums of 32 bits in the workspace wrap as the dtype does; rows that end inside a vector; two runs."""
    problem = problem_of((2, 401, 3), 2500, dtype, dim=1, alpha=-3.0, pattern=pattern)
    answers(problem, cached.build(problem, form(problem), 2, totals=True), "random:2")


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


@pytest.mark.parametrize("pattern", ["uniform", "same", "half_same", {"duplicates": 700}], ids=str)
def test_elements_with_gaps_go_through_a_table(pattern: Any) -> None:
    """Operands that lie turned, steps between elements, and rows with gaps between them."""
    for params in (
        {"shape": (3, 300), "dim": 1, "layout": {"permute": (1, 0)}},
        {"shape": (300,), "layout": {"step": 3}, "source_layout": {"step": 2}},
        {"shape": (7, 100, 3), "dim": 1, "layout": {"permute": (1, 0, 2)}},
    ):
        problem = problem_of(indices=2100, pattern=pattern, **params)
        answers(problem, cached.build(problem, form(problem), 3), "random:2")


@pytest.mark.parametrize("pattern", ["same", "sorted", {"duplicates": 700}], ids=str)
def test_sums_of_a_list_in_order_are_kept_across_tiles(pattern: Any) -> None:
    """A block takes several tiles of one place, of few, and of many."""
    problem = problem_of((300,), 30_011, pattern=pattern)
    answers(problem, cached.build(problem, form(problem), 3))


@pytest.mark.parametrize("pattern", ["uniform", "half_same", "zipf"])
def test_squares_turn_whatever_is_left_over(pattern: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No multiple of a square, two dims beside the indexed one, elements with gaps."""
    monkeypatch.setattr(scattered, "TURNED_LEAST", 0)
    for dtype, shape, layout in (("float32", (90, 33), {"step": 2}), ("complex64", (40, 3, 20), {})):
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


@pytest.mark.parametrize("blocks", [64, 65])
def test_blocks_find_their_places_alone_or_together(blocks: int) -> None:
    """As many blocks as add up all counts for themselves, and one more."""
    problem = problem_of((3000, 8), 20 * blocks, pattern="zipf")
    many = dataclasses.replace(host().info, sm_count=blocks)
    plan = grouped.build(problem, form(problem), many, 64, least_range=20)
    assert isinstance(plan, Plan)
    answers(problem, grouped.build(problem, form(problem), many, 64, least_range=20))


@pytest.mark.parametrize(("pattern", "dtype"), [("uniform", "float32"), ("sorted", "int8"), ("half_same", "bfloat16")])
def test_partitions_are_right(pattern: str, dtype: str) -> None:
    """A list that is moved, and one in order that stays."""
    problem = problem_of((60_000,), 3000, dtype, pattern=pattern, alpha=2.0)
    answers(problem, small_slices(problem, host().info), "random:2")


@pytest.mark.parametrize(("places", "runs"), [(3_000_000, "short"), (6000, "long")])
@pytest.mark.parametrize("dtype", ["int32", "int8"])
def test_a_sample_that_saw_nothing_of_the_list_costs_time_alone(
    monkeypatch: pytest.MonkeyPatch, places: int, runs: str, dtype: str
) -> None:
    """All indices but the sampled ones are of other slices, whose room is soon full; runs with pads and without."""
    problem = problem_of((places,), 40_000, dtype)
    plan = small_slices(problem, host().info)
    assert isinstance(plan, Plan)
    assert plan.notes["grain"] == (partitioned.GRAIN if runs == "long" else 1)
    inputs = INDEX_ADD.inputs(problem)
    size, each = int(str(plan.notes["slice"])), -(-40_000 // int(str(plan.notes["blocks"])))
    at = np.arange(40_000)
    span, piece = partitioned.SAMPLE_SPAN, partitioned.SAMPLE_PIECE
    turns = (at // each * each // span + at % each // span) * 2654435769 % 2**32 >> 27
    seen = at % each % span // piece == turns
    inputs["index"] = np.where(seen, at % size, size + at % size).astype(np.int64)
    monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda _self, _problem: inputs)
    answers(problem, plan, "random:4")


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("places", [6000, 3_000_000])
def test_runs_with_pads_and_without_reach_their_slices(pattern: Any, places: int) -> None:
    """Few slices, whose runs in a tile are long and padded, and many; an answer must not depend on the schedule."""
    problem = problem_of((places,), 20_000, "int32", pattern=pattern)
    answers(problem, small_slices(problem, host().info), "random:5")


def test_partitions_need_the_shared_memory_of_their_pairs() -> None:
    """A device of 64 KB has no room for a block's pairs: refused before the launch fails."""
    small = dataclasses.replace(DEVICE, max_shared_bytes=64 << 10)
    problem = problem_of((3000,), 2**20)
    assert isinstance(partitioned.Partitioned().plan(problem, DEVICE), Plan)
    assert isinstance(partitioned.Partitioned().plan(problem, small), Refused)


def test_partitions_count_lists_of_over_a_billion() -> None:
    """Three times the indices of a slice are more than 32 bits count where there is one slice: the bound is cut."""
    problem = problem_of((521,), 1_628_235_599, "uint8")
    assert isinstance(partitioned.build(problem, form(problem), DEVICE), Plan)


@pytest.mark.parametrize("dtype", ["float16", "int16", "complex128"])
def test_private_copies_give_the_same_bits(dtype: str) -> None:
    """A copy a lane, joined in order by the block that arrives last, whichever that is."""
    problem = problem_of((9,), 4000, dtype)
    plan = private_copies.build(problem, form(problem), host().info)
    assert len({bits for schedule in ("forward", "random:5") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "complex64"])
@pytest.mark.parametrize("layout", [{"permute": (1, 0)}, {"step": 2}], ids=str)
def test_private_copies_take_a_repetition_a_warp(dtype: str, layout: Any) -> None:
    """More repetitions than warps, more places than lanes, operands that turn, gaps; the same bits each time."""
    problem = problem_of((150, 40), 300, dtype, dim=1, pattern="half_same", layout=layout, alpha=2.0)
    plan = private_copies.build_rows(problem, form(problem), one_sm())
    assert len({bits for schedule in ("forward", "random:5") for bits in answers(problem, plan, schedule)}) == 1


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
