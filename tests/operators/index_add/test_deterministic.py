"""The sorted index_add: the same bits whatever the order of threads, and a sort that is stable over several passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.operators import OPERATORS
from gpubench.operators.index_add import sorted_deterministic
from tests.host.answers import answer, variant_of
from tests.operators.cases import DEVICE, make_case, planned

SCHEDULES = ("forward", "reverse", "random:1", "random:2")


@pytest.mark.parametrize(
    "params",
    [
        {"shape": [3, 5], "indices": 400},
        {"shape": [50], "indices": 900, "pattern": "zipf"},
        {"shape": [4, 300], "dim": 0, "indices": 60, "pattern": "same"},
    ],
)
def test_the_same_bits_under_every_schedule(params: dict[str, Any]) -> None:
    """Sums of many floats, whose last bits depend on the order, come out bit for bit alike."""
    case = make_case("index_add", "float32", **params)
    found = [answer(case, "sorted_deterministic", schedule) for schedule in SCHEDULES]
    assert all(verdict.ok for _, _, verdict in found)
    assert len({output.tobytes() for _, output, _ in found}) == 1


def test_the_atomic_kernels_differ_between_schedules() -> None:
    """The test above can fail: additions by atomics depend on the order of threads."""
    case = make_case("index_add", "float32", shape=[3, 5], indices=400)
    assert len({answer(case, "naive", schedule)[1].tobytes() for schedule in SCHEDULES}) > 1


@pytest.mark.parametrize(("places", "passes"), [(1, 1), (255, 1), (256, 2), (65535, 2), (65536, 3), (1 << 24, 4)])
def test_passes_cover_every_key(places: int, passes: int) -> None:
    """8 bits a pass, and one key beyond the places for indices that lie outside."""
    problem = OPERATORS["index_add"].problem(make_case("index_add", "uint8", shape=[places], indices=5))
    plan = planned(variant_of("index_add", "sorted_deterministic"), problem, DEVICE)
    assert plan.notes["sort_passes"] == passes
    assert len(plan.launches) == 2 + 3 * passes


@pytest.mark.parametrize("dtype", ["float16", "int64", "complex128"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_several_passes_and_blocks_sort_stably(dtype: str, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three passes over many ranges: right answers, and equal indices in their first order (bitwise as numpy adds)."""
    monkeypatch.setattr(sorted_deterministic, "RANGE", 300 if blocks > 1 else 1 << 20)
    case = make_case("index_add", dtype, "integers", shape=[70_000, 2], indices=1_500, pattern={"duplicates": 5})
    plan, output, verdict = answer(case, "sorted_deterministic", "random:4")
    assert plan.notes["sort_blocks"] == blocks
    assert verdict.ok, verdict.first_mismatch
    if dtype == "int64":
        problem = OPERATORS["index_add"].problem(case)
        inputs = OPERATORS["index_add"].inputs(problem)
        wanted = inputs["destination"].reshape(70_000, 2).copy()
        np.add.at(wanted, inputs["index"], inputs["source"].reshape(1_500, 2))
        assert np.array_equal(output.reshape(70_000, 2), wanted)
