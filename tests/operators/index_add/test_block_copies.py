"""Blocks' sums of all places where they could go wrong: sums kept over turns, warps of one place, short turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.operators.index_add.block_copies import BlockCopies
from tests.operators.index_add.answers import answers, give_list, noted, problem_of
from tests.operators.on_host import host

PLACES, COUNT = 300, 30_011
AT = np.arange(COUNT)
LISTS = {
    "one": np.full(COUNT, 17),
    **{f"runs of {run}": AT // run % PLACES for run in (2, 7, 32, 100, 256, 700, 2048, 5000)},
    "one, then another": np.where(AT < COUNT // 2, 17, 18),
    "two by turns": AT % 2,
    "every third": np.where(AT % 3 == 0, 40, AT * 7 % PLACES),
    "warps": AT // 32 % 2 * 9,
    "falling": PLACES - 1 - AT * PLACES // COUNT,
    "apart": AT * 7 % PLACES,
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128", "int32"])
def test_what_comes_again_is_added_once(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that end in a warp, between items of a turn, and with one; a last turn of which few items exist."""
    problem = problem_of((PLACES,), COUNT, dtype, distribution="integers")
    give_list(problem, LISTS[name], monkeypatch)
    answers(problem, noted(BlockCopies().plan(problem, host().info), segments=1), "random:4")


@pytest.mark.parametrize("params", [{"shape": (100, 3)}, {"shape": (4, 90), "dim": 1}], ids=str)
def test_rows_and_repetitions_in_order(params: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours of a row have places of their own; a block begins each repetition anew."""
    problem = problem_of(indices=4000, distribution="integers", **params)
    give_list(problem, np.sort(np.arange(4000) * 7 % 90), monkeypatch)
    answers(problem, BlockCopies().plan(problem, host().info), "random:4")
