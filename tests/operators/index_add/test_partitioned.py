"""`partitioned` where it could go wrong: what a sample did not see, pads, slices, shared memory."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpubench.engine.buffers import Operands, Pristine
from gpubench.model import DeviceInfo, Plan, Problem, Refused, Workspace
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import partitioned
from studies.sampling import counted_by_partition, sampled_place
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import (
    INDEX_ADD,
    PATTERNS,
    answers,
    form,
    give_list,
    problem_of,
    sums_of_those_inside,
)
from tests.operators.on_host import host, output


def small_slices(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return a partitioned plan of slices of 8 KB, filled by several blocks."""
    return partitioned.build(
        problem, form(problem), dataclasses.replace(device, max_shared_bytes=9 * 1024), least_range=300
    )


def seen_as_even(plan: Plan, count: int, places: int, others: str) -> Any:
    """Return a list of which the sampled indices alone are spread over a slice; all others are of the next one."""
    size, at = int(str(plan.notes["slice"])), np.arange(count)
    seen = counted_by_partition(count, int(str(plan.notes["blocks"])))
    unseen = {
        "apart": size + at % size,
        "few": size + at % 7,
        "one": np.full(count, size + 1),
        "outside": size + at % 2,
    }
    index = np.where(seen, at % size, unseen[others]).astype(np.int64)
    if others == "outside":
        index[1::5], index[3::5] = -1, places + 7
    return index


@pytest.mark.parametrize("period", [1, 2, 3, 32, 55, 89, 144, 256, 1000])
def test_a_list_that_repeats_itself_is_seen_everywhere(period: int) -> None:
    """Spans `period` apart have pieces of their own: every piece of a span is sampled, none much more often."""
    for seed in (2**24, 2**26, 3 * 2**24 + 1):
        found = np.bincount(sampled_place(np.arange(4096) * period, seed, 32), minlength=32)
        assert found.min() > 64
        assert found.max() < 256


@pytest.mark.parametrize(("pattern", "dtype"), [("uniform", "float32"), ("sorted", "int8"), ("half_same", "bfloat16")])
def test_partitions_are_right(pattern: str, dtype: str) -> None:
    """A list that is moved, and one in order that stays."""
    problem = problem_of((60_000,), 3000, dtype, pattern=pattern, alpha=2.0)
    answers(problem, small_slices(problem, host().info), "random:2")


ROWS = [
    ("float32", 2), ("float32", 4), ("bfloat16", 2), ("bfloat16", 8), ("float16", 4), ("int8", 4), ("uint8", 8),
    ("int16", 8), ("float64", 1), ("int64", 2), ("complex64", 1), ("complex64", 2), ("complex128", 1),
]  # fmt: skip


@pytest.mark.parametrize("pattern", ["uniform", "sorted", "half_same", "same"])
@pytest.mark.parametrize(("dtype", "inner"), ROWS)
def test_rows_are_right(dtype: str, inner: int, pattern: str) -> None:
    """Rows of 4, 8 and 16 bytes: moved, in order, half or all of them on one place, whose sums lanes keep."""
    shape = (3001, inner) if inner > 1 else (3001,)
    problem = problem_of(shape, 9000, dtype, pattern=pattern, alpha=2.0, index_dtype="int32")
    answers(problem, small_slices(problem, host().info), "random:2")


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("places", [6000, 800_000])
@pytest.mark.parametrize(("dtype", "inner"), [("float32", 2), ("float32", 4), ("int32", 2)])
def test_runs_of_rows_with_pads_and_without_reach_their_slices(
    pattern: Any, places: int, dtype: str, inner: int
) -> None:
    """Few slices and many; indices and the bytes of rows, which stand apart, keep together."""
    problem = problem_of((places, inner), 20_000, dtype, pattern=pattern, distribution="integers")
    plan = small_slices(problem, host().info)
    assert isinstance(plan, Plan)
    assert plan.notes["grain"] == (partitioned.GRAIN if places == 6000 else 1)
    answers(problem, plan, "random:5")


@pytest.mark.parametrize(("dtype", "inner"), [("float32", 2), ("bfloat16", 8), ("complex64", 2), ("float64", 1)])
def test_rows_in_order_are_left_where_they_are(dtype: str, inner: int) -> None:
    """Runs of one row are added up by their warp, and come to the destination as rows."""
    problem = problem_of((9000, inner) if inner > 1 else (9000,), 100_000, dtype, pattern="sorted", alpha=-1.0)
    plan = small_slices(problem, dataclasses.replace(host().info, sm_count=2))
    assert way_of(problem, plan) == "ordered"
    answers(problem, plan, "random:3")


