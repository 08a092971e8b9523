"""Reductions and scans over a block and over blocks: any operator, any order of threads, launch after launch."""

from __future__ import annotations

import numpy as np
import pytest

from gpubench.operators.structs import int32
from tests.host.simulate import SCHEDULES, Array, host, launch

RANDOM = np.random.default_rng(11)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("warps", [1, 3, 16])
def test_a_block_knows_its_total_and_what_comes_before(warps: int, schedule: str) -> None:
    """Every thread gets the block's total, by any operator, and the sum of the threads before it."""
    x = RANDOM.integers(-1000, 1000, 32 * warps).astype(np.int32)
    arrays = {"x": x, **{name: np.zeros_like(x) for name in ("totals", "befores", "largest")}}
    found = launch(
        host(f"build=checked,schedule={schedule}"), "blocks.cu", f"over_block<int, {warps}>", 1, x.size, arrays
    )
    assert found["totals"].tolist() == [x.sum()] * x.size
    assert found["befores"].tolist() == (np.cumsum(x) - x).tolist()
    assert found["largest"].tolist() == [x.max()] * x.size


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("blocks", [1, 2, 7, 133])
def test_the_last_block_combines_all(blocks: int, schedule: str) -> None:
    """Whichever block arrives last, it sees all parts; the counter is ready for the next launch."""
    x = RANDOM.integers(-(2**30), -1, blocks * 64).astype(np.int32)
    arrays: dict[str, Array] = {
        "x": x,
        "y": np.zeros(64, np.int32),
        "parts": np.zeros(blocks, np.int32),
        "counter": np.zeros(1, np.uint32),
    }
    device = host(f"build=checked,schedule={schedule}")
    for _ in range(2):
        found = launch(device, "blocks.cu", "largest_by_last<int, 2>", blocks, 64, arrays, (int32(-(2**31)),))
        assert found["y"].tolist() == [x.max()] * 64
        assert found["counter"].tolist() == [0]
        arrays["counter"] = found["counter"]


@pytest.mark.parametrize(("cpp", "dtype"), [("int", np.int32), ("long long", np.int64), ("double", np.float64)])
def test_published_words_belong_to_their_launch(cpp: str, dtype: type) -> None:
    """Each block gathers all before it, in one hop; words of an earlier launch count for nothing."""
    blocks, threads = 9, 64
    arrays: dict[str, Array] = {
        "y": np.zeros(blocks * threads, dtype),
        "launches": np.zeros(1, np.uint64),
        "words": np.zeros(16 * blocks, np.uint8),
    }
    wanted: Array = np.repeat([block * (block + 1) // 2 for block in range(blocks)], threads).astype(dtype)
    for _ in range(3):
        kernel = f"before_each_block<{cpp}, 2>"
        found = launch(host("build=checked"), "blocks.cu", kernel, blocks, threads, arrays, waits_for_blocks=True)
        assert found["y"].tolist() == wanted.tolist()
        arrays = {**arrays, "launches": found["launches"], "words": found["words"]}
    assert arrays["launches"].tolist() == [3 * blocks]
