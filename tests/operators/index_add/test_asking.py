"""Warps that ask for places while rows are on their way: which do, and that no answer changes."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.model import Plan
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import combined, tuning
from gpubench.operators.index_add.combined import Combined
from gpubench.operators.index_add.regimes import asks_for_rows
from tests.operators.cases import DEVICE, auto
from tests.operators.index_add.answers import PATTERNS, answers, form, noted, problem_of

MANY, NONE = {"ASK_ROWS": 2**20}, {"ASK_ROWS": 0}


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize(("rows", "least"), [(4, 2**15), (8, 2**15), (32, 2**15), (32, 700)])
def test_asking_changes_no_answer(pattern: Any, rows: int, least: int) -> None:
    """Of a thread, a warp and a warp that shares its list by runs; of indices outside the dim, nothing."""
    problem = problem_of((90, 24), 700, pattern=pattern)
    with in_force({**MANY, "RUNS_LEAST": least}):
        plan = noted(combined.build(problem, form(problem), rows), asks=True)
    assert "true>" in plan.launches[0].kernel
    answers(problem, plan, "random:4")


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "float64", "complex128"])
def test_rows_of_every_width_are_asked_for(dtype: str) -> None:
    """Vectors of 16 bytes, elements of long rows, rows that are columns of the destination."""
    for shape, params in (((2, 40, 64), {}), ((40, 70), {"layout": {"step": 2}})):
        problem = problem_of(shape, 90, dtype, dim=len(shape) - 2, **params)
        with in_force(MANY):
            plan = combined.build(problem, form(problem), 8)
        answers(problem, plan, "random:5")


def asks(width: int, dtype: str, indices: int, places: int = 4096, **params: Any) -> bool:
    """Return what the rule says of so many rows."""
    return asks_for_rows(form(problem_of((places, width), indices, dtype, **params)))


def test_places_are_asked_for_where_few_rows_come_to_each() -> None:
    """Two of each at most, by vectors of 16 bytes or elements of long rows of four bytes and more."""
    few = 2 * 4096
    assert asks(128, "float32", few)
    assert not asks(128, "float32", few + 1)
    assert asks(8, "bfloat16", few)
    assert asks(tuning.ASK_ROW // 4 + 1, "float32", few)
    assert not asks(tuning.ASK_ROW // 4 - 1, "float32", few)
    assert not asks(tuning.ASK_ROW + 1, "int16", few)


def test_rows_that_are_cut_or_owned_ask_for_nothing() -> None:
    """The first would ask for what their neighbours have, too; the others read places themselves."""
    cut = form(problem_of((65_536, 129), 65_536, "bfloat16")).in_vectors_anywhere()
    assert cut is not None
    assert not asks_for_rows(cut)
    owned = problem_of((4096, 1024), 20)
    noted(combined.build(owned, form(owned), 32), owned=True, asks=False)


def test_the_rule_can_be_turned_off() -> None:
    """So that a contest between both is one of a constant."""
    problem = problem_of((64, 4096, 128), 4096, dim=1)
    noted(Combined().plan(problem, DEVICE), asks=True)
    with in_force(NONE):
        plan = noted(Combined().plan(problem, DEVICE), asks=False)
    assert isinstance(plan, Plan)
    assert "false>" in plan.launches[0].kernel


def test_a_sort_must_bring_more_where_warps_ask() -> None:
    """Atomics are as fast then: 131072 rows of 256 bfloat16, which none were asked for, would be sorted."""
    problem = problem_of((2**17, 256), 2**17, "bfloat16")
    assert auto(problem).name == "combined"
    with in_force(NONE):
        assert auto(problem).name == "grouped"
