"""The fast sums where they could go wrong: shared outputs, runs off the grid, words of a launch that was ended."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gpubench import dtypes
from gpubench.measure.check import check
from gpubench.model import Plan, Problem, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.sum import fast, few, lanes, places, rows, staged, tuning
from gpubench.operators.sum.auto import choose, preferred
from gpubench.operators.sum.lines import MOST_PLACES, Cut, least_places, lines_of
from gpubench.operators.sum.merged import merged
from tests.operators.cases import DEVICE, make_case
from tests.operators.on_host import host, outputs

SUM = OPERATORS["sum"]


def problem_of(shape: tuple[int, ...], dim: Any, dtype: str = "float32", **layout: Any) -> Problem[Any]:
    """Return a sum's problem."""
    return SUM.problem(make_case("sum", dtype, shape=shape, dim=dim, layout=layout))


def answers(problem: Problem[Any], plan: Plan, stale: int = 0) -> list[bytes]:
    """Run a plan twice on one workspace, full of `stale` bytes at first; check each answer."""
    inputs, found = SUM.inputs(problem), []
    for output in outputs(problem, plan, 2, stale=stale):
        verdict = check(problem, SUM.reference(problem, inputs), plan.accuracy, output)
        assert verdict.ok, (problem.case.id, plan.variant, dict(plan.notes), verdict.first_mismatch)
        found.append(np.ascontiguousarray(output).tobytes())
    return found


