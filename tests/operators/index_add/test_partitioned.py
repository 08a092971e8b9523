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
from tests.operators.index_add.answers import INDEX_ADD, PATTERNS, answers, form, problem_of
from tests.operators.on_host import host, output


def small_slices(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return a partitioned plan of slices of 8 KB, filled by several blocks."""
    return partitioned.build(
        problem, form(problem), dataclasses.replace(device, max_shared_bytes=9 * 1024), least_range=300
    )


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
    inputs = INDEX_ADD.inputs(problem)
    size, at = int(str(plan.notes["slice"])), np.arange(40_000)
    seen = counted_by_partition(40_000, int(str(plan.notes["blocks"])))
    unseen = {
        "apart": size + at % size,
        "few": size + at % 7,
        "one": np.full(40_000, size + 1),
        "outside": size + at % 2,
    }
    inputs["index"] = np.where(seen, at % size, unseen[others]).astype(np.int64)
    if others == "outside":
        inputs["index"][1::5], inputs["index"][3::5] = -1, places + 7
        inside = (inputs["index"] >= 0) & (inputs["index"] < places)
        wanted = inputs["destination"].copy()
        with np.errstate(all="ignore"):
            np.add.at(wanted, inputs["index"][inside], inputs["source"][inside])
    monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda _self, _problem: inputs)
    if others != "outside":
        answers(problem, plan, "random:4")
    elif dtype != "float32":
        np.testing.assert_array_equal(output(problem, plan, "random:4"), wanted)


def stays(problem: Problem[Any], plan: Plan | Refused) -> bool:
    """Run the plan on the simulator and say whether the list was left where it is."""
    assert isinstance(plan, Plan)
    device, kept = host(), plan.launches[0].arguments[7]
    assert isinstance(kept, Workspace)
    pristine = Pristine(device, problem, INDEX_ADD.inputs(problem), keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    operands.restore()
    device.bind(plan, operands.addresses, operands.workspace).run()
    workspace = np.zeros(plan.workspace_bytes, np.uint8)
    device.download(operands.workspace, workspace)
    return bool(workspace[kept.byte_offset : kept.byte_offset + 4].view(np.uint32)[0])


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
        (with_holes, True),
        (lambda index: np.where(np.arange(index.size) == 31, -1, np.sort(index)), True),
    ],
    ids=["even", "in order", "sorted pieces", "holes", "one outside"],
)
def test_a_list_in_order_is_left_where_it_is(monkeypatch: pytest.MonkeyPatch, arrange: Any, left: bool) -> None:
    """Not sorted pieces that each reach over all places; holes now and then are no matter, nor what none looked at."""
    problem = problem_of((90_000,), 100_000, "int32")
    inputs = INDEX_ADD.inputs(problem)
    inputs["index"] = arrange(inputs["index"])
    monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda _self, _problem: inputs)
    plan = small_slices(problem, dataclasses.replace(host().info, sm_count=2))
    assert stays(problem, plan) is left
    if inputs["index"].min() >= 0:
        answers(problem, plan, "random:3")


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_short_lists_of_sorted_pieces_are_right(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    """They may end inside what is looked at, or be shorter."""
    for count in (300, 9001):
        problem = problem_of((9000,), count, "int32")
        inputs = INDEX_ADD.inputs(problem)
        inputs["index"] = pieces_of(inputs["index"], pieces)
        monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda _self, _problem, inputs=inputs: inputs)
        answers(problem, small_slices(problem, host().info), "random:3")
        monkeypatch.undo()


def test_every_slice_has_room_for_its_share() -> None:
    """Whatever the sample says a list spread evenly fits; not where 32-bit numbers would not count the rooms."""
    problem = problem_of((2**26,), 2**26)
    cut = partitioned.cut_of(form(problem), 4, DEVICE, partitioned.LEAST_RANGE)
    assert isinstance(cut, partitioned.Cut)
    assert cut.least >= cut.count / cut.slices + cut.pads
    assert cut.least % cut.grain == 0
    assert cut.room < 2.6 * cut.count
    many = problem_of((521,), 1_628_235_599, "uint8")
    cut = partitioned.cut_of(form(many), 4, DEVICE, partitioned.LEAST_RANGE)
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
