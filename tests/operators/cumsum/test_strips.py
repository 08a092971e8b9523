"""Cuts of columns into strips: the one that is estimated to take least time, and what it may be."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from gpubench.dtypes import DTYPES
from gpubench.model import DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.columns import ColumnStrips, LinkedStrips, linked_shapes
from gpubench.operators.cumsum.geometry import columns_of, in_parts
from gpubench.operators.cumsum.strips import Strips, best_strips, strip_items, tile_rows
from gpubench.operators.results import sum_dtype
from tests.operators.cases import DEVICE, make_case, planned
from tests.operators.cumsum.column_problems import columns_and_devices
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs

CUMSUM = OPERATORS["cumsum"]


def strips_of(shape: tuple[int, ...], dtype: str, device: DeviceInfo = DEVICE, **layout: Any) -> Strips:
    """Return the cut of sums along the last dim but one."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=list(shape), dim=len(shape) - 2, layout=layout))
    columns = columns_of(problem)
    assert columns is not None
    return best_strips(*in_parts(problem, columns), device)


def most_items(shape: tuple[int, ...], **layout: Any) -> int:
    """Return the most float16 columns of a thread."""
    problem = CUMSUM.problem(make_case("cumsum", "float16", shape=list(shape), dim=0, layout=layout))
    columns = columns_of(problem)
    assert columns is not None
    return strip_items(problem, columns)


@pytest.mark.parametrize(
    ("shape", "dtype", "items", "lanes", "warps"),
    [
        ((16384, 16384), "float32", 4, 32, 16),
        ((64, 4096, 128), "float32", 4, 16, 16),
        ((16, 4096, 1024), "float16", 8, 16, 16),
        ((64, 4096, 128), "float16", 8, 8, 16),
        ((8192, 8192), "int32", 2, 32, 16),
        ((16384, 16384), "float64", 2, 32, 16),
    ],
)
def test_large_columns_are_cut_as_trials_found_best(
    shape: tuple[int, ...], dtype: str, items: int, lanes: int, warps: int
) -> None:
    """The estimate finds the shapes that were the fastest of all tried on an H200."""
    best = strips_of(shape, dtype)
    assert (best.items, best.shape.lanes, best.shape.warps) == (items, lanes, warps)


def test_few_columns_are_cut_into_narrow_strips() -> None:
    """Whole vectors side by side would leave most SMs without a strip."""
    best = strips_of((100, 1024), "bfloat16")
    assert best.items < 8
    assert best.cut.strips > strips_of((100, 65536), "bfloat16").cut.strips / 64


@pytest.mark.parametrize(("inner", "widest"), [(4096, 8), (4100, 4), (4098, 2), (4097, 1)])
def test_rows_of_any_width_may_come_by_the_widest_vectors_that_they_start_on(inner: int, widest: int) -> None:
    """Not only by whole vectors of 16 bytes or else by single elements."""
    assert most_items((8192, inner), offset=0) == widest
    assert most_items((8192, inner), offset=2) == min(widest, 2)


@pytest.mark.parametrize(("rows", "name"), [(500, "columns"), (8000, "linked_columns")])
def test_few_strips_of_many_tiles_are_shared(rows: int, name: str) -> None:
    """Of a single tile there is nothing to share."""
    assert chosen((rows, 64), 0) == name


@columns_and_devices(200)
def test_strips_cover_all_columns_by_instances_that_there_are(
    dtype: str, shape: tuple[int, int, int], layout: dict[str, Any], figures: dict[str, Any]
) -> None:
    """Whatever the problem and the device; shared memory is within what every device gives unasked."""
    device = dataclasses.replace(DEVICE, **figures)
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=list(shape), dim=1, layout=layout))
    variant = ColumnStrips()
    plan = variant.plan(problem, device)
    if not isinstance(plan, Plan):
        return
    (launch,) = plan.launches
    assert (launch.source, launch.kernel) in variant.instances(dtype)
    assert launch.shared_bytes <= 48 << 10
    assert launch.block[0] <= 512
    columns = columns_of(problem)
    assert columns is not None
    best = best_strips(*in_parts(problem, columns), device)
    assert math.prod(launch.grid) == best.cut.strips * columns.outer
    assert best.cut.tiles * tile_rows(best.shape) >= columns.length
    assert best.shape.lanes * best.items <= tuning.STRIP_WIDTH


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "int8"])
@pytest.mark.parametrize("near", [-1, 0])
def test_strips_that_blocks_share_are_tall_where_each_has_several_tiles(dtype: str, near: int) -> None:
    """Tall tiles wait for other blocks less often; their answers are right, with NaN and infinity in their columns."""
    tall, low = linked_shapes(dtype, sum_dtype(dtype), 1)
    device = dataclasses.replace(DEVICE, sm_count=2)  # four blocks share a strip
    length = 4 * tuning.LINKED_TURNS * tile_rows(tall) + near * tile_rows(tall)
    case = make_case("cumsum", dtype, shape=[length - 1, 31], dim=0, layout={"offset": 1})
    plan = planned(LinkedStrips(), CUMSUM.problem(case), device)
    assert plan.notes["rows"] == (tall if near == 0 else low).rows
    distribution = "normal" if DTYPES[dtype].kind == "integer" else "with_nonfinite"
    outputs("linked_columns", dtype, "reverse", 1, {"sm_count": 2}, shape=[length - 1, 31], dim=0,
            layout={"offset": 1}, distribution=distribution)  # fmt: skip
