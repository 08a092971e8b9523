"""The rule behind `gpubench:auto` of sum: each threshold stands where it is said to stand, on every device."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench.model import Plan
from gpubench.operators import OPERATORS
from tests.operators.cases import DEVICE, make_case
from tests.operators.sum.edges import edges

SUM = OPERATORS["sum"]


@pytest.mark.parametrize("sms", [16, 132])
def test_each_side_of_every_edge_has_a_plan_of_ours(sms: int) -> None:
    """One below, at and above: none falls back on another library's design; on 132 SMs each makes a difference."""
    device = dataclasses.replace(DEVICE, sm_count=sms)
    same = []
    for name, cases in edges(device).items():
        plans = [SUM.choose(SUM.problem(case), device) for case in cases]
        assert all(isinstance(plan, Plan) and plan.variant not in ("naive", "reduce_config") for plan in plans), name
        shown = [(plan.variant, dict(plan.notes)) for plan in plans if isinstance(plan, Plan)]
        same += [name] if shown[0] == shown[1] == shown[2] else []
    assert sms != 132 or same == []


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "layout", "wanted"),
    [
        ((104, 12096, 77), (1, 2), "uint8", {"permute": (1, 0, 2)}, ("places", "vector", 8)),
        ((104, 12096, 77), (1, 2), "uint8", {"permute": (1, 0, 2), "offset": 1}, ("places", "vector", 1)),
        ((4, 24592, 5, 160), (1, 3), "float16", {"offset": 4}, ("places", "vector", 4)),
        ((4, 24592, 5, 160), (1, 3), "float16", {"offset": 2}, ("rows", "parts", 14)),
        ((53, 4, 159), (0, 2), "int16", {}, ("rows", "parts", 2)),  # of little
        ((4099, 5001), (0,), "float32", {"offset": 2}, ("places", "form", "ragged")),
        ((64, 2, 41, 454), (1,), "int32", {}, ("few", "width", 2)),
        ((64, 2, 41, 454), (1,), "float64", {}, ("few", "width", 2)),
        ((9000, 5, 202), (1,), "int8", {}, ("few", "width", 1)),
    ],
)
def test_plans_take_the_widest_vectors_on_which_lines_stand(
    shape: tuple[int, ...], dim: tuple[int, ...], dtype: str, layout: dict[str, Any], wanted: tuple[str, str, Any]
) -> None:
    """What would go element by element goes by 8, 4 or 2 bytes, unless full vectors or runs serve it."""
    plan = SUM.choose(SUM.problem(make_case("sum", dtype, shape=shape, dim=dim, layout=layout)), DEVICE)
    assert isinstance(plan, Plan)
    variant, note, value = wanted
    assert (plan.variant, plan.notes[note]) == (variant, value)
