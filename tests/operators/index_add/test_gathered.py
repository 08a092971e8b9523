"""`gathered` where it could go wrong: runs of every length, rows that do not fit, positions of 16 and 32 bits."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.model import Plan
from gpubench.operators.index_add import gathered
from tests.operators.index_add.answers import answers, form, problem_of
from tests.operators.on_host import host

PATTERNS: tuple[Any, ...] = ("zipf", "sorted", "same", {"below": 3})


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_gathered_gives_the_same_bits_under_every_schedule(pattern: Any) -> None:
    """No position, a thread's, a warp's and the block's runs; two rows a block."""
    problem = problem_of((7, 300), 9000, dim=1, pattern=pattern)
    found: set[bytes] = set()
    for schedule in ("forward", "random:3"):
        plan = gathered.build(problem, form(problem), host().info, least_range=3000)
        found.update(answers(problem, plan, schedule))
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ["float16", "uint8", "complex128", "int64"])
def test_what_does_not_fit_is_read_where_it_is(dtype: str) -> None:
    """A part of each row in shared memory, 32-bit positions, alpha, and rows that do not stand on 16 bytes."""
    problem = problem_of((3, 500), 66_001, dtype, dim=1, alpha=2.0, source_layout={"offset": 1}, index_dtype="int32")
    small = dataclasses.replace(host().info, max_shared_bytes=24_000)
    answers(problem, gathered.build(problem, form(problem), small))


def test_rows_with_gaps_are_brought_element_by_element() -> None:
    """Steps between the elements of both operands."""
    problem = problem_of((5, 90), 400, dim=1, layout={"step": 2}, source_layout={"step": 3})
    answers(problem, gathered.build(problem, form(problem), host().info))


@pytest.mark.parametrize(
    ("places", "count", "number"), [(65536, 3000, "uint16"), (65537, 3000, "uint32"), (90, 65537, "uint32")]
)
def test_steps_have_numbers_of_16_bits_where_rows_and_positions_fit(places: int, count: int, number: str) -> None:
    """At both sides of either bound; a block takes several repetitions."""
    problem = problem_of((5, places), count, "int32", dim=1, pattern="uniform")
    two = dataclasses.replace(host().info, sm_count=1)
    plan = gathered.build(problem, form(problem), two)
    assert isinstance(plan, Plan)
    assert f"gpubench::{number}>" in plan.launches[-1].kernel
    answers(problem, plan)


def test_few_rows_are_shared_by_blocks() -> None:
    """Each takes a part of the places, and of the long runs."""
    problem = problem_of((2, 5000), 9000, dim=1, pattern="half_same")
    many = dataclasses.replace(host().info, sm_count=16)
    plan = gathered.build(problem, form(problem), many, least_range=9000)
    assert isinstance(plan, Plan)
    assert isinstance(plan.notes["parts"], int)
    assert plan.notes["parts"] > 1
    answers(problem, plan)
