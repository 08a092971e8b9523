"""Few indices where their walk could go wrong: vectors, rectangles, places that meet, indices outside the dim."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Plan, Refused
from gpubench.operators.index_add import walked
from gpubench.operators.index_add.auto import choose
from gpubench.operators.index_add.strides import strides_of
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import answers, noted, problem_of
from tests.operators.on_host import one_sm


def plan_of(problem: Any, **notes: Any) -> Plan:
    """Return the plan, which has these notes."""
    return noted(walked.build(problem, one_sm()), **notes)


@pytest.mark.parametrize("indices", [1, 3, 8])
@pytest.mark.parametrize("pattern", ["same", "half_same", {"out_of_range": 1}], ids=str)
def test_rows_of_one_place_are_added_up_in_their_order(indices: int, pattern: Any) -> None:
    """By vectors of 16 bytes, the same bits whatever the schedule; what is outside the dim is left out."""
    problem = problem_of((9, 64), indices, pattern=pattern, alpha=1.0)
    plan = plan_of(problem, vector=4)
    assert len({bits for schedule in ("forward", "random:3") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize(("dtype", "vector"), [("int8", 2), ("bfloat16", 2), ("complex64", 2), ("float64", 2)])
def test_a_vector_is_as_wide_as_what_it_must_stand_on(dtype: str, vector: int) -> None:
    """Rows of 6 elements, both operands from an even offset on."""
    problem = problem_of((40, 5, 6), 2, dtype, dim=1, layout={"offset": 4}, alpha=-2.0)
    answers(problem, plan_of(problem, vector=vector), "random:1")


@pytest.mark.parametrize("shape", [(37, 70), (4, 90), (1, 33, 5)], ids=str)
def test_rectangles_cover_all_and_no_more(shape: tuple[int, ...]) -> None:
    """Sizes that rectangles do not divide, and a dim shorter than one."""
    problem = problem_of((*shape, 3), 2, dim=len(shape), source_layout={"permute": (*range(len(shape), -1, -1),)})
    answers(problem, plan_of(problem, rectangles=True), "random:2")


@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_any_layout(data: st.DataObject) -> None:
    """Any order of dims, the operands' apart."""
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 5, 8, 24]), min_size=1, max_size=4)))
    orders = [tuple(data.draw(st.permutations(range(len(shape))))) for _ in range(2)]
    layouts = {name: {"permute": order} for name, order in zip(("layout", "source_layout"), orders, strict=True)}
    dim, indices = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(1, walked.MOST))
    problem = problem_of(shape, indices, data.draw(st.sampled_from(["int16", "float32"])), dim=dim, **layouts)
    answers(problem, plan_of(problem), "random:5")


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex128", "int64"])
@pytest.mark.parametrize(("indices", "pieces"), [(9, 2), (29, 4), (61, 8)])
def test_one_place_takes_any_number_of_indices(dtype: str, indices: int, pieces: int) -> None:
    """Pieces of the list that meet, turns that no list fills, rectangles that no size fills; some alpha."""
    turned: dict[str, Any] = {"layout": {"permute": (1, 0, 2)}, "source_layout": {"permute": (1, 2, 0)}}
    problem = problem_of((21, 1, 37), indices, dtype, dim=1, alpha=-2.0, **turned)
    device = dataclasses.replace(one_sm(), sm_count=40)
    answers(problem, noted(walked.build(problem, device), pieces=pieces, rectangles=True), "random:2")


