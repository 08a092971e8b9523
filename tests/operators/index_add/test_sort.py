"""The sort of indices where it could go wrong: passes, tables, several tiles, a list nearly in order."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gpubench.operators.index_add import grouped, sort
from tests.operators.cases import DEVICE
from tests.operators.index_add.test_fast_index_adds import INDEX_ADD, answers, form, problem_of
from tests.operators.on_host import host


@pytest.mark.parametrize(("places", "passes"), [(1, 1), (2, 1), (1024, 1), (1025, 2), (2**20, 2), (2**20 + 1, 3)])
def test_passes_cover_every_index(places: int, passes: int) -> None:
    """As many passes of up to 10 bits as the largest index has; ranges cover the list."""
    found = sort.sort_of(300_000, places, DEVICE)
    assert (found.passes, found.passes * found.bits >= (places - 1).bit_length()) == (passes, True)
    assert found.blocks * found.range >= 300_000 > (found.blocks - 1) * found.range


@pytest.mark.parametrize("count", [1, sort.ONE_BLOCK, sort.ONE_BLOCK + 1, 10**7])
@pytest.mark.parametrize("shared_kb", [64, 99, 163, 227])
def test_tables_of_the_sort_fit_every_architecture(count: int, shared_kb: int) -> None:
    """Fewer warps where shared memory is small; a tile of one block holds what is sent to it."""
    device = dataclasses.replace(DEVICE, max_shared_bytes=shared_kb << 10)
    found = sort.sort_of(count, 5000, device)
    assert sort.shared_bytes(found.warps) <= device.max_shared_bytes
    assert found.blocks <= device.sm_count
    assert found.rounds <= sort.LANE_PAIRS


def test_a_range_of_several_tiles_and_three_passes() -> None:
    """One block walks its range tile by tile; upper bits count."""
    problem = problem_of((2**20 + 50, 4), 3000, "int32", pattern="zipf")
    few_warps = dataclasses.replace(host().info, max_shared_bytes=64 << 10, sm_count=1)
    answers(problem, grouped.build(problem, form(problem), few_warps, 64))


@pytest.mark.parametrize("at", [2, 31, 32, 33, 64, 95, 96, 288, 1023, 1024, 2047, 2048, 2303, 2304, 2999])
@pytest.mark.parametrize("least_range", [64, 4096])
def test_one_pair_out_of_order_is_seen_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch, at: int, least_range: int
) -> None:
    """A list in order stays as it is; the edges of lanes, of rounds, of warps and of blocks are looked at, too."""
    problem = problem_of((3000, 4), 3000, "int64", index_dtype="int32")
    inputs = dict(INDEX_ADD.inputs(problem))
    inputs["index"] = np.arange(3000, dtype=inputs["index"].dtype)
    inputs["index"][at] = at - 2  # which comes again behind another
    monkeypatch.setattr(type(INDEX_ADD), "inputs", lambda *_: inputs)
    answers(problem, grouped.build(problem, form(problem), host().info, 64, least_range=least_range))
