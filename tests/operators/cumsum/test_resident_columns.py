"""resident_columns: the cuts of its host rule for whatever comes, and its answers where they could go wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpubench import dtypes
from gpubench.model import Plan
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import resident_tuning as tuning
from gpubench.operators.cumsum.geometry import columns_of, in_parts
from gpubench.operators.cumsum.resident_columns import ResidentCut, copy_slack, resident_cut
from gpubench.operators.geometry.vectors import accumulator_bytes, published_bytes
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.column_problems import columns_and_devices
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.on_host import host

CUMSUM = OPERATORS["cumsum"]
RESIDENT = next(variant for variant in CUMSUM.variants if variant.name == "resident_columns")


def scarce(kib: int, sms: int = 3) -> dict[str, int]:
    """Return figures of a device on which small problems are several pieces."""
    return {"sm_count": sms, "max_shared_bytes": kib << 10}


@pytest.fixture(params=["RESIDENT", "RESIDENT_HALVED"])
def shape_of_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every problem is cut by the shape of this name, and much of it may be read twice."""
    name = str(request.param)
    only = getattr(tuning, name)
    monkeypatch.setattr(tuning, "RESIDENT", only)
    monkeypatch.setattr(tuning, "RESIDENT_HALVED", only)
    monkeypatch.setattr(tuning, "SPILLED", 1.5)
    return name


def pieces_of(dtype: str, shape: list[int], figures: dict[str, int], **layout: Any) -> tuple[int, int, int]:
    """Return (pieces that stay in shared memory, in registers, pieces that are read twice)."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=len(shape) - 2, layout=layout))
    columns = columns_of(problem)
    assert columns is not None
    info = dataclasses.replace(host().info, **figures)  # type: ignore[arg-type]  # all int
    one = resident_cut(problem, columns, info)
    assert one is not None
    return one.pieces - one.held - one.spilled, one.held, one.spilled


SMALL = [  # (pieces in shared memory, in registers, spilled) by each shape, shape, figures
    ((1, 0, 0), (1, 0, 0), [300, 9], scarce(24)),
    ((2, 0, 0), (4, 2, 0), [760, 9], scarce(16)),
    ((2, 1, 0), (4, 2, 1), [1001, 9], scarce(16)),  # narrow rows, put together in place
    ((2, 1, 3), (4, 2, 8), [2001, 9], scarce(16)),  # so many that some are read twice
    ((2, 1, 1), (4, 2, 4), [900, 64], scarce(56)),  # rows of whole vectors, stored by the lanes
    ((2, 1, 2), (4, 2, 4), [900, 33], scarce(28)),  # a lane for the last column: 32 groups of one
]


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:5"])
@pytest.mark.parametrize(("pieces", "halved", "shape", "figures"), SMALL)
def test_blocks_agree_wherever_pieces_are_held(
    pieces: tuple[int, int, int],
    halved: tuple[int, int, int],
    shape: list[int],
    figures: dict[str, int],
    schedule: str,
    shape_of_blocks: str,
) -> None:
    """Right under every schedule, launch after launch on one workspace, and the same bits each time."""
    wanted = pieces if shape_of_blocks == "RESIDENT" else halved
    assert pieces_of("float32", shape, figures) == wanted
    first, *others = outputs("resident_columns", "float32", schedule, 2, figures, shape=shape, dim=0)
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize(
    ("dtype", "shape", "layout", "figures"),
    [
        ("uint8", [2, 6000, 3], {}, scarce(14, 4)),
        ("int8", [900, 128], {}, scarce(56)),  # two warps' worth of lanes a row
        ("int16", [1501, 33], {}, scarce(32)),
        ("int32", [1201, 16], {}, scarce(24)),
        ("int64", [2, 301, 64], {"expand": [0]}, scarce(64, 5)),  # every outer block reads the same rows; an SM idles
        ("float16", [1501, 100], {"offset": 1}, scarce(64)),  # single columns, at an odd address
        ("bfloat16", [1100, 64], {}, scarce(32)),
        ("float32", [700, 100], {}, scarce(64)),  # 25 lanes a row
        ("float32", [900, 12], {}, scarce(18)),  # ten groups of three lanes
        ("float64", [2001, 2], {}, scarce(16)),
        ("complex64", [1001, 9], {"offset": 1}, scarce(24)),
        ("complex128", [2, 350, 33], {}, scarce(99, 5)),
    ],
)
@pytest.mark.usefixtures("shape_of_blocks")
def test_columns_of_any_kind(dtype: str, shape: list[int], layout: dict[str, Any], figures: dict[str, int]) -> None:
    """Every dtype once, some pieces in registers: NaN and infinity in their columns, nothing beside them."""
    _, held, _ = pieces_of(dtype, shape, figures, **layout)
    assert held > 0
    distribution = "normal" if layout.get("expand") else "with_nonfinite"
    dim = len(shape) - 2
    outputs(
        "resident_columns",
        dtype,
        "random:2",
        2,
        figures,
        shape=shape,
        dim=dim,
        layout=layout,
        distribution=distribution,
    )


@pytest.mark.parametrize("rows", [1, 2, 47, 48, 49, 95, 97])
def test_fewer_rows_than_warps(rows: int) -> None:
    """Warps and blocks that have no row, or one less than others, are no trouble."""
    outputs("resident_columns", "float32", "random:3", 2, scarce(24), shape=[rows, 5], dim=0)


def cut_of(dtype: str, shape: list[int], layout: dict[str, Any], **figures: int) -> tuple[Any, ResidentCut | None]:
    """Return the problem's columns and their cut, having seen that it holds."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=1, layout=layout))
    info = dataclasses.replace(DEVICE, **figures)  # type: ignore[arg-type]  # one kind of value for all
    columns = columns_of(problem)
    assert columns is not None
    reason = refusal(RESIDENT, problem, info)
    if not columns.contiguous or columns.inner > tuning.COLUMNS:
        assert reason is not None
        return columns, None
    parts, columns = in_parts(problem, columns)
    one = resident_cut(parts, columns, info)
    assert (one is None) == (reason is not None)
    if one is not None:
        check_plan(planned(RESIDENT, problem, info), parts, columns, one, info)
    return columns, one


