"""Tables and copies in shared memory where they could go wrong: gaps, tiles, totals, copies joined in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.model import Plan, Problem, Value
from gpubench.operators.index_add import cached, private_copies
from gpubench.operators.index_add.cached import Cached
from tests.operators.cases import DEVICE
from tests.operators.index_add.answers import INDEX_ADD, answers, form, give_list, problem_of, sums_of_those_inside
from tests.operators.on_host import host, one_sm, output


@pytest.mark.parametrize("pattern", ["uniform", "half_same", {"duplicates": 90}], ids=str)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_totals_of_small_integers_are_right_and_leave_zeros(dtype: str, pattern: Any) -> None:
    """Sums of 32 bits in the workspace wrap as the dtype does; rows that end inside a vector; two runs."""
    problem = problem_of((2, 401, 3), 2500, dtype, dim=1, alpha=-3.0, pattern=pattern)
    answers(problem, cached.build(problem, form(problem), 2, totals=True), "random:2")


@pytest.mark.parametrize("pattern", ["uniform", "same", "half_same", {"duplicates": 700}], ids=str)
def test_elements_with_gaps_go_through_a_table(pattern: Any) -> None:
    """Operands that lie turned, steps between elements, and rows with gaps between them."""
    for params in (
        {"shape": (3, 300), "dim": 1, "layout": {"permute": (1, 0)}},
        {"shape": (300,), "layout": {"step": 3}, "source_layout": {"step": 2}},
        {"shape": (7, 100, 3), "dim": 1, "layout": {"permute": (1, 0, 2)}},
    ):
        problem = problem_of(indices=2100, pattern=pattern, **params)
        answers(problem, cached.build(problem, form(problem), 3), "random:2")


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "complex128"])
def test_tiles_end_anywhere(dtype: str, index_dtype: str) -> None:
    """Elements of a thread's two of which none, one or both exist, in the first tile and the last; sums wrap."""
    for indices in (1, 511, 513, 1025, 3001):
        params = {"pattern": {"duplicates": -(-indices // 90)}, "index_dtype": index_dtype, "alpha": -3.0}
        problem = problem_of((97,), indices, dtype, **params)
        answers(problem, cached.build(problem, form(problem), 2), "random:3")


@pytest.mark.parametrize("pattern", ["same", "sorted", {"duplicates": 700}], ids=str)
def test_sums_of_a_list_in_order_are_kept_across_tiles(pattern: Any) -> None:
    """A block takes several tiles of one place, of few, and of many."""
    problem = problem_of((300,), 30_011, pattern=pattern)
    answers(problem, cached.build(problem, form(problem), 3))


@pytest.mark.parametrize(("count", "blocks"), [(1, 1), (1024, 5), (30_011, 3), (30_011, 7), (8192, 3)])
def test_ranges_of_blocks_cover_the_list_once(count: int, blocks: int) -> None:
    """Whole tiles that follow each other, so that what a block's first tile is like is what its others are."""
    problem = problem_of((300,), count)
    plan = cached.build(problem, form(problem), blocks)
    assert isinstance(plan, Plan)
    (launch,) = plan.launches
    shape = launch.arguments[-1]
    assert isinstance(shape, Value)
    each = cached.SHAPE.read(shape.data)["range"]
    assert each % cached.TILE == 0
    assert (launch.grid[0] - 1) * each < count <= launch.grid[0] * each
    assert launch.grid[0] <= blocks


def test_a_list_may_go_on_as_it_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose elements are apart, in order, and of one place: each does as its own are."""
    problem = problem_of((5000,), 30_011)
    at = np.arange(30_011)
    give_list(problem, np.where(at < 10_000, at * 7 % 5000, np.where(at < 20_000, at // 9 % 5000, 17)), monkeypatch)
    for blocks in (1, 6):
        answers(problem, cached.build(problem, form(problem), blocks), "random:5")


AT = np.arange(12_011)
BEGINNINGS = {"apart": AT * 7 % 5000, "ordered": AT % 512 // 3, "seldom": AT % 512 * 2 // 3, "alike": AT % 5}
ENDINGS = {
    "one": np.full(AT.size, 17),
    "eight": AT % 8 * 600,
    "one in 32": np.where(AT % 32 == 9, 4999, AT * 11 % 5000),
    "one after the other": AT // 32 % 2 * 40,
    "falling": 4999 - AT % 5000,
    "few, then all": np.where(AT // 512 % 2 == 1, 17, np.where(AT % 16 == 0, 17, AT * 3 % 5000)),
}
OUTSIDE = {
    "some lanes": np.where(AT % 4 == 0, -1, np.where(AT % 4 == 1, 5000, 3)),
    "whole warps": np.where(AT // 512 % 2 == 1, np.where(AT % 5, 40, 9), 5000),
}
CUTS = [(1, None), (3, None), (24, None), (24, cached.AT_ONCE)]
"""Blocks, and a tile: the last take what they have at once, with a smaller table."""

ROWS = [("float32", 1), ("uint8", 1), ("int64", 3)]


def list_of(begins: str, ends: Any, inner: int) -> Any:
    """Return what begins of one kind where blocks look first, and goes on otherwise."""
    return np.where(512 // inner > AT % 4096, BEGINNINGS[begins], ends)


def problem_of_rows(dtype: str, inner: int) -> Problem[Any]:
    """Return 5000 rows of integers."""
    shape = (5000,) if inner == 1 else (5000, inner)
    return problem_of(shape, AT.size, dtype, distribution="integers")


@pytest.mark.parametrize(("dtype", "inner"), [*ROWS, ("float16", 20)])
@pytest.mark.parametrize("begins", BEGINNINGS)
@pytest.mark.parametrize("ends", ENDINGS)
def test_a_block_whose_first_elements_say_nothing_of_the_others(
    monkeypatch: pytest.MonkeyPatch, dtype: str, inner: int, begins: str, ends: str
) -> None:
    """Where each warp's turn begins to be of another kind, or a block that has one tile, or half; rows as long as lanes
    that share none.
    """
    problem = problem_of_rows(dtype, inner)
    give_list(problem, list_of(begins, ENDINGS[ends], inner), monkeypatch)
    for blocks, tile in CUTS:
        answers(problem, cached.build(problem, form(problem), blocks, tile=tile), "random:5")


@pytest.mark.parametrize(("dtype", "inner"), [*ROWS, ("int32", 20)])
@pytest.mark.parametrize("begins", BEGINNINGS)
@pytest.mark.parametrize("ends", OUTSIDE)
def test_what_comes_to_no_place_leaves_no_sum(
    monkeypatch: pytest.MonkeyPatch, dtype: str, inner: int, begins: str, ends: str
) -> None:
    """Indices outside the dim, of some lanes or of whole warps, behind a beginning of any kind."""
    problem = problem_of_rows(dtype, inner)
    inputs = give_list(problem, list_of(begins, OUTSIDE[ends], inner), monkeypatch)
    wanted = sums_of_those_inside(problem, inputs)
    for blocks, tile in CUTS:
        plan = cached.build(problem, form(problem), blocks, tile=tile)
        assert isinstance(plan, Plan)
        np.testing.assert_array_equal(output(problem, plan, "random:5").reshape(wanted.shape), wanted)


def test_many_blocks_that_look_at_one_word_again_and_again_end() -> None:
    """Each of 260 takes its threads for waiting ones: the simulator keeps no more at once than it has stacks for."""
    problem = problem_of((4, 65, 4), 862, "int64", pattern={"duplicates": 432}, alpha=2.0, source_layout={"step": 2})
    plan = next(variant for variant in INDEX_ADD.variants if variant.name == "cached").plan(problem, host().info)
    assert isinstance(plan, Plan)
    assert plan.launches[0].grid == (1, 260, 1)
    answers(problem, plan)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
def test_private_copies_take_vectors_and_what_is_left(dtype: str, index_dtype: str) -> None:
    """Lists of no vector, of some, and of an element more; operands that stand on no vector, and steps."""
    for indices in (1, 7, 8, 4099):
        for source in ({"offset": 0}, {"offset": 1}, {"step": 2}):
            problem = problem_of((13,), indices, dtype, index_dtype=index_dtype, source_layout=source, alpha=-2.0)
            answers(problem, private_copies.build(problem, form(problem), one_sm()))


def test_places_are_asked_for_where_they_are_few_bytes_beside_the_list() -> None:
    """A short list, one that may touch little of its places, a long one, repetitions, and rows with gaps."""

    def asks(places: int, indices: int, dtype: str = "float32", **params: Any) -> bool:
        problem = problem_of((places,), indices, dtype, **params)
        return Cached().of_form(problem, form(problem), DEVICE).notes["asks"] is True  # type: ignore[union-attr]

    assert all(asks(2**20, 2**20, dtype) for dtype in ("float32", "complex128", "int8"))
    assert asks(2**22, 2**22)
    assert not asks(2**20, 2**24)
    assert not any(asks(places, 2**20) for places in (2**22, 2**24))
    assert not asks(2**20, 2**20, layout={"step": 2})


@pytest.mark.parametrize(("dtype", "places"), [("float32", 1024), ("complex128", 512)])
def test_tiles_are_halved_where_sms_would_have_none(dtype: str, places: int) -> None:
    """A block of each then takes its elements at once, and needs no whole table; of bytes tiles are as small before."""

    def cut(indices: int, of: str = dtype, outers: int = 1) -> tuple[Any, Any]:
        params: dict[str, Any] = {"dim": 1} if outers > 1 else {}
        problem = problem_of((outers, 2**22) if outers > 1 else (2**22,), indices, of, **params)
        plan = Cached().of_form(problem, form(problem), DEVICE)
        assert isinstance(plan, Plan)
        return plan.notes["blocks"], plan.notes["table"]

    most = DEVICE.sm_count * cached.TILE
    assert cut(most) == (2 * DEVICE.sm_count, places)
    assert cut(most + 1) == (DEVICE.sm_count + 1, 4 * places)
    assert cut(most // 2, outers=2) == (DEVICE.sm_count, places)
    assert cut(most, "int8") == (4 * DEVICE.sm_count, 1024)


@pytest.mark.parametrize("dtype", ["float16", "int16", "complex128"])
def test_private_copies_give_the_same_bits(dtype: str) -> None:
    """A copy a lane, joined in order by the block that arrives last, whichever that is."""
    problem = problem_of((9,), 4000, dtype)
    plan = private_copies.build(problem, form(problem), host().info)
    assert len({bits for schedule in ("forward", "random:5") for bits in answers(problem, plan, schedule)}) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "int8", "complex64"])
@pytest.mark.parametrize("layout", [{"permute": (1, 0)}, {"step": 2}], ids=str)
def test_private_copies_take_a_repetition_a_warp(dtype: str, layout: Any) -> None:
    """More repetitions than warps, more places than lanes, operands that turn, gaps; the same bits each time."""
    problem = problem_of((150, 40), 300, dtype, dim=1, pattern="half_same", layout=layout, alpha=2.0)
    plan = private_copies.build_rows(problem, form(problem), one_sm())
    assert len({bits for schedule in ("forward", "random:5") for bits in answers(problem, plan, schedule)}) == 1
