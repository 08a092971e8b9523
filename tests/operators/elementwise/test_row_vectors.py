"""Vectors of y's rows shorter than 16 bytes, and tiles of other shapes: where rules change, and answers there."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpubench import dtypes
from gpubench.model import Plan, Problem
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.row_vectors import lookups
from gpubench.operators.elementwise.tiles import Tiles
from tests.operators.cases import DEVICE, make_case
from tests.operators.on_host import host, verdict

OPERATOR = OPERATORS["elementwise"]


def problem_of(dtype: str, function: str, *inputs: dict[str, Any], **more: Any) -> Problem[Any]:
    """Return the problem of these operands."""
    return OPERATOR.problem(make_case("elementwise", dtype, function=function, inputs=inputs, **more))


def turned(*shape: int, **layout: Any) -> dict[str, Any]:
    """Return an operand whose last two dims are exchanged."""
    order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    return {"shape": shape, "layout": {"permute": order, **layout}}


def tiles_of(problem: Problem[Any]) -> tuple[int, Plan]:
    """Return the elements of a vector, the first of the kernel's numbers, and the plan of `tiles`."""
    plan = Tiles().plan(problem, DEVICE)
    assert isinstance(plan, Plan)
    numbers = [part for part in plan.launches[0].kernel.split(", ") if part.isdigit()]
    return int(numbers[0]), plan


@pytest.mark.parametrize("rows", range(2, 16))
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_lookups_are_the_lines_that_a_warp_meets(rows: int, itemsize: int) -> None:
    """Counted by the addresses of each load; a run that begins inside a line meets one more at most."""
    for vector in (16 // itemsize >> n for n in range(5 - itemsize.bit_length() + 1)):
        part = rows * vector * itemsize
        load = min(part & -part, 16)
        met = [{(lane * part + at) // 128 for lane in range(32)} for at in range(0, part, load)]
        found = lookups(vector, rows, itemsize, 16 // itemsize) * vector
        assert 0 <= sum(map(len, met)) - found <= len(met)


@pytest.mark.parametrize(
    ("dtype", "rows", "length", "vector"),
    [
        ("uint8", 3, 4096, 16),
        ("uint8", 4, 4096, 16),  # 64 bytes of a thread
        ("uint8", 5, 4096, 8),
        ("uint8", 8, 4096, 4),
        ("uint8", 3, 4104, 8),  # rows that end with 8 bytes
        ("uint8", 3, 4100, 4),
        ("uint8", 3, 4098, 16),  # ... with 2: too few to be stored
        ("uint8", 8, 4099, 16),
        ("int16", 3, 4098, 2),
        ("int16", 3, 4099, 8),
        ("float32", 3, 4096, 4),
        ("float32", 3, 4099, 1),
        ("float32", 6, 4096, 2),
        ("float64", 6, 4096, 1),
    ],
)
def test_runs_of_braided_rows_are_short(dtype: str, rows: int, length: int, vector: int) -> None:
    """So that a warp's loads meet few lines, and rows that end with short vectors are stored as they come."""
    found, plan = tiles_of(problem_of(dtype, "copy", turned(rows, length)))
    assert plan.notes["lies"] == ["braided"]
    assert found == vector
    assert (plan.launches[0].shared_bytes == 0) == (length % vector == 0)


@pytest.mark.parametrize(
    ("dtype", "length", "vector"),
    [
        ("float32", tuning.RAGGED_ROW - 1, 1),
        ("float32", tuning.RAGGED_ROW, 4),  # whole vectors
        ("float32", tuning.RAGGED_ROW + 1, 4),
        ("int16", tuning.RAGGED_ROW - 4, 4),
        ("int16", tuning.RAGGED_ROW // 4 - 1, 1),
        ("int16", tuning.RAGGED_ROW // 4 + 1, 8),
        ("uint8", 126, tuning.RAGGED_STORE // 2),
        ("uint8", 254, 16),
        ("uint8", 258, 16),
        ("uint8", 255, 16),
        ("float64", 255, 1),
    ],
)
def test_short_rows_beside_turned_operands_end_with_vectors(dtype: str, length: int, vector: int) -> None:
    """Tiles of short vectors have as many elements, but no more rows a thread than its registers take."""
    found, plan = tiles_of(problem_of(dtype, "copy", turned(4096, length)))
    assert plan.notes["lies"] == ["turned"]
    assert found == vector
    assert plan.notes["passes"] <= tuning.RAGGED_PASSES
    full = turned(4096, length)
    three = problem_of(dtype, "addcmul", full, {"shape": (4096, length)}, {"shape": (4096, length)})
    assert tiles_of(three)[1].notes["passes"] <= tuning.RAGGED_PASSES // 2
    assert tiles_of(problem_of(dtype, "copy", turned(4096, length, offset=1)))[0] == 16 // dtypes.dtype(dtype).itemsize


@pytest.mark.parametrize(
    ("rows", "length", "variant"),
    [
        (9008, 31, "flat"),
        (9008, tuning.SQUARE_RUN + 1, "tiles"),
        (9008, 33, "flat"),
        (9008, 40, "flat"),  # fills no tile
        (9008, 16, "flat"),
        (9001, 32, "flat"),  # lines off the grid
    ],
)
def test_rows_that_fill_tiles_are_turned(rows: int, length: int, variant: str) -> None:
    """Where lines stand on units; others of so few elements are gathered."""
    plan = OPERATOR.choose(problem_of("float32", "copy", turned(rows, length)), DEVICE)
    assert isinstance(plan, Plan)
    assert plan.variant == variant


def test_short_vectors_give_the_right_result() -> None:
    """All element sizes; beside other operands, casts and further dims; a last block, lane and strip in part."""
    works = []
    for number, dtype in enumerate(("uint8", "int16", "float32", "complex64", "complex128")):
        small = (1, 2, 4, 8, 16)[number]
        for rows, more in ((2, 4), (5, 0), (6, 8), (8, 24), (14, 4)):
            length = 2048 // small + more
            one = turned(rows, length)
            works.append(problem_of(dtype, "add", one, {"shape": (rows, length)}))
        for rows, length in ((16, 500), (48, 125), (80, 66)):
            high = -(-rows * small // 16) * 16 // small
            one, other = turned(high, length), {"shape": (high, length), "layout": {"offset": 1}}
            works.append(problem_of(dtype, "addcmul", one, other, {"shape": (length,)}))
    works.append(problem_of("uint8", "copy", turned(8, 2056), out_dtype="float32"))
    works.append(problem_of("float32", "copy", turned(6, 2058), out_dtype="int8"))
    plans = []
    for number, problem in enumerate(works):
        plan = Tiles().plan(problem, dataclasses.replace(DEVICE, sm_count=1) if number % 2 else DEVICE)
        assert isinstance(plan, Plan)
        plans.append((problem, plan))
    host().compile([launch for _, plan in plans for launch in plan.launches])
    for problem, plan in plans:
        found = verdict(problem, plan)
        assert found.ok, (problem.case.id, dict(plan.notes), found.first_mismatch)
