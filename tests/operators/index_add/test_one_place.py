"""Rows of a dim of one place where their sums could go wrong: vectors, groups of lanes, pieces, indices outside."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.model import Plan, Refused
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import one_place, tuning
from gpubench.operators.index_add.auto import choose
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import INDEX_ADD, answers, noted, problem_of
from tests.operators.on_host import one_sm


def plan_of(problem: Any, **notes: Any) -> Plan:
    """Return the plan, which has these notes."""
    return noted(one_place.build(problem, one_sm()), **notes)


@pytest.mark.parametrize("dtype", INDEX_ADD.dtypes)
@pytest.mark.parametrize("indices", [9, 32, 34, 100])
def test_rows_of_every_dtype_are_added_up(dtype: str, indices: int) -> None:
    """As many as groups do not divide, by vectors and elements."""
    problem = problem_of((37, 5, 1), indices, dtype, dim=2, alpha=-2.0)
    answers(problem, plan_of(problem, pieces=1), "random:2")


@pytest.mark.parametrize(("indices", "layout", "vector"), [
    (36, {}, 4),
    (34, {}, 2),
    (33, {}, 1),
    (36, {"offset": 2}, 2),
    (36, {"offset": 1}, 1),
    (36, {"step": 2}, 1),
])  # fmt: skip
def test_a_vector_is_as_wide_as_every_row_stands_on(indices: int, layout: Any, vector: int) -> None:
    """A row of 36 elements is nine vectors, of 34 seventeen pairs; an odd one, or one with gaps, is elements."""
    problem = problem_of((50, 1), indices, dim=1, source_layout=layout)
    answers(problem, plan_of(problem, vector=vector), "random:1")


@pytest.mark.parametrize("pattern", ["uniform", {"out_of_range": 1}, {"out_of_range": 70}], ids=str)
@pytest.mark.parametrize("indices", [31, 128, 129, 300])
def test_indices_outside_add_nothing(indices: int, pattern: Any) -> None:
    """The first, words of them, all but a few; the same bits under every schedule."""
    if isinstance(pattern, dict):
        pattern = {"out_of_range": min(pattern["out_of_range"], indices)}
    problem = problem_of((1, 45), indices, dim=0, pattern=pattern, source_layout={"permute": (1, 0)}, alpha=1.0)
    plan = plan_of(problem, pieces=1)
    assert len({bits for schedule in ("forward", "random:3") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "complex128", "int64"])
@pytest.mark.parametrize("indices", [1000, 2047, 4100])
def test_pieces_of_a_long_list_meet(dtype: str, indices: int) -> None:
    """Few rows, whose list is cut for many SMs, and a piece at most `MOST_PIECE` long."""
    problem = problem_of((5, 1, 3), indices, dtype, dim=1, alpha=-2.0, source_layout={"permute": (2, 0, 1)})
    plan = noted(one_place.build(problem, dataclasses.replace(one_sm(), sm_count=2)))
    assert plan.notes["pieces"] != 1
    answers(problem, plan, "random:2")


@pytest.mark.parametrize("layouts", [
    {"layout": {"permute": (3, 1, 0, 2)}, "source_layout": {"permute": (0, 2, 3, 1)}},
    {"layout": {"step": 2}, "source_layout": {"permute": (3, 2, 0, 1)}},
])  # fmt: skip
def test_other_dims_may_lie_anywhere(layouts: Any) -> None:
    """Three dims beside the indexed one, none merged."""
    problem = problem_of((7, 1, 5, 6), 21, "float16", dim=1, **layouts)
    answers(problem, plan_of(problem), "random:5")


@pytest.mark.parametrize(("shape", "indices", "dim", "source", "along"), [
    ((2**13, 1), 32, 1, {}, True),
    ((2**13 - 1, 1), 32, 1, {}, False),  # little
    ((2**15, 1), 9, 1, {}, True),
    ((2**15, 1), 8, 1, {}, False),  # as many as a thread holds
    ((2**10, 1), 2048, 1, {}, True),
    ((2**10, 1), 2049, 1, {}, False),
    ((64, 128, 1), 40, 2, {}, True),
    ((64, 1), 2048, 1, {"step": 2}, False),
    ((128, 1), 2048, 1, {"step": 2}, True),
    ((63, 1), 2048, 1, {}, False),
    ((2**13, 2), 32, 1, {}, False),  # two places
    ((1, 2**13), 32, 0, {}, False),  # the source is dense across
    ((1, 2**13), 32, 0, {"permute": (1, 0)}, True),
])  # fmt: skip
def test_each_side_of_an_edge(shape: Any, indices: int, dim: int, source: Any, along: bool) -> None:
    """Elements, indices, rows, places, and how the source lies."""
    problem = problem_of(shape, indices, dim=dim, source_layout=source)
    assert one_place.is_for(problem) is along
    plan = choose(problem, DEVICE)
    assert isinstance(plan, Plan)
    assert ("along" in plan.notes) is along


def test_the_least_may_be_set() -> None:
    """A tuned `ONE_ROWS_LEAST` decides."""
    problem = problem_of((2**13, 1), 32, dim=1)
    with in_force({"ONE_ROWS_LEAST": 2 * tuning.ONE_ROWS_LEAST}):
        assert not one_place.is_for(problem)


def test_several_places_are_refused() -> None:
    """Each index of this form names one place or none."""
    assert isinstance(one_place.build(problem_of((40, 2), 32, dim=1), one_sm()), Refused)