@pytest.mark.parametrize(
    ("shape", "dtype", "layouts"),
    [
        ((3000, 3), "float32", {}),
        ((3000, 8), "float32", {}),
        ((3000, 16), "int8", {}),
        ((3000, 2), "int8", {}),
        ((3000, 2), "complex128", {}),
        ((3000, 2), "float32", {"layout": {"offset": 1}}),
        ((3000, 2), "float32", {"source_layout": {"offset": 3}}),
        ((3000, 2), "float32", {"layout": {"permute": (1, 0)}}),
        ((3000, 2), "float32", {"source_layout": {"step": 2}}),
        ((2, 3000, 2), "float32", {"dim": 1}),
    ],
)
def test_rows_that_are_no_single_access_are_refused(shape: Any, dtype: str, layouts: dict[str, Any]) -> None:
    """Other lengths, rows that do not stand on their size, elements apart, repetitions."""
    assert isinstance(partitioned.Partitioned().plan(problem_of(shape, 2**20, dtype, **layouts), DEVICE), Refused)


def test_rows_of_a_source_that_is_broadcast_are_one_row() -> None:
    """Every index meets the same row; and a destination may begin at any of its rows."""
    layouts: dict[str, Any] = {"layout": {"offset": 6}, "source_layout": {"expand": (0,), "offset": 4}}
    problem = problem_of((700, 2), 3000, "float32", **layouts)
    answers(problem, small_slices(problem, host().info))


def test_entries_of_rows_fit_the_workspace() -> None:
    """Indices stand behind the bytes of all rows, on whole sectors; a block's tile fits an H100's shared memory."""
    for dtype, inner, entry in (("float32", 1, 8), ("float32", 2, 12), ("float32", 4, 20), ("bfloat16", 8, 20)):
        problem = problem_of((2**22, inner), 2**24, dtype) if inner > 1 else problem_of((2**22,), 2**24, dtype)
        row = partitioned.Row.of(dtype, inner)
        assert row is not None
        cut = partitioned.cut_of(form(problem), row, DEVICE, partitioned.LEAST_RANGE)
        assert isinstance(cut, partitioned.Cut)
        assert cut.entry == entry
        assert cut.room % 8 == 0
        assert cut.starts[3] - cut.starts[2] >= entry * cut.room
        assert cut.shared_bytes <= DEVICE.max_shared_bytes


@pytest.mark.parametrize(("places", "runs"), [(3_000_000, "short"), (6000, "long")])
@pytest.mark.parametrize("others", ["apart", "few", "one", "outside"])
@pytest.mark.parametrize(("dtype", "floor"), [("int32", 0), ("int32", 1), ("int8", 1), ("float32", 1)])
def test_a_sample_that_saw_nothing_of_the_list_costs_time_alone(
    monkeypatch: pytest.MonkeyPatch, places: int, runs: str, others: str, dtype: str, floor: int
) -> None:
    """All indices but the sampled ones are of another slice, whose room is soon full, or of one or a few of its places,
    some of them outside the dim; runs with pads and without.
    """
    problem = problem_of((places,), 40_000, dtype)
    with in_force({"PARTITION_FLOOR": floor}):
        plan = small_slices(problem, host().info)
    assert isinstance(plan, Plan)
    assert plan.notes["grain"] == (partitioned.GRAIN if runs == "long" else 1)
    inputs = give_list(problem, seen_as_even(plan, 40_000, places, others), monkeypatch)
    if others != "outside":
        answers(problem, plan, "random:4")
    elif dtype != "float32":
        np.testing.assert_array_equal(output(problem, plan, "random:4"), sums_of_those_inside(problem, inputs))


