"""Vectors of positions owned by a thread where they could go wrong: ends of runs, places that lie apart, alignment."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.operators.index_add import owned, owning
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import answers, noted, problem_of
from tests.operators.on_host import one_sm

BESIDE: dict[str, Any] = {"shape": (6, 9, 5, 32), "dim": 1}
"""Rows of the source are rows of the destination."""

APART: dict[str, Any] = {"shape": (64, 3, 10), "dim": 1, "source_layout": {"permute": (1, 2, 0)}}
"""The source's neighbours are rows of the destination, of ten."""

TURNED: dict[str, Any] = {"shape": (1024, 3), "dim": 1, "source_layout": {"permute": (1, 0)}}
"""... of a place each."""


@pytest.mark.parametrize("pattern", ["uniform", "zipf", "sorted", "same", "half_same", {"duplicates": 41}], ids=str)
@pytest.mark.parametrize(("params", "dtype", "vector", "beside"), [
    (BESIDE, "float32", 2, True),
    (BESIDE, "bfloat16", 4, True),
    (BESIDE, "uint8", 4, True),
    (APART, "float32", 4, False),
    (APART, "float16", 4, False),
    (APART, "complex64", 2, False),
    (TURNED, "int16", 4, False),
])  # fmt: skip
def test_runs_end_in_any_window(pattern: Any, params: Any, dtype: str, vector: int, beside: bool) -> None:
    """Runs inside windows and over several, of one place and of many; what is beside a place stays."""
    problem = problem_of(indices=123, dtype=dtype, pattern=pattern, alpha=-3.0, **params)
    plan = noted(owned.build(problem, one_sm()), vector=vector, beside=beside, pieces=1)
    assert len({bits for schedule in ("forward", "random:5") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize("pattern", ["uniform", "half_same", "same"])
@pytest.mark.parametrize("params", [
    {"shape": (2, 9, 2, 32), "dim": 1},
    {"shape": (256, 3), "dim": 1, "source_layout": {"permute": (1, 0)}},
], ids=["beside", "apart"])  # fmt: skip
@pytest.mark.parametrize("alone", [0, 10**9], ids=["sorted", "own"])
def test_pieces_of_vectors_meet(pattern: str, params: Any, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each element of a vector is an atomic where several pieces of the list have its place."""
    monkeypatch.setattr(owning, "OWNED_ALONE", alone)
    for dtype in ("float16", "int8", "int64"):
        beside = "source_layout" not in params
        problem = problem_of(indices=2500, dtype=dtype, pattern=pattern, **params)
        plan = noted(owned.build(problem, one_sm()), beside=beside)
        assert plan.notes["pieces"] != 1
        assert plan.notes["vector"] != 1 or (dtype == "int64" and beside)  # which would be more than 8 bytes
        answers(problem, plan, "random:2")


@pytest.mark.parametrize(("params", "indices", "vector"), [
    (BESIDE, 41, 4),
    ({**BESIDE, "source_layout": {"offset": 2}}, 41, 2),
    ({**BESIDE, "layout": {"offset": 1}}, 41, 1),
    ({**BESIDE, "shape": (6, 9, 5, 31)}, 41, 1),
    (APART, 72, 4),
    (APART, 71, 1),  # tiles are rectangles
    ({**APART, "shape": (62, 3, 10)}, 72, 2),
    ({**APART, "layout": {"offset": 1}}, 72, 4),  # it goes there element by element
    ({**APART, "source_layout": {"permute": (1, 2, 0), "offset": 1}}, 72, 1),
    (TURNED, 12, 4),
    (TURNED, 11, 1),  # written nearly as often as read
])  # fmt: skip
def test_vectors_are_as_wide_as_stand_on_their_grid(params: Any, indices: int, vector: int) -> None:
    """All rows of the source, and of the destination where neighbours are such in both."""
    plan = noted(owned.build(problem_of(indices=indices, dtype="bfloat16", **params), one_sm()), vector=vector)
    assert f", {vector}, " in plan.launches[-1].kernel


def test_few_positions_stay_single() -> None:
    """A GPU of many SMs has a tile for each: 960 positions would be eight tiles of vectors."""
    few = problem_of(indices=41, dtype="bfloat16", **BESIDE)
    noted(owned.build(few, DEVICE), vector=1)
    many = problem_of((6000, 9, 5, 32), 41, "bfloat16", dim=1)
    noted(owned.build(many, DEVICE), vector=4, beside=True)