def plans_with_parts(problem: Problem[Any]) -> Iterator[Plan]:
    """Yield plans of every kernel that takes the problem, with one and with several blocks an output."""
    shape = merged(problem)
    found: list[Plan | Refused] = []
    if shape.dims[0].kept or shape.apart != 1:
        for line in lines_of(shape):
            slice_ = line.items // line.vector if line.flat else least_places(line, line.vector) + line.ragged
            sharing = line.classes if line.ragged else max(1, min(3, line.rows, MOST_PLACES // slice_))
            found += [
                places.build(problem, shape, line, Cut(slice_, sharing, parts, 32 * -(-sharing * slice_ // 32)))
                for parts in (1, 3)
            ]
    else:
        found += [rows.build(problem, shape, 64, parts) for parts in (1, 3)]
        found += [
            rows.build_run(problem, shape, *way)
            for way in (
                *((threads, 1, True) for threads in (32, 64, 128, 256)),
                (32, 3, True),
                (32, 40, True),
                *((32, parts, False) for parts in (1, 3)),
            )
        ]
        if len(shape.reduced) == 1 and rows.vectors_of(shape) <= 256:
            found += [lanes.build(problem, shape, 32, 8, 1)]
    forms = {few.form_of(shape, problem.case.dtype), few.Form(1)}
    found += [few.build(problem, shape, form, DEVICE) for form in forms if shape.terms <= 64]
    found += [few.build_shared(problem, shape, *threads) for threads in ((32, 3), (4, 128), (1, 512))]
    found += [few.build_transposed(problem, shape, terms) for terms in (1, 4)]
    found += [few.build_words(problem, shape, words, 4, 32) for words in (2, 4)]
    if staged.is_flat(shape) and len(shape.reduced) == 1:
        found += [staged.build(problem, shape, 2, 4, 64)]
    yield from (plan for plan in found if isinstance(plan, Plan))


SHAPES: list[tuple[tuple[int, ...], Any, dict[str, Any]]] = [
    ((2433, 2), 0, {"offset": 3}),  # flat columns whose head and tail make one line more
    ((1687, 2), 0, {"offset": 2}),
    ((4, 8191), 1, {"permute": (1, 0), "offset": 5}),
    ((3, 700, 5), 1, {"offset": 1}),
    ((5, 33, 64), 1, {}),  # as columns and by warps that share outputs
    ((9, 2, 40), 1, {"permute": (2, 0, 1)}),  # short rows whose outputs lie across
    ((6, 8, 5, 24), (0, 2), {}),
    ((6, 8, 5, 24), (0, 3), {}),
    ((7, 12, 49), (0, 2), {}),
    ((7, 3, 129), (0, 2), {"offset": 1}),
    ((5, 3001), 1, {"offset": 1}),
    ((3, 5, 7, 11), (0, 2), {"permute": (2, 0, 3, 1)}),
    ((5, 13, 305), 1, {"offset": 3}),  # terms that stand anywhere
    ((1999,), 0, {"offset": 3}),  # everything, with a head and a tail
    ((3,), 0, {"offset": 1}),
    ((4, 3, 5, 257), (0, 2), {"offset": 1}),
    ((2, 300, 2), (0, 2), {}),  # neighbours of one output on a vector
    ((301, 2), 1, {"offset": 4}),
    ((40, 5, 35), 1, {"permute": (2, 1, 0)}),  # outputs that turn
    ((2, 33, 3, 34), (1,), {"permute": (3, 0, 2, 1), "offset": 1}),
    ((57, 7), 1, {"offset": 3}),  # rows whose words of 32 bits are cut anywhere
    ((64, 33), 1, {"step": 2}),  # gaps
    ((33, 64), 0, {"step": 3}),
    ((5, 6, 8), (0, 2), {"step": 2}),
    ((6, 5, 4, 3), (1, 3), {"expand": (0, 2)}),  # outputs stored several steps apart
    ((6, 5, 300), (1,), {"expand": (0,), "offset": 1}),
    ((40, 6), 1, {"expand": (0,)}),
    ((40, 6), 1, {"expand": (1,)}),
]


@pytest.mark.parametrize(("shape", "dim", "layout"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_every_cut_gives_the_right_sum_twice_with_the_same_bits(
    shape: tuple[int, ...], dim: Any, layout: dict[str, Any], dtype: str
) -> None:
    """One block an output or several: right, fit for the next run, and bitwise the same."""
    problem = problem_of(shape, dim, dtype, **layout)
    chosen = choose(problem, DEVICE)
    assert isinstance(chosen, Plan)
    plans = [*plans_with_parts(problem), chosen]
    host().compile([launch for plan in plans for launch in plan.launches])  # all of a source at once
    for plan in plans:
        first, second = answers(problem, plan)
        assert first == second


@pytest.mark.parametrize(
    ("items", "dtype", "width"),
    [
        *((2, dtype, 2) for dtype in ("float32", "int32", "float16", "bfloat16", "int16")),
        *((2, dtype, 1) for dtype in ("int8", "uint8")),  # vectors of two bytes are for places alone
        *((4, dtype, 4) for dtype in ("float16", "bfloat16", "int8", "uint8")),
        *((8, dtype, 4) for dtype in ("int8", "uint8")),
    ],
)
@pytest.mark.parametrize("dim", [(1,), (0, 2)])
def test_lines_are_read_by_the_widest_vectors_on_which_they_stand(
    items: int, dtype: str, width: int, dim: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a vector of 16 bytes, a quarter or an eighth: places and few have plans by it, which are right twice."""
    problem = problem_of((4, 3, 5, 48), dim, dtype, offset=items)
    little = [plan.notes.get("vector", 1) for plan in plans_with_parts(problem) if plan.notes.get("form") == "whole"]
    assert set(little) == {1}  # of little, element by element
    monkeypatch.setattr(tuning, "LITTLE", 0)
    plans = [plan for plan in plans_with_parts(problem) if {"vector", "width"} & plan.notes.keys()]
    found = {plan.notes["vector"] for plan in plans if plan.notes.get("form") == "whole"}
    assert found == {items, 1}
    assert {plan.notes["width"] for plan in plans if plan.variant == "few" and not plan.notes["across"]} == {width, 1}
    host().compile([launch for plan in plans for launch in plan.launches])
    for plan in plans:
        first, second = answers(problem, plan)
        assert first == second


@pytest.mark.parametrize("warps", [1, *tuning.ONE_BLOCK_WARPS])
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_one_block_has_everything_by_as_many_warps_as_the_kernel_is_compiled_for(warps: int, dtype: str) -> None:
    """From one vector more than half of what they hold to all of it, on the grid and off it."""
    vector = 16 // dtypes.dtype(dtype).itemsize
    loads = 8 if warps == 1 else tuning.ONE_BLOCK_LOADS
    most, one = 32 * warps * loads, f"OneBlock<{warps}>, 1, {loads}"
    for vectors, offset in ((most // 2 + 1, 0), (most // 2 + 1, 1), (most, 0)):
        problem = problem_of((vectors * vector,), 0, dtype, offset=offset)
        plan = choose(problem, DEVICE)
        assert isinstance(plan, Plan)
        assert one in plan.launches[0].kernel
        first, second = answers(problem, plan)
        assert first == second


@settings(max_examples=300, deadline=None)
@given(
    exponent=st.integers(8, 17), near=st.integers(-4, 4), offset=st.integers(0, 3), dtype=st.sampled_from(dtypes.NAMES)
)
@example(exponent=12, near=1, offset=0, dtype="float64")  # 2048 whole vectors and a half one
def test_everything_has_no_more_threads_than_its_kernel_is_compiled_for(
    exponent: int, near: int, offset: int, dtype: str
) -> None:
    """A launch of more fails on a GPU; here, and on the simulator, nothing else would tell."""
    plan = choose(problem_of((2**exponent + near,), 0, dtype, offset=offset), DEVICE)
    assert isinstance(plan, Plan)
    (launch,) = plan.launches
    warps = re.search(r"OneBlock<(\d+)>", launch.kernel)
    if warps:
        assert launch.block[0] == 32 * int(warps[1])
    elif "rows_run" in launch.kernel:
        assert launch.block[0] <= 512


@settings(max_examples=300, deadline=None)
@given(
    terms=st.integers(2, 70_000),
    offset=st.integers(0, 3),
    outputs=st.sampled_from([1, 3, 200]),
    threads=st.sampled_from([32, 64, 128, 256, 512, 1024]),
    parts=st.sampled_from([1, 2, 40]),
)
def test_of_what_threads_hold_at_once_half_is_always_there(
    terms: int, offset: int, outputs: int, threads: int, parts: int
) -> None:
    """The kernels load that half without a look; a run that begins off the grid has a vector less."""
    problem = problem_of((outputs, terms), 1, "float32", offset=offset)
    plan = rows.build_run(problem, merged(problem), threads, parts, True)
    assert isinstance(plan, Plan)
    least = max(0, (terms - 3) // 4) if offset or terms % 4 else terms // 4
    assert int(plan.notes["held"]) // 2 * threads * parts <= least


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_words_of_a_launch_that_was_ended_are_as_good_as_empty(dtype: str) -> None:
    """Whatever an earlier launch left in the workspace, blocks wait for this launch's words."""
    problem = problem_of((5000,), 0, dtype)
    for plan in (rows.build(problem, merged(problem), 64, 4), rows.build_run(problem, merged(problem), 64, 4, False)):
        assert isinstance(plan, Plan)
        assert plan.workspace_bytes > 0
        answers(problem, plan, stale=0x41)


def test_terms_that_are_one_element_count_without_overflow_or_new_nans() -> None:
    """A broadcast reduced dim multiplies: infinity stays, integers wrap, and a zero count has no part in it."""
    for dtype in ("int64", "float32", "complex64"):
        problem = problem_of((3, 1000, 4), (1,), dtype, expand=(1,))
        plan = choose(problem, DEVICE)
        assert isinstance(plan, Plan)
        answers(problem, plan)


@pytest.mark.parametrize(
    ("vectors", "taken"),
    [(fast.LOADS * 32 - 1, True), (fast.LOADS * 32, True), (fast.LOADS * 32 + 1, False)],
)
def test_lanes_take_rows_up_to_what_a_warp_holds(vectors: int, taken: bool) -> None:
    """256 vectors are eight of each lane; one more is refused."""
    problem = problem_of((3, vectors * 4), 1)
    assert isinstance(lanes.Lanes().plan(problem, DEVICE), Plan) is taken


def test_lanes_hold_no_more_rows_than_are_on_their_way() -> None:
    """Eight vectors a lane are one row a group: a plan with two would leave every second row out."""
    problem = problem_of((100, 200), 1)
    assert isinstance(lanes.build(problem, merged(problem), 8, 8, 1), Plan)
    assert isinstance(lanes.build(problem, merged(problem), 8, 8, 2), Refused)


def test_rows_of_over_32_bits_of_outputs_are_left_to_others() -> None:
    """A run of seven billion outputs of seven terms is refused by few, and `auto` has a plan for it."""
    problem = problem_of((1_011_346, 7330, 7), (2,), "int16", permute=(2, 1, 0), offset=5)
    assert isinstance(few.Few().plan(problem, DEVICE), Refused)
    assert any(isinstance(variant.plan(problem, DEVICE), Plan) for variant in preferred(problem, DEVICE))


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_rules_plan_whatever_comes(data: st.DataObject) -> None:
    """Any shape, set of dims and layout has a plan whose grid, threads and shared memory a GPU takes."""
    shape = tuple(data.draw(st.lists(st.integers(1, 3000), min_size=1, max_size=4)))
    assume(math.prod(shape) < 2**34)
    dim = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    layout: dict[str, Any] = {"offset": data.draw(st.integers(0, 5))}
    if data.draw(st.booleans()):
        layout["permute"] = tuple(data.draw(st.permutations(range(len(shape)))))
    problem = problem_of(shape, dim, data.draw(st.sampled_from(SUM.dtypes)), **layout)
    for sms in (1, 16, 132):
        device = dataclasses.replace(DEVICE, sm_count=sms)
        plans = [variant.plan(problem, device) for variant in preferred(problem, device)]
        assert any(isinstance(plan, Plan) for plan in plans)
        for plan in plans:
            for launch in plan.launches if isinstance(plan, Plan) else ():
                assert 0 < launch.grid[0] < 2**31
                assert launch.block[0] * launch.block[1] <= 1024
                assert launch.shared_bytes <= 48 * 1024
