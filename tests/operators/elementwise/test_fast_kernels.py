"""The fast elementwise kernels where they could go wrong: alignment, ends of rows, turned tiles of any element size."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from gpubench.dtypes import NAMES
from gpubench.model import Plan, Problem, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise import flat, tiles
from gpubench.operators.elementwise.merged import Merged, merged
from gpubench.operators.elementwise.tiles import Tiles
from gpubench.operators.elementwise.tuning import FlatCut
from tests.operators.cases import DEVICE, make_case
from tests.operators.elementwise.edges import edges
from tests.operators.on_host import host, verdict

OPERATOR = OPERATORS["elementwise"]
DTYPES = ("int8", "float16", "float32", "complex64", "complex128")

CASES: list[tuple[str, tuple[dict[str, Any], ...]]] = [
    ("copy", ({"shape": (37, 131), "layout": {"permute": (1, 0), "offset": 3}},)),
    ("copy", ({"shape": (129, 34), "layout": {"permute": (1, 0)}},)),
    ("copy", ({"shape": (3, 211), "layout": {"permute": (1, 0)}},)),
    ("copy", ({"shape": (211, 3), "layout": {"permute": (1, 0), "step": 2}},)),
    ("copy", ({"shape": (5, 6, 7, 16), "layout": {"permute": (3, 1, 2, 0), "offset": 1}},)),
    ("copy", ({"shape": (3, 64, 5, 32), "layout": {"permute": (3, 0, 2, 1)}},)),
    ("add", ({"shape": (70, 67)}, {"shape": (70, 67), "layout": {"permute": (1, 0)}})),
    ("add", ({"shape": (64, 128), "layout": {"permute": (1, 0)}}, {"shape": (128,)})),
    ("add", ({"shape": (9, 131), "layout": {"offset": 1}}, {"shape": (9, 1)})),
    ("add", ({"shape": (9, 1000)}, {"shape": (1, 1000), "layout": {"offset": 5}})),
    ("add", ({"shape": (12, 640)}, {"shape": (640,)})),
    ("sub", ({"shape": (300, 5)}, {"shape": (5,)})),
    ("sub", ({"shape": (29,), "layout": {"offset": 1}}, {"shape": (77, 29)})),
    ("addcmul", ({"shape": (1, 29)}, {"shape": (77, 1)}, {"shape": (29,), "layout": {"offset": 3}})),
    ("addcmul", ({"shape": (5, 7, 19)}, {"shape": (5, 1, 19)}, {"shape": (1, 1, 1)})),
    ("where", ({"shape": (40, 50), "layout": {"permute": (1, 0)}}, {"shape": (40, 50)}, {"shape": (40, 1)})),
    (
        "add",
        ({"shape": (131, 137), "layout": {"permute": (1, 0)}}, {"shape": (131, 137), "layout": {"permute": (1, 0)}}),
    ),
    ("add", ({"shape": (3, 7, 2304), "layout": {"permute": (0, 2, 1)}}, {"shape": (3, 7, 2304)})),
    ("copy", ({"shape": (2, 5, 2307), "layout": {"permute": (0, 2, 1)}},)),
    ("mul", ({"shape": (33, 65), "dtype": "uint8", "layout": {"permute": (1, 0)}}, {"shape": (33, 65)})),
]


def whole_vectors(problem: Problem[Any]) -> Plan | Refused:
    """Return the plan of `flat` with vectors of 16 bytes, which so small a y would not have."""
    shape = merged(problem)
    assert isinstance(shape, Merged)
    return flat.build(problem, shape, FlatCut(128, shape.vector, 2))


def hold_right(works: list[tuple[Problem[Any], Plan]]) -> None:
    """Compile all plans side by side, and hold each one's answer against numpy's."""
    host().compile([launch for _, plan in works for launch in plan.launches])
    for problem, plan in works:
        found = verdict(problem, plan)
        assert found.ok, (problem.case.id, dict(plan.notes), found.first_mismatch)


@pytest.mark.parametrize("rule", [whole_vectors, lambda problem: Tiles().plan(problem, DEVICE)], ids=("flat", "tiles"))
def test_every_layout_gives_the_right_result(rule: Callable[[Problem[Any]], Plan | Refused]) -> None:
    """Elements of 1 to 16 bytes go round the layouts, so that each size meets each kind of operand."""
    works = []
    for number, (function, inputs) in enumerate(CASES):
        for dtype in (DTYPES[number % 5], DTYPES[(number + 2) % 5]):
            problem = OPERATOR.problem(make_case("elementwise", dtype, function=function, inputs=inputs))
            plan = rule(problem)
            if not isinstance(plan, Refused):
                works.append((problem, plan))
    assert len(works) >= 24
    hold_right(works)


def test_places_of_64_bits_in_tiles_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """As operands have that reach further than 32 bits count: turned, in stages, braided, beside rows and columns."""
    monkeypatch.setattr(tiles, "NEAR", 0)
    works = []
    for number, (function, inputs) in enumerate(CASES):
        problem = OPERATOR.problem(make_case("elementwise", DTYPES[number % 5], function=function, inputs=inputs))
        plan = Tiles().plan(problem, DEVICE)
        if not isinstance(plan, Refused):
            assert "uint32" not in plan.launches[0].kernel
            works.append((problem, plan))
    assert len(works) >= 16
    hold_right(works)


def test_little_is_chosen_without_a_branch() -> None:
    """Elements of every dtype, a thread each: whole numbers are taken as they are, signs of zero and NaN among them."""
    works = []
    for dtype in NAMES:
        case = make_case("elementwise", dtype, function="where", shape=(301,), distribution="with_nonfinite")
        plan = flat.Flat().plan(OPERATOR.problem(case), DEVICE)
        assert isinstance(plan, Plan)
        assert (plan.notes["items"], plan.notes["vectors"]) == (1, 1)
        works.append((OPERATOR.problem(case), plan))
    hold_right(works)


def test_units_of_few_rows_stay_inside() -> None:
    """A tile of fewer rows than a unit has elements: a line's second unit may lie behind the operand."""
    turned = {"shape": (2, 12, 2049), "layout": {"permute": (0, 2, 1), "offset": 1}}
    problem = OPERATOR.problem(
        make_case("elementwise", "int8", function="add", inputs=(turned, {"shape": (2, 12, 2049)}))
    )
    plan = Tiles().plan(problem, DEVICE)
    assert isinstance(plan, Plan)
    assert plan.notes["lies"] == ["turned_off_grid", "on_grid"]
    assert verdict(problem, plan).ok


