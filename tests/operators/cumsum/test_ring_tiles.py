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
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.carry import ring_shape, tile_items, tiles_per_row
from gpubench.operators.cumsum.geometry import rows_of
from gpubench.operators.geometry.vectors import exchange_bytes, items_of
from gpubench.operators.results import sum_dtype
from tests.operators.cases import DEVICE, make_case, planned
from tests.operators.cumsum.test_fast_kernels import outputs

CUMSUM = OPERATORS["cumsum"]
CARRY = next(variant for variant in CUMSUM.variants if variant.name == "carry_forward")


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
    (launch,) = planned(CARRY, problem, DEVICE).launches
    (rows,) = [argument for argument in launch.arguments if isinstance(argument, Value)]
    *_, count, per_row, tile, turn_rows, turn_tiles = struct.unpack("<qqqiiiii4x", rows.data)
    assert (tile, per_row) == cut_of([1 << 24])
    assert count == 1
    assert per_row == launch.grid[0] * 16 - 6
    assert (turn_rows, turn_tiles) == (0, launch.grid[0])


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
def test_tiles_shorter_than_a_stage(dtype: str) -> None:
    """Tiles that end inside a consumer's part, more turns than there are stages: right, and the same bits each time."""
    figures = {"sm_count": 3, "max_shared_bytes": 64 << 10}
    first, second = outputs("carry_forward", dtype, "random:4", 2, figures, shape=[3, 14001], dim=1)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("shared", [64, 227])
@pytest.mark.parametrize("offset", [0, 1, 6])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_narrow_integers_start_anywhere(dtype: str, offset: int, shared: int) -> None:
    """Words of several elements, whole and cut, on both rings: nothing beside a row is read or written."""
    figures = {"sm_count": 2, "max_shared_bytes": shared << 10}
    layout = {"offset": offset}
    outputs("carry_forward", dtype, "random:2", 1, figures, shape=[2, 24003], dim=1, layout=layout)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("ring", [*dict.fromkeys(shapes[0] for shapes in tuning.RINGS.values()), tuning.SMALL_RING])
def test_what_narrow_integers_exchange_fits(dtype: str, ring: tuning.RingShape) -> None:
    """A word of 8 bytes for each word of x of a consumer's part, whole 16 bytes a plane; nothing for wide ones."""
    items = ring.vectors * items_of(dtype, sum_dtype(dtype))
    size = dtypes.dtype(dtype).itemsize
    taken = exchange_bytes(dtype, items)
    if size > 2:
        assert taken == 0
        return
    words = 32 * items * size // 4
    assert taken % 16 == 0
    assert 8 * words <= taken <= 8 * words * 9 / 8
