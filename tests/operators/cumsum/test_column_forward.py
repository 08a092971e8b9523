"""column_forward: the cuts of its host rule for whatever comes, and its answers where they could go wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpubench import dtypes
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.column_forward import SHAPE, ForwardCut, forward_cut, parts_of
from gpubench.operators.cumsum.geometry import columns_of, in_parts
from gpubench.operators.geometry.vectors import accumulator_bytes, published_bytes
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.column_problems import columns_and_devices
from tests.operators.cumsum.test_fast_kernels import outputs

CUMSUM = OPERATORS["cumsum"]
FORWARD = next(variant for variant in CUMSUM.variants if variant.name == "column_forward")
SCARCE = {"sm_count": 3, "max_shared_bytes": 48 << 10}
"""Three blocks with a ring of three stages of 8 KB: a few hundred rows are many turns around it."""


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random:5"])
@pytest.mark.parametrize(
    ("shape", "figures"),
    [
        ([9001, 9], SCARCE),  # narrow rows, put together in the stage; five turns of three blocks
        ([1201, 64], SCARCE),  # rows of whole vectors
        ([5003, 9], {"sm_count": 22, "max_shared_bytes": 48 << 10}),  # sums joined by fours, two turns
    ],
)
def test_blocks_that_share_a_strip_agree(shape: list[int], figures: dict[str, int], schedule: str) -> None:
    """Right under every schedule, launch after launch on one workspace, and the same bits each time."""
    first, *others = outputs("column_forward", "float32", schedule, 2, figures, shape=shape, dim=0)
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize(
    ("dtype", "shape", "layout", "figures"),
    [
        ("uint8", [2, 700, 3], {}, SCARCE),
        ("int8", [300, 256], {}, SCARCE),  # two strips of 128 columns, a copy a row
        ("int16", [901, 33], {}, SCARCE),  # two warps side by side
        ("int32", [1201, 16], {}, SCARCE),
        ("int64", [2, 301, 64], {"expand": [0]}, {"sm_count": 4}),  # every outer block reads the same rows
        ("float16", [1501, 100], {"offset": 1}, SCARCE),  # four warps side by side
        ("bfloat16", [3, 300, 64], {}, {"sm_count": 2}),  # more strips than SMs: nothing is exchanged
        ("float32", [700, 100], {"expand": [0]}, SCARCE),  # one row for all, strips of which the last has four columns
        ("float64", [2001, 2], {}, SCARCE),
        ("complex64", [1001, 9], {"offset": 1}, SCARCE),
        ("complex128", [2, 150, 33], {}, {"sm_count": 9}),
    ],
)
def test_columns_of_any_kind(dtype: str, shape: list[int], layout: dict[str, Any], figures: dict[str, int]) -> None:
    """Every dtype once, every hard shape once: answers with NaN and infinity in their columns, nothing beside them."""
    distribution = "normal" if layout.get("expand") else "with_nonfinite"
    dim = len(shape) - 2
    outputs(
        "column_forward", dtype, "random:2", 2, figures, shape=shape, dim=dim, layout=layout, distribution=distribution
    )


def cut_of(dtype: str, shape: list[int], layout: dict[str, Any], **figures: int) -> tuple[Any, ForwardCut | None, Any]:
    """Return the problem's columns, their cut, and the device."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=1, layout=layout))
    device = dataclasses.replace(DEVICE, **figures)  # type: ignore[arg-type]  # one kind of value for all
    columns = columns_of(problem)
    assert columns is not None
    refused = refusal(FORWARD, problem, device) is not None
    problem, columns = in_parts(problem, columns)
    one = forward_cut(problem, columns, device)
    assert (one is None) == refused
    if one is not None:
        check_plan(problem, columns, one, device)
    return columns, one, device


def check_plan(problem: Any, columns: Any, one: ForwardCut, device: Any) -> None:
    """Whatever the cut: all columns and rows once, within the stage, the shared memory, the SMs and the workspace."""
    size = dtypes.dtype(problem.operand("x").dtype).itemsize
    accumulator = accumulator_bytes(problem.operand("y").dtype)
    plan = planned(FORWARD, problem, device)
    (launch,) = plan.launches
    assert (one.strips - 1) * one.width < columns.inner <= one.strips * one.width
    assert (one.tiles - 1) * one.tile_rows < columns.length <= one.tiles * one.tile_rows
    parts, groups = parts_of(problem.operand("x").dtype, one.items, one.lanes, min(columns.inner, one.width))
    assert parts * groups * one.group_rows >= one.tile_rows
    row_bytes = min(columns.inner, one.width) * size
    whole = columns.contiguous and one.strips == 1
    assert one.tile_rows * row_bytes + (32 if whole else 0) <= one.stage_bytes
    assert whole or row_bytes % 16 == columns.row_pitch * size % 16 == columns.outer_pitch * size % 16 == 0
    sums = one.stages * (parts + 1) * one.width * accumulator
    assert one.stage_bytes % 16 == 0
    assert one.stages * one.stage_bytes + sums == launch.shared_bytes
    static = 33 * 8 + 8 * 4 + 4 * 128 * accumulator + 16
    assert launch.shared_bytes + static + 1024 <= device.max_shared_bytes
    blocks = one.strips * columns.outer * one.share
    assert launch.grid == (blocks, 1, 1)
    assert launch.block == (SHAPE.threads, 1, 1)
    assert launch.waits_for_blocks == (one.share > 1)
    assert one.share == 1 or blocks <= device.sm_count
    words = one.tiles + (one.groups if one.joined > 1 else 0)
    needed = one.strips * columns.outer * words * one.width * published_bytes(problem.operand("y").dtype)
    assert plan.workspace_bytes >= (needed + 16 if one.share > 1 else 0)


@columns_and_devices(most_columns=300)
def test_every_cut_holds(
    dtype: str, shape: tuple[int, int, int], layout: dict[str, Any], figures: dict[str, int]
) -> None:
    """Every row is taken once, no stage or SM takes more than it has, and all blocks of a shared strip are resident."""
    columns, one, _ = cut_of(dtype, list(shape), layout, **figures)
    if columns.contiguous and columns.inner <= 128:
        assert one is not None  # whole rows come at any alignment


@pytest.mark.parametrize(
    ("shape", "lanes", "share", "turns"),
    [
        ([1, 262144, 64], 16, 132, 11),  # whole rows of 256 bytes
        ([1, 1000000, 32], 16, 132, 20),
        ([1, 1000000, 9], 16, 132, 6),
        ([1, 16384, 16384], 32, 1, 171),
        ([64, 4096, 128], 32, 2, 22),
    ],
)
def test_the_cuts_of_the_recorded_shapes(shape: list[int], lanes: int, share: int, turns: int) -> None:
    """Whole rows where they fit, pieces of 512 bytes else; tiles that fill whole turns."""
    columns, one, _ = cut_of("float32", shape, {})
    assert one is not None
    assert (one.lanes, one.share, one.turns) == (lanes, share, turns)
    assert one.turns * one.share - one.tiles < max(0.02 * one.tiles, 1)
    assert columns.inner >= 2


def test_single_columns_and_stepped_ones_are_refused() -> None:
    """One column is a row; columns with gaps between them cannot be copied."""
    for shape, layout in (([1000, 1], {}), ([1000, 8], {"step": 2}), ([1000, 129], {"offset": 1})):
        problem = CUMSUM.problem(make_case("cumsum", "float32", shape=shape, dim=0, layout=layout))
        assert refusal(FORWARD, problem, DEVICE) is not None