def test_one_place_in_one_piece_repeats() -> None:
    """No atomics where the blocks are enough: the same bits under every schedule; indices outside add nothing."""
    for pattern in ("uniform", {"out_of_range": 7}):
        problem = problem_of((1, 21, 37), 29, pattern=pattern, source_layout={"permute": (0, 2, 1)}, alpha=1.0)
        plan = plan_of(problem, pieces=1, rectangles=True)
        assert len({bits for schedule in ("forward", "random:3") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize(("shape", "source", "one"), [
    ((1, 512, 512), (0, 2, 1), True),
    ((1, 512, 512), (0, 1, 2), True),
    ((1, 512, 512), (2, 1, 0), False),
    ((1, 16, 16), (0, 1, 2), False),
    ((1, 64, 64), (0, 2, 1), False),
    ((2, 512, 512), (0, 2, 1), False),
])  # fmt: skip
def test_one_place_is_walked_unless_the_source_is_dense_along_the_list(
    shape: tuple[int, ...], source: tuple[int, ...], one: bool
) -> None:
    """Nor where there is little, or two places."""
    problem = problem_of(shape, 9, source_layout={"permute": source})
    assert walked.is_for_one(problem, strides_of(problem)) is one


@pytest.mark.parametrize(("indices", "positions", "one"), [(4096, 255, False), (4096, 256, True), (4096, 257, True)])
def test_few_positions_of_one_place_are_left_to_others(indices: int, positions: int, one: bool) -> None:
    """A thread a position would be few threads, whose sums meet."""
    problem = problem_of((1, positions), indices)
    assert walked.is_for_one(problem, strides_of(problem)) is one


@pytest.mark.parametrize(("dtype", "row", "indices", "one"), [
    ("bfloat16", 65537, 64, True),
    ("bfloat16", 65537, 65, False),
    ("bfloat16", 65536, 65, True),
    ("bfloat16", 8193, 300, True),
    ("float32", 65537, 65, True),
])  # fmt: skip
def test_many_long_rows_of_16_bits_that_stand_anywhere_go_by_cut_vectors(
    dtype: str, row: int, indices: int, one: bool
) -> None:
    """Where rows are no whole vectors, indices are many and there is much."""
    problem = problem_of((1, row), indices, dtype)
    assert walked.is_for_one(problem, strides_of(problem)) is one
    variant = choose(problem, DEVICE)
    assert isinstance(variant, Plan)
    assert ("one_place" in variant.notes) is one


@pytest.mark.parametrize(("dtype", "pattern", "alpha"), [
    ("float32", {"out_of_range": 3}, 1.0), ("int8", "uniform", -2.0), ("bfloat16", "uniform", -2.0),
])  # fmt: skip
def test_rows_of_one_place_side_by_side_are_added_up(dtype: str, pattern: Any, alpha: float) -> None:
    """In one piece and in several, rows that stand anywhere."""
    problem = problem_of((1, 301), 29, dtype, pattern=pattern, source_layout={"offset": 1}, alpha=alpha)
    for sms, pieces in ((1, 2), (40, 4)):
        device = dataclasses.replace(one_sm(), sm_count=sms)
        answers(problem, noted(walked.build(problem, device), pieces=pieces), "random:2")


def test_more_indices_than_a_thread_holds_are_refused() -> None:
    """Nothing is left out silently."""
    assert isinstance(walked.build(problem_of((20, 4), walked.MOST + 1), one_sm()), Refused)


@pytest.mark.parametrize(("dtype", "elements", "notes"), [
    ("float32", 2**18 + 2**15, {"rows": 1, "vector": 4, "alone": True}),
    ("float32", 2**19 - 4, {"rows": 1, "vector": 4, "alone": True}),
    ("float32", 2**19, {"each": 1, "vector": 4}),
    ("int32", walked.ONE_WALKED_LEAST // 4 - 4, {"rows": 1, "vector": 1}),
    ("int32", walked.ONE_WALKED_LEAST // 4, {"each": 1, "vector": 4}),
    ("float64", walked.ONE_WALKED_LEAST // 8 + 2, {"each": 1, "vector": 2}),
    ("complex128", walked.ONE_WALKED_LEAST // 16, {"each": 1, "vector": 1}),
])  # fmt: skip
def test_one_index_is_a_vector_a_thread(dtype: str, elements: int, notes: dict[str, Any]) -> None:
    """By atomics, or walked from `LEAST` bytes on; of what atomics add element by element from half of them on."""
    problem = problem_of((3, elements), 1, dtype)
    noted(choose(problem, DEVICE), **notes)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_one_index_adds_its_row_and_no_other(dtype: str) -> None:
    """A row that fills no block, by atomics of 16 bytes."""
    problem = problem_of((3, 5, 1032), 1, dtype, alpha=2.0)
    answers(problem, noted(choose(problem, DEVICE), rows=1), "random:1")