def test_lines_of_bytes_are_plaited() -> None:
    """Two or three lines, alone or beside an operand that lies as y does; a last block in part."""
    device = dataclasses.replace(DEVICE, sm_count=1)
    works = []
    for lines in (2, 3):
        one = {"shape": (2, 2064, lines), "layout": {"permute": (0, 2, 1)}}
        for function, inputs in (("copy", (one,)), ("add", (one, {"shape": one["shape"]}))):
            problem = OPERATOR.problem(make_case("elementwise", "int8", function=function, inputs=inputs))
            plan = flat.Flat().plan(problem, device)
            assert isinstance(plan, Plan)
            assert plan.notes["lies"] == ["plaited", "on_grid"][: len(inputs)]
            works.append((problem, plan))
    hold_right(works)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_elements_that_are_near_come_by_small_vectors(dtype: str) -> None:
    """Rows of odd lengths, whose ends lie inside vectors; alone, and beside an operand that lies as y does."""
    device = dataclasses.replace(DEVICE, sm_count=1)
    one = {"shape": (7, 3, 411), "layout": {"permute": (0, 2, 1), "offset": 1}}
    works = []
    for function, inputs in (("copy", (one,)), ("add", (one, {"shape": one["shape"]}))):
        problem = OPERATOR.problem(make_case("elementwise", dtype, function=function, inputs=inputs))
        plan = OPERATOR.choose(problem, device)
        assert isinstance(plan, Plan)
        assert (plan.variant, plan.notes["lies"][0], plan.notes["vectors"]) == ("flat", "apart", 4)
        works.append((problem, plan))
    hold_right(works)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_elements_of_a_small_operand_are_found_by_their_places(dtype: str) -> None:
    """Rows of tiles that go over two dims and three, on and off the grid; what is shared along one of them."""
    works = []
    for shape, order, small in (
        ((40, 101, 5), (2, 1, 0), (40, 1, 5)),
        ((64, 96, 8), (2, 1, 0), (64, 1, 8)),
        ((64, 96, 8), (2, 1, 0), (1, 96, 1)),
        ((33, 7, 16, 3), (3, 1, 2, 0), (7, 1, 3)),
        ((32, 4, 16, 4), (3, 2, 1, 0), (4,)),
    ):
        turned = {"shape": shape, "layout": {"permute": order}}
        problem = OPERATOR.problem(make_case("elementwise", dtype, function="sub", inputs=(turned, {"shape": small})))
        plan = Tiles().plan(problem, DEVICE)
        assert isinstance(plan, Plan)
        assert plan.notes["lies"][1] == "apart"
        works.append((problem, plan))
    hold_right(works)


def test_both_sides_of_the_small_edges_are_right() -> None:
    """One below, at and one above each threshold that a case of moderate size meets."""
    works = []
    for cases in edges(DEVICE).values():
        for problem in (OPERATOR.problem(case) for case in cases[::2]):
            if problem.operand("y").view.size <= 300_000:
                plan = OPERATOR.choose(problem, DEVICE)
                assert isinstance(plan, Plan)
                works.append((problem, plan))
    assert len(works) >= 4
    hold_right(works)