@pytest.mark.parametrize("places", [3_000_000, 6000])
@pytest.mark.parametrize("others", ["apart", "few", "one", "outside"])
@pytest.mark.parametrize(
    ("dtype", "inner"), [("int16", 4), ("int32", 2), ("int64", 2), ("float32", 2), ("bfloat16", 8)]
)
def test_rows_that_find_no_room_go_to_the_destination(
    monkeypatch: pytest.MonkeyPatch, places: int, others: str, dtype: str, inner: int
) -> None:
    """Whole rows, added up where neighbours have one place, whatever indices outside of the dim stand between them."""
    problem = problem_of((places // inner, inner), 20_000, dtype, distribution="integers")
    with in_force({"PARTITION_FLOOR": 0}):
        plan = small_slices(problem, host().info)
    assert isinstance(plan, Plan)
    inputs = give_list(problem, seen_as_even(plan, 20_000, places // inner, others), monkeypatch)
    if others != "outside":
        answers(problem, plan, "random:4")
    elif dtype.startswith("int"):
        wanted = sums_of_those_inside(problem, inputs)
        np.testing.assert_array_equal(output(problem, plan, "random:4").reshape(wanted.shape), wanted)


def way_of(problem: Problem[Any], plan: Plan | Refused) -> str:
    """Run the plan on the simulator and say what was done with the list."""
    assert isinstance(plan, Plan)
    device, kept = host(), plan.launches[0].arguments[7]
    assert isinstance(kept, Workspace)
    pristine = Pristine(device, problem, INDEX_ADD.inputs(problem), keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    operands.restore()
    device.bind(plan, operands.addresses, operands.workspace).run()
    workspace = np.zeros(plan.workspace_bytes, np.uint8)
    device.download(operands.workspace, workspace)
    return ("moved", "ordered", "repeated")[workspace[kept.byte_offset : kept.byte_offset + 4].view(np.uint32)[0]]


def pieces_of(index: Any, pieces: int) -> Any:
    """Return so many parts of a list, each in order."""
    return np.concatenate([np.sort(part) for part in np.array_split(index, pieces)])


def with_holes(index: Any) -> Any:
    """Return a list in order that leaves nine tenths of the places out, a thousand neighbours at a time."""
    return np.sort(index // 1000 * 1000 + index % 100)


@pytest.mark.parametrize(
    ("arrange", "left"),
    [
        (lambda index: index, False),
        (lambda index: pieces_of(index, 1), True),
        (lambda index: pieces_of(index, 40), False),
        (lambda index: pieces_of(index, 8), False),  # neighbours with one place are no place that comes again
        (with_holes, True),
        (lambda index: np.where(np.arange(index.size) == 31, -1, np.sort(index)), True),
    ],
    ids=["even", "in order", "sorted pieces", "few of them", "holes", "one outside"],
)
def test_a_list_in_order_is_left_where_it_is(monkeypatch: pytest.MonkeyPatch, arrange: Any, left: bool) -> None:
    """Not sorted pieces that each reach over all places; holes now and then are no matter, nor what none looked at."""
    problem = problem_of((90_000,), 100_000, "int32")
    inputs = give_list(problem, arrange(INDEX_ADD.inputs(problem)["index"]), monkeypatch)
    plan = small_slices(problem, dataclasses.replace(host().info, sm_count=2))
    assert way_of(problem, plan) == ("ordered" if left else "moved")
    if inputs["index"].min() >= 0:
        answers(problem, plan, "random:3")


@pytest.mark.parametrize(
    ("pattern", "dtype", "inner", "way"),
    [
        ("zipf", "float32", 1, "repeated"),
        ("zipf", "bfloat16", 4, "repeated"),
        ("zipf", "complex64", 1, "repeated"),
        ("same", "float64", 1, "repeated"),
        ("half_same", "float32", 2, "moved"),
        ({"duplicates": 4}, "int16", 1, "moved"),
        ("sorted", "int64", 1, "ordered"),
        ("sorted", "uint8", 4, "repeated"),  # words that are exchanged
    ],
)
def test_lists_in_which_many_places_come_again_are_a_table_s(pattern: Any, dtype: str, inner: int, way: str) -> None:
    """Or one place nearly always; not one that half of the list has."""
    problem = problem_of((90_000, inner) if inner > 1 else (90_000,), 100_000, dtype, pattern=pattern)
    plan = small_slices(problem, dataclasses.replace(host().info, sm_count=2))
    assert way_of(problem, plan) == way
    answers(problem, plan, "random:4")


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_short_lists_of_sorted_pieces_are_right(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    """They may end inside what is looked at, or be shorter."""
    for count in (300, 9001):
        problem = problem_of((9000,), count, "int32")
        give_list(problem, pieces_of(INDEX_ADD.inputs(problem)["index"], pieces), monkeypatch)
        answers(problem, small_slices(problem, host().info), "random:3")
        monkeypatch.undo()


def test_every_slice_has_room_for_its_share() -> None:
    """Whatever the sample says a list spread evenly fits; not where 32-bit numbers would not count the rooms."""
    problem = problem_of((2**26,), 2**26)
    cut = partitioned.cut_of(form(problem), partitioned.Row("float32", 1), DEVICE, partitioned.LEAST_RANGE)
    assert isinstance(cut, partitioned.Cut)
    assert cut.least >= cut.count / cut.slices + cut.pads
    assert cut.least % cut.grain == 0
    assert cut.room < 2.6 * cut.count
    many = problem_of((521,), 1_628_235_599, "uint8")
    cut = partitioned.cut_of(form(many), partitioned.Row("uint8", 1), DEVICE, partitioned.LEAST_RANGE)
    assert isinstance(cut, partitioned.Cut)
    assert cut.least == 0


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
