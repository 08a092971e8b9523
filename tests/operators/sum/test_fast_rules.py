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


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "layout", "wanted"),
    [
        ((1, 1, 1), (1,), "int8", {}, {"variant": "single_terms", "copy": "flat"}),
        ((300, 200), (), "float16", {"permute": (1, 0)}, {"variant": "single_terms"}),
        ((40, 6), (1,), "float32", {"expand": (1,)}, {"variant": "few"}),  # six times one term
        ((224, 762), (), "uint8", {"permute": (1, 0)}, {"variant": "few"}),
        ((1024,), (0,), "float32", {}, {"variant": "rows", "threads": 32, "rows": 1}),
        ((1028,), (0,), "float32", {}, {"variant": "rows", "threads": 128, "parts": 1}),
        ((16_384,), (0,), "float32", {}, {"variant": "rows", "threads": 1024, "parts": 1}),
        ((16_388,), (0,), "float32", {}, {"variant": "rows", "threads": 256, "parts": 9}),
        ((816, 240), (1,), "float32", {}, {"variant": "rows", "threads": 32, "rows": 4}),
        ((160, 1022), (1,), "int32", {}, {"variant": "rows", "threads": 32, "held": 8, "rows": 2}),
    ],
)
def test_little_is_cut_by_size(
    shape: tuple[int, ...], dim: tuple[int, ...], dtype: str, layout: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """One term is a copy; one block has everything, four vectors a thread; a warp has a row, four a block."""
    plan = SUM.choose(SUM.problem(make_case("sum", dtype, shape=shape, dim=dim, layout=layout)), DEVICE)
    assert isinstance(plan, Plan)
    assert {"variant": plan.variant, **plan.notes} | wanted == {"variant": plan.variant, **plan.notes}


@pytest.mark.parametrize(
    ("dims", "shape", "dim"), [(1, (50, 7), (1,)), (2, (5, 7, 30), (1,)), (3, (3, 4, 5, 2, 6), (1, 3))]
)
def test_kernels_of_little_know_how_many_dims_are_kept(dims: int, shape: tuple[int, ...], dim: tuple[int, ...]) -> None:
    """The last argument of the instance is what its divisions depend on."""
    plan = SUM.choose(SUM.problem(make_case("sum", "float32", shape=shape, dim=dim)), DEVICE)
    assert isinstance(plan, Plan)
    assert plan.launches[0].kernel.endswith(f", {dims}>")
