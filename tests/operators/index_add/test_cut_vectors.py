"""Rows that stand anywhere, by vectors that their ends cut: where rows begin and end, ends of operands, repetitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Plan, Problem
from gpubench.operators.index_add import combined, tuning
from gpubench.operators.index_add.combined import Combined
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import INDEX_ADD, PATTERNS, answers, form, noted, problem_of, without_wrong_ones
from tests.operators.on_host import one_sm, output

WRONG = {"out_of_range": 30}


def cut(problem: Problem[Any], rows: int) -> Plan:
    """Return the plan of cut vectors with so many rows of a warp."""
    vectors = form(problem).in_vectors_anywhere()
    assert vectors is not None
    return noted(combined.build(problem, vectors, rows), anywhere=True, rows=rows)


@pytest.mark.parametrize("pattern", [each for each in PATTERNS if each != WRONG], ids=str)
@pytest.mark.parametrize(("width", "dtype"), [(17, "float16"), (33, "bfloat16"), (129, "bfloat16"), (271, "float16")])
def test_rows_are_right_whatever_the_indices(width: int, dtype: str, pattern: Any) -> None:
    """Of one group of lanes, of a warp and of two chunks; runs of equal rows."""
    problem = problem_of((90, width), 700, dtype, pattern=pattern, alpha=-2.0)
    answers(problem, cut(problem, 16), "random:2")


def test_indices_outside_are_left_out() -> None:
    """Nothing comes of them, to their neighbours either."""
    problem = problem_of((90, 33), 700, "float16", pattern=WRONG)
    wanted = without_wrong_ones(problem, INDEX_ADD.inputs(problem))
    np.testing.assert_allclose(output(problem, cut(problem, 16)).astype(float), wanted, rtol=0.01, atol=0.1)


@pytest.mark.parametrize("place", range(8))
def test_rows_begin_anywhere_in_a_vector(place: int) -> None:
    """Each place of a row of the destination's vector beside some of the source's."""
    for source in (0, 1, 5):
        problem = problem_of(
            (37, 45), 200, "bfloat16", layout={"offset": place}, source_layout={"offset": source}, pattern="zipf"
        )
        answers(problem, cut(problem, 8))


@pytest.mark.parametrize("places", [1, 2, 3, 7])
def test_rows_near_the_ends_of_an_operand_reach_nothing_beyond(places: int) -> None:
    """All rows are near an end, or those of the first and the last repetition; no access leaves an operand."""
    for shape, dim in (
        ((places, 17), 0),
        ((places, 19), 0),
        ((places, 131), 0),
        ((5, places, 17), 1),
        ((3, places, 45), 1),
    ):
        problem = problem_of(shape, 70, "float16", dim=dim)
        answers(problem, cut(problem, 32))


@settings(max_examples=25, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 40), st.integers(3, 150)),
    indices=st.integers(33, 400),
    rows=st.sampled_from((8, 16, 32)),
    offsets=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    dtype=st.sampled_from(("float16", "bfloat16")),
)
def test_any_shape_and_offset_is_right(
    shape: tuple[int, int, int], indices: int, rows: int, offsets: tuple[int, int], dtype: str
) -> None:
    """Repetitions, rows of less than two vectors, which are not cut, and of several chunks, odd places of both."""
    layouts = {"layout": {"offset": offsets[0]}, "source_layout": {"offset": offsets[1]}}
    problem = problem_of(shape, indices, dtype, dim=1, pattern="half_same", **layouts)
    vectors = form(problem).in_vectors_anywhere()
    plan = Combined().plan(problem, DEVICE) if vectors is None else cut(problem, rows)
    assert isinstance(plan, Plan)
    answers(problem, plan)


def test_only_rows_of_16_bit_floats_that_stand_anywhere_are_cut() -> None:
    """Whole vectors stay whole; others than 16-bit floats, gaps in the destination and few rows go by elements."""

    def anywhere(dtype: str = "bfloat16", width: int = 129, indices: int = 131_072, **params: Any) -> bool:
        problem = problem_of((65_536, width), indices, dtype, **params)
        return Combined().plan(problem, DEVICE).notes.get("anywhere") is True  # type: ignore[union-attr]

    assert anywhere()
    assert anywhere("float16", layout={"offset": 3})
    assert anywhere(width=128, layout={"offset": 1})
    assert anywhere(width=128, source_layout={"offset": 1})
    assert not any(anywhere(dtype) for dtype in ("float32", "complex64", "int16"))
    assert not anywhere(width=128)
    assert not any(anywhere(indices=count) for count in (2, 9, 20, 32, 40))
    assert form(problem_of((40, 15), 100, "bfloat16")).in_vectors_anywhere() is None  # a load reaches over a row


@pytest.mark.parametrize(("near", "anywhere"), [(-1, False), (0, True)])
def test_much_of_few_rows_is_cut(near: int, anywhere: bool) -> None:
    """By eight rows of a warp, though they are fewer than work for each SM; a little goes by elements."""
    width = tuning.CUT_MUCH // (2 * 111) + 1 + near
    assert width % 8
    plan = noted(Combined().plan(problem_of((50, width), 111, "float16"), DEVICE), anywhere=anywhere)
    assert (plan.notes["rows"] == 8) == anywhere


def test_gaps_and_rows_beyond_32_bits_have_no_cut_vectors() -> None:
    """What lies between rows of the destination is not touched, and elements of a row are counted in 32 bits."""
    assert form(problem_of((3, 2**31 - 9), 100, "bfloat16")).in_vectors_anywhere() is None  # more than 32 bits count
    gaps = problem_of((40, 2, 33), 100, "bfloat16", source_layout={"permute": (1, 0, 2)})
    assert form(gaps).in_vectors_anywhere() is None
    assert isinstance(Combined().plan(gaps, one_sm()), Plan)
