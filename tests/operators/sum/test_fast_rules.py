"""The rule behind `gpubench:auto` of sum: each threshold stands where it is said to stand, on every device."""

from __future__ import annotations

import dataclasses

import pytest

from gpubench.model import Plan
from gpubench.operators import OPERATORS
from tests.operators.cases import DEVICE
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
