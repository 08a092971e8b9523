"""carry_forward: how rows are cut into tiles that fill whole turns of the blocks."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench import dtypes
from gpubench.model import Value
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum.carry import ring_shape, tile_items, tiles_per_row
from gpubench.operators.cumsum.geometry import items_of, rows_of
from gpubench.operators.results import sum_dtype
from tests.operators.cases import DEVICE, make_case
from tests.operators.cumsum.test_fast_kernels import outputs

CUMSUM = OPERATORS["cumsum"]
CARRY = next(one for one in CUMSUM.variants if one.name == "carry_forward")


def cut_of(shape: list[int], dtype: str = "float32", device: Any = DEVICE) -> tuple[int, int]:
    """Return (elements of a tile, tiles of a row)."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=len(shape) - 1))
    rows, ring = rows_of(problem), ring_shape(dtype, sum_dtype(dtype), device)
    assert rows is not None
    assert ring is not None
    return tiles_per_row(rows, ring, problem, device)


@given(
    rows=st.integers(1, 300),
    length=st.integers(1, 20_000_000),
    dtype=st.sampled_from(CUMSUM.dtypes),
    sms=st.sampled_from((1, 4, 17, 132, 188)),
    shared=st.sampled_from((64, 99, 163, 227)),
)
def test_tiles_cover_a_row_and_take_no_more_turns(rows: int, length: int, dtype: str, sms: int, shared: int) -> None:
    """Wherever a row begins on the grid of vectors its tiles hold it, none is empty, and no turn comes on top."""
    device = dataclasses.replace(DEVICE, sm_count=sms, max_shared_bytes=shared << 10)
    tile, per_row = cut_of([rows, length], dtype, device)
    items = items_of(dtype, sum_dtype(dtype))
    ring = ring_shape(dtype, sum_dtype(dtype), device)
    assert ring is not None
    most = tile_items(ring, items)
    assert most // 2 <= tile <= most
    assert tile * dtypes.dtype(dtype).itemsize % 128 == 0
    assert tile % items == 0
    starts = {row * length % items for row in range(rows)}
    assert per_row * tile >= max(starts) + length
    assert (per_row - 1) * tile < length + items - 1
    full_turns = -(-rows * -(-(length + items - 1) // most) // sms)
    assert -(-rows * per_row // sms) <= full_turns


@pytest.mark.parametrize(
    ("shape", "turns"), [([1 << 24], 16), ([1 << 22], 4), ([8, 1 << 20], 8), ([1 << 28], 249), ([32, 1 << 22], 125)]
)
def test_the_turns_of_the_recorded_shapes(shape: list[int], turns: int) -> None:
    """Whole turns of 132 blocks, to 1 %."""
    _, per_row = cut_of(shape)
    tiles = per_row * (shape[0] if len(shape) == 2 else 1)
    assert -(-tiles // DEVICE.sm_count) == turns
    assert tiles > 0.99 * turns * DEVICE.sm_count


def test_the_kernel_is_told_the_length() -> None:
    """The by-value argument ends with the tile's elements."""
    problem = CUMSUM.problem(make_case("cumsum", "float32", shape=[1 << 24], dim=0))
    (launch,) = CARRY.plan(problem, DEVICE).launches
    (rows,) = [one for one in launch.arguments if isinstance(one, Value)]
    *_, per_row, tiles, tile = struct.unpack("<qqqiii4x", rows.data)
    assert (tile, per_row) == cut_of([1 << 24])
    assert tiles == per_row == launch.grid[0] * 16 - 6


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
def test_tiles_shorter_than_a_stage(dtype: str) -> None:
    """Tiles that end inside a consumer's part, more turns than there are stages: right, and the same bits each time."""
    figures = {"sm_count": 3, "max_shared_bytes": 64 << 10}
    first, second = outputs("carry_forward", dtype, "random:4", 2, figures, shape=[3, 14001], dim=1)
    assert np.array_equal(first, second)
