"""The table of rows where it could go wrong: rows without a place, lists that change, tiles cut, repetitions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.constants import in_force
from gpubench.operators.index_add import cached_rows, tuning
from gpubench.operators.index_add import given as files
from gpubench.operators.index_add.cached import Cached
from gpubench.operators.index_add.form import Form
from gpubench.operators.index_add.partitioned import Partitioned
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import PATTERNS, answers, form, noted, problem_of
from tests.operators.on_host import host

WRONG = {"out_of_range": 30}


def few_sms(sms: int = 2) -> DeviceInfo:
    """Return the host as a device of so few SMs that a block takes several turns."""
    return dataclasses.replace(host().info, sm_count=sms)


def by_rows(problem: Problem[Any], device: DeviceInfo, table: int = tuning.ROWS_TABLE) -> Plan:
    """Return the plan with so many bytes of table."""
    with in_force({"ROWS_TABLE": table}):
        plan = noted(cached_rows.build(problem, form(problem), device))
    assert "add_cached_rows" in plan.launches[0].kernel
    return plan


@pytest.mark.parametrize("pattern", [each for each in PATTERNS if each != WRONG], ids=str)
@pytest.mark.parametrize(("width", "dtype"), [(4, "float32"), (16, "bfloat16"), (12, "complex64"), (28, "float32")])
def test_rows_are_right_whatever_the_indices(width: int, dtype: str, pattern: Any) -> None:
    """Of one to eight vectors, with lanes that have none; a table of few rows."""
    problem = problem_of((450, width), 4000, dtype, pattern=pattern, alpha=-3.0)
    answers(problem, by_rows(problem, few_sms(), table=2048), "random:2")


@pytest.mark.parametrize("width", [4, 8, 20])
def test_indices_outside_are_left_out(width: int) -> None:
    """Of a tile none, some or all; nothing else is touched."""
    for count in (40, 4000):
        problem = problem_of((450, width), count, pattern=WRONG)
        answers(problem, by_rows(problem, few_sms()), "random:2")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_table_full_of_rows_that_come_no_more_is_sent_off(
    dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many rows twice each, then few again and again: the table is flushed in the midst, and its sums count once."""
    at = np.arange(20_000)
    np.save(tmp_path / "list.npy", np.where(at < 9000, at // 2 % 3000, 3000 + at % 7))
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    problem = problem_of((3100, 8), {"file": "list.npy"}, dtype)
    for schedule in ("forward", "random:5"):
        answers(problem, by_rows(problem, few_sms(1), table=4096), schedule)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("indices", [1, 31, 127, 129, 1025, 3001])
def test_tiles_end_anywhere(indices: int, index_dtype: str) -> None:
    """Fewer rows than a tile, a turn and a range have, and one more."""
    for width, sms in ((4, 1), (8, 3), (20, 2)):
        problem = problem_of((97, width), indices, index_dtype=index_dtype, pattern="half_same")
        answers(problem, by_rows(problem, few_sms(sms)), "random:3")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_repetitions_and_rows_with_gaps(order: tuple[int, ...]) -> None:
    """One list for several repetitions, whose rows stand apart in the destination; blocks share each."""
    problem = problem_of((5, 60, 8), 700, dim=1, layout={"permute": order}, pattern="zipf")
    answers(problem, by_rows(problem, few_sms(8)), "random:4")


def test_a_list_that_a_partition_leaves_goes_through_the_table() -> None:
    """The third launch of `partitioned` is the table's where rows are vectors; half on one place is enough."""
    for width, dtype in ((4, "float32"), (8, "float16"), (2, "complex64")):
        for pattern in ("half_same", "same", {"duplicates": 40}):
            problem = problem_of((500, width), 6000, dtype, pattern=pattern)
            plan = noted(Partitioned().plan(problem, host().info))
            assert "add_cached_rows_if" in plan.launches[2].kernel
            answers(problem, plan, "random:1")


def test_what_it_does_not_take_is_added_by_elements() -> None:
    """Other dtypes, rows that are no whole vectors, long ones, and devices whose blocks have little shared memory."""
    small = dataclasses.replace(host().info, max_shared_bytes=65536)
    cases: tuple[tuple[tuple[int, int], str, DeviceInfo], ...] = (
        ((300, 8), "int32", host().info),
        ((300, 7), "float32", host().info),
        ((300, 36), "float32", host().info),
        ((300, 8), "float32", small),
    )
    for shape, dtype, device in cases:
        problem = problem_of(shape, 900, dtype)
        assert isinstance(cached_rows.build(problem, form(problem), device), Refused)
        assert not cached_rows.is_for(form(problem), dtype, device)
        plan = noted(Cached().plan(problem, device))
        assert "add_cached<" in plan.launches[0].kernel


@settings(max_examples=200, deadline=None)
@given(
    count=st.integers(1, 2**24),
    outers=st.integers(1, 400),
    vectors=st.integers(1, 8),
    sms=st.integers(1, 160),
)
def test_blocks_cover_the_list_and_share_it_fairly(count: int, outers: int, vectors: int, sms: int) -> None:
    """Ranges are whole turns, none is empty, and one repetition has no more blocks than SMs."""
    device = dataclasses.replace(DEVICE, sm_count=sms)
    cut = cached_rows.cut_of(_form(count, outers, vectors), device)
    blocks = -(-count // cut.range)
    assert cut.range % (cut.tile * 32) == 0
    assert (blocks - 1) * cut.range < count
    assert 1 <= blocks <= sms
    assert cut.tile * cut.lanes <= 32 * cached_rows.COPIES


def _form(count: int, outers: int, vectors: int) -> Form:
    row = 4 * vectors
    return Form(1000, count, row, outers, row, row, 1000 * row, count * row, 4, 4)