def check_plan(plan: Plan, problem: Any, columns: Any, one: ResidentCut, info: Any) -> None:
    """Whatever the cut: all rows once, within slots, registers, shared memory, SMs and workspace."""
    shape = one.shape
    size = dtypes.dtype(problem.operand("x").dtype).itemsize
    accumulator = accumulator_bytes(problem.operand("y").dtype)
    (launch,) = plan.launches
    blocks = one.share * columns.outer
    assert 0 < blocks <= info.sm_count
    assert one.share * shape.warps * one.warp_rows >= columns.length
    assert (one.pieces - 1) * one.piece_rows < one.warp_rows <= one.pieces * one.piece_rows
    bytes_of_piece = one.piece_rows * columns.inner * size + copy_slack(problem, columns)
    assert bytes_of_piece <= one.slot_bytes
    assert bytes_of_piece <= 512 * shape.vectors or one.held == 0
    assert one.slot_bytes % 16 == 0
    assert one.pieces - one.spilled - one.held <= shape.slots
    assert one.spilled == 0 or (one.held, one.pieces - one.spilled) == (shape.held, shape.held + shape.slots)
    lanes = columns.inner // one.items % 32 or 32
    assert one.groups == 32 // lanes
    assert one.groups * one.group_rows >= one.piece_rows
    assert [lane * -(-65536 // lanes) >> 16 for lane in range(32)] == [lane // lanes for lane in range(32)]
    tables = 2 * shape.warps * columns.inner * accumulator
    assert shape.warps * shape.slots * one.slot_bytes + tables <= launch.shared_bytes
    static = 8 * shape.warps * shape.slots + 32 * shape.warps * accumulator + 16
    assert launch.shared_bytes + static + 1024 <= info.max_shared_bytes
    assert launch.grid == (blocks, 1, 1)
    assert launch.block == (32 * shape.warps, 1, 1)
    assert launch.waits_for_blocks
    assert plan.workspace_bytes >= 16 + blocks * columns.inner * published_bytes(problem.operand("y").dtype)


@columns_and_devices(most_columns=140)
def test_every_cut_holds(
    dtype: str, shape: tuple[int, int, int], layout: dict[str, Any], figures: dict[str, int]
) -> None:
    """Every row is taken once, nothing takes more than it has, and all blocks are resident."""
    cut_of(dtype, list(shape), layout, **figures)


@pytest.mark.parametrize(
    ("shape", "dtype", "pieces"),
    [
        ([1, 1000000, 9], "float32", 5),
        ([1, 65536, 100], "float32", 2),
        ([1, 180000, 64], "float32", 7),
        ([1, 262144, 64], "float16", 3),
    ],
)
def test_the_cuts_of_the_recorded_shapes(shape: list[int], dtype: str, pieces: int) -> None:
    """As few pieces as hold x, on all SMs."""
    _, one = cut_of(dtype, shape, {})
    assert one is not None
    assert (one.pieces, one.share) == (pieces, 132)


def most_rows(columns: int, pieces: int) -> int:
    """Return the most rows of float32 with which no warp of a GPU has more pieces."""
    rows = 0
    for step in (1 << power for power in reversed(range(24))):
        _, one = cut_of("float32", [1, rows + step, columns], {})
        if one is not None and one.pieces <= pieces:
            rows += step
    return rows


@pytest.mark.parametrize(("near", "halved"), [(-1, False), (0, False), (1, True)])
def test_more_than_two_pieces_are_halved(near: int, halved: bool) -> None:
    """What goes through registers goes in smaller pieces; of 16-bit floats it does not."""
    rows = most_rows(64, tuning.RESIDENT.slots)
    _, one = cut_of("float32", [1, rows + near, 64], {})
    assert one is not None
    assert one.shape == (tuning.RESIDENT_HALVED if halved else tuning.RESIDENT)
    _, half = cut_of("float16", [1, 2 * rows + 2, 64], {})
    assert half is not None
    assert half.shape == tuning.RESIDENT


@pytest.mark.parametrize(("near", "spilled"), [(-1, 0), (0, 0), (1, 1)])
def test_what_stays_is_not_read_twice(near: int, spilled: int) -> None:
    """Registers and shared memory are filled before anything is spilled."""
    rows = most_rows(64, tuning.RESIDENT_HALVED.slots + tuning.RESIDENT_HALVED.held)
    _, one = cut_of("float32", [1, rows + near, 64], {})
    assert one is not None
    assert one.spilled == spilled


@pytest.mark.parametrize(("near", "refused"), [(-1, False), (0, False), (1, True)])
def test_more_than_may_be_spilled_is_refused(near: int, refused: bool) -> None:
    """Beyond so many pieces that are read twice, others are faster."""
    stay = tuning.RESIDENT_HALVED.slots + tuning.RESIDENT_HALVED.held
    rows = most_rows(9, stay + int(stay * tuning.SPILLED))
    _, one = cut_of("float32", [1, rows + near, 9], {})
    assert (one is None) == refused


@pytest.mark.parametrize(("near", "refused"), [(-1, False), (0, False), (1, True)])
def test_wider_rows_are_refused(near: int, refused: bool) -> None:
    """A thread a column joins the sums of warps."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[1000, tuning.COLUMNS + near], dim=0))
    assert (refusal(RESIDENT, problem, DEVICE) is not None) == refused


def test_single_columns_and_stepped_ones_are_refused() -> None:
    """One column is a row; columns with gaps between them, or between rows, do not come by one copy."""
    for shape, layout in (([1000, 1], {}), ([1000, 8], {"step": 2}), ([1000, 8], {"expand": [0]})):
        problem = CUMSUM.problem(make_case("cumsum", "float32", shape=shape, dim=0, layout=layout))
        assert refusal(RESIDENT, problem, DEVICE) is not None
