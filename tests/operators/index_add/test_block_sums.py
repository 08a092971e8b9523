"""Sums that a block keeps of places that come again, and what it sends before it knows: where an element could be lost,
or added twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.model import Plan, Problem
from gpubench.operators.index_add import cached, combined, tuning
from gpubench.operators.index_add.cached import table_bits
from tests.operators.cases import DEVICE, auto
from tests.operators.index_add.answers import INDEX_ADD, answers, form, give_list, problem_of, sums_of_those_inside
from tests.operators.on_host import output

PLACES = 70_000
AT = np.arange(1811)
"""Positions of a list of seven blocks and a bit, whose last warp is not full."""

SLOTS = np.flatnonzero((np.arange(PLACES, dtype=np.uint64) * 2654435769 & 0xFFFFFFFF) >> 24 == 7)
"""Places that have one slot of a block."""

LISTS = {
    "one place": np.full(AT.size, 17),
    "half on one place": np.where(AT % 2 == 0, 17, AT * 7919 % PLACES),
    "one for each warp": AT // 32,
    "pairs of neighbours": AT // 2,
    "pairs far apart": AT % 16 * 31 + AT // 32 * 600,
    "runs longer than warps": AT // 50,
    "in order, but for one": np.where(AT == 700, 0, AT // 3),
    "all of one slot, each twice": SLOTS[AT % 16],
    "one slot, of which some come once": np.where(AT % 8 == 0, SLOTS[AT % SLOTS.size], SLOTS[3]),
    "one warp in eight": np.where(AT // 32 % 8 == 3, 17, AT * 7919 % PLACES),
    "what comes once is another warp's": np.where(
        AT // 32 % 8 == 3, 17, np.where(AT % 32 == 5, 17, AT * 7919 % PLACES)
    ),
    "outside": np.where(AT % 3 == 0, -1, np.where(AT % 3 == 1, PLACES, 17)),
}


def problem_with(
    index: Any, monkeypatch: pytest.MonkeyPatch, dtype: str = "float32", places: int = PLACES
) -> Problem[Any]:
    """Return a problem of whole numbers whose list is this one."""
    problem = problem_of((places,), len(index), dtype, distribution="integers")
    give_list(problem, index, monkeypatch)
    return problem


def of_block(problem: Problem[Any]) -> Plan:
    """Return the plan whose blocks look."""
    plan = combined.build_single(problem, form(problem))
    assert "Looking::block" in plan.launches[0].kernel
    return plan


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64", "complex64"])
@pytest.mark.parametrize("name", LISTS)
def test_a_block_adds_up_what_comes_again(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims of one warp, of several, of one slot; what comes once to a place that is claimed, or was not yet."""
    monkeypatch.setattr(tuning, "LOOKING_BLOCK", 0)
    problem = problem_with(LISTS[name], monkeypatch, dtype)
    wanted = sums_of_those_inside(problem, INDEX_ADD.inputs(problem))
    for order in ("forward", "random:3"):
        found = output(problem, of_block(problem), order)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("count", [1, 31, 256, 257])
def test_a_block_has_a_slot_for_each_of_its_threads(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of less than a block: a sum in a slot without a thread would be lost."""
    monkeypatch.setattr(tuning, "ALONE_SINGLE", 0)
    monkeypatch.setattr(tuning, "LOOKING_BLOCK", 0)
    problem = problem_with(AT[:count] // 2 * 977 % PLACES, monkeypatch)
    plan = of_block(problem)
    assert plan.launches[0].block == (256, 1, 1)
    answers(problem, plan)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-1, 40), min_size=1, max_size=700), st.integers(1, 2**31))
def test_any_list_is_added_once(index: list[int], stride: int) -> None:
    """Few places, spread by any stride, some outside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "ALONE_SINGLE", 0)
        patch.setattr(tuning, "LOOKING_BLOCK", 0)
        listed = [-1 if place < 0 else place * stride % PLACES for place in index]
        problem = problem_with(listed, patch)
        wanted = sums_of_those_inside(problem, INDEX_ADD.inputs(problem))
        assert np.array_equal(output(problem, of_block(problem)), wanted)


def test_who_looks_depends_on_the_number_of_elements() -> None:
    """Nobody for few, warps, blocks, then a table."""
    sizes = (tuning.ALONE_SINGLE, tuning.LOOKING_BLOCK, tuning.SINGLE_LEAST)
    assert [combined.looking_of(size - 1) for size in sizes] == ["nobody", "warp", "block"]
    assert [combined.looking_of(size + 1) for size in sizes] == ["warp", "block", "block"]
    assert auto(problem_of((10**6,), sizes[-1])).name == "cached"


FAR = {
    "permuted": AT * 611_953 % PLACES,
    "second element again": np.where(AT // 512 % 2 == 0, AT * 611_953 % PLACES, 17),
    "some warps": np.where(AT // 32 % 2 == 0, AT * 611_953 % PLACES, AT % 3 * 20_000),
    "outside": np.where(AT % 9 == 0, -1, AT * 611_953 % PLACES),
    "half on one place": LISTS["half on one place"],
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "int16", "complex128"])
@pytest.mark.parametrize("name", FAR)
def test_what_is_sent_before_the_block_agrees_is_sent_once(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that do all at once, and of several turns; warps of places of their own beside others."""
    problem = problem_with(FAR[name], monkeypatch, dtype)
    wanted = sums_of_those_inside(problem, INDEX_ADD.inputs(problem))
    for blocks, tile in ((1, None), (24, cached.AT_ONCE), (2, cached.AT_ONCE)):
        plan = cached.build(problem, form(problem), blocks, tile=tile)
        assert isinstance(plan, Plan)
        assert np.array_equal(output(problem, plan, "random:5"), wanted)


def test_what_half_of_a_list_shares_has_a_place_in_a_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each warp adds its sum of the hot place at the end: 16 atomics of it a block if others had its places by then."""
    problem = problem_with(np.where(AT % 2 == 0, 17, AT * 611_953 % PLACES), monkeypatch)
    monkeypatch.setattr(cached, "TABLE_BITS", dict.fromkeys(cached.TABLE_BITS, 4))
    assert table_bits(cached.AT_ONCE, 4) == 2
    answers(problem, cached.build(problem, form(problem), 24, tile=cached.AT_ONCE), "random:7")


@pytest.mark.parametrize(("count", "blocks"), [(2**18, 66), (2**20, 256), (2**22, 264), (2**16, 64)])
def test_blocks_are_fewer_where_places_are_few(count: int, blocks: int) -> None:
    """Every block's sums go to the same lines: two blocks an SM at most, of 4096 elements, but half an SM at least."""
    form_of_few = form(problem_of((300,), count))
    assert cached.cut_of(form_of_few, "float32", DEVICE)[0] == blocks
