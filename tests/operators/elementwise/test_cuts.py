"""How tiles are cut: as high as their lines are worth, and as wide as leaves every SM its blocks."""

from __future__ import annotations

import pytest

from gpubench.model import Plan
from gpubench.operators.elementwise import tiles
from tests.operators.cases import DEVICE, make_case
from tests.operators.elementwise.test_fast_rules import OPERATOR, plan_of


@pytest.mark.parametrize(
    ("rows", "dtype", "tile"),
    [(67, "int16", (8, 4)), (20, "int16", (32, 4)), (6, "int32", (64, 2)), (73, "int8", (8, 4))],
)
def test_tiles_are_as_high_as_their_lines_are_worth(rows: int, dtype: str, tile: tuple[int, int]) -> None:
    """Each line of a tile brings a unit in vain, and rows outside y cost less than that; not for vectors of bytes."""
    one = {"shape": (rows, 300_001), "layout": {"permute": (1, 0), "offset": 1}}
    plan = tiles.Tiles().plan(OPERATOR.problem(make_case("elementwise", dtype, function="neg", inputs=(one,))), DEVICE)
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == ["turned_off_grid"]
    assert (plan.notes["lanes"], plan.notes["passes"]) == tile


@pytest.mark.parametrize(("columns", "tile"), [(2**15, (32, 1)), (2**17, (32, 1)), (2**18, (64, 2)), (2**19, (128, 4))])
def test_low_tiles_are_narrower_where_they_are_few(columns: int, tile: tuple[int, int]) -> None:
    """Eight rows are as low as units of bfloat16 are; threads have fewer rows, and more blocks share the columns."""
    one = {"shape": (8, columns), "layout": {"permute": (1, 0)}}
    plan = plan_of("bfloat16", function="tanh", inputs=(one,))
    assert (plan.variant, plan.notes["lanes"], plan.notes["passes"]) == ("tiles", *tile)
