from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gpubench.operators.structs import int32
from tests.host.simulate import SCHEDULES, Array, host, launch

HALF, BFLOAT16 = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


def _lanes(x: Array, source: Array) -> Array:
    """Return x taken from the lane `source` of each thread's own warp."""
    thread = np.arange(x.size)
    taken: Array = x[thread // 32 * 32 + source]
    return taken


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("cpp", "dtype"), [("int", np.int32), ("double", np.float64), ("unsigned char", np.uint8)])
def test_collectives_mean_what_cuda_says(cpp: str, dtype: type, schedule: str) -> None:
    """Shuffles, votes, matches and counting barriers agree with their definition, in a block of three dimensions."""
    threads = 64
    x: Array = np.random.default_rng(3).integers(0, 200, threads).astype(dtype)
    arrays: dict[str, Array] = {
        "x": x,
        "values": np.zeros((5, threads), dtype),
        "words": np.zeros((8, threads), np.uint32),
    }
    device = host(f"build=checked,schedule={schedule}")
    found = launch(device, "platform.cu", f"collectives<{cpp}>", 1, (8, 4, 2), arrays)
    lane = np.arange(threads) % 32
    values = found["values"]
    assert np.array_equal(values[0], _lanes(x, np.full(threads, 5)))
    assert np.array_equal(values[1], _lanes(x, lane // 8 * 8 + (lane + 3) % 8))
    assert np.array_equal(values[2], _lanes(x, np.where(lane % 16 >= 3, lane - 3, lane)))
    assert np.array_equal(values[3], _lanes(x, np.where(lane + 5 < 32, lane + 5, lane)))
    assert np.array_equal(values[4], _lanes(x, lane ^ 9))
    thread = np.arange(threads)
    odd = (thread * 7 % 5) % 2 == 1
    ballots = np.array([sum(int(odd[w * 32 + i]) << i for i in range(32)) for w in range(2)], np.uint32)
    words = found["words"]
    assert np.array_equal(words[0], ballots[thread // 32])
    assert np.array_equal(words[1], (thread >= 32).astype(np.uint32))
    assert np.array_equal(words[2], (thread < 32).astype(np.uint32))
    same = [sum(1 << i for i in range(32) if (t // 32 * 32 + i) % 3 == t % 3) for t in range(threads)]
    assert np.array_equal(words[3], np.array(same, np.uint32))
    assert np.array_equal(words[4], np.full(threads, odd.sum(), np.uint32))
    assert words[5].all()
    assert not words[6].any()
    halves = np.where(lane < 16, ballots[thread // 32] & 0xFFFF, ballots[thread // 32] & 0xFFFF0000)
    assert np.array_equal(words[7], halves.astype(np.uint32))


@pytest.mark.parametrize(
    ("cpp", "dtype"),
    [
        ("unsigned char", np.dtype(np.uint8)),
        ("signed char", np.dtype(np.int8)),
        ("short", np.dtype(np.int16)),
        ("int", np.dtype(np.int32)),
        ("long long", np.dtype(np.int64)),
        ("gpubench::half", HALF),
        ("gpubench::bfloat16", BFLOAT16),
        ("float", np.dtype(np.float32)),
        ("double", np.dtype(np.float64)),
        ("gpubench::complex<float>", np.dtype(np.complex64)),
        ("gpubench::complex<double>", np.dtype(np.complex128)),
    ],
)
def test_no_atomic_addition_is_lost(cpp: str, dtype: np.dtype[Any]) -> None:
    """Sums made by many blocks on two OS threads are complete, in every dtype, neighbours included."""
    n, places = 4096, 7
    whole = np.random.default_rng(5).integers(0, 2, n)
    x = whole.astype(dtype)
    arrays: dict[str, Array] = {"x": x, "sums": np.zeros(places, dtype)}
    device = host("build=fast,workers=2")
    found = launch(device, "platform.cu", f"add_up<{cpp}>", 16, 128, arrays, (int32(n), int32(places)))["sums"]
    right = np.zeros(places, np.int64)
    np.add.at(right, np.arange(n) % places, whole)
    if dtype == BFLOAT16:  # 256 and more steps of 1 are beyond its 8 bits
        right = np.minimum(right, 256)
    assert np.array_equal(found, right.astype(dtype))


def test_read_modify_write_operations_agree_with_numpy() -> None:
    """Largest, smallest, fetch_add and a loop of compare-and-swap give what they must."""
    x = np.random.default_rng(6).integers(5, 1 << 32, 1000, dtype=np.uint32)
    arrays: dict[str, Array] = {"x": x, "results": np.array([0, 2**32 - 1, 0, 0], np.uint32)}
    found = launch(host("build=checked,workers=2"), "platform.cu", "updates", 4, 96, arrays, (int32(x.size),))
    assert found["results"].tolist() == [x.max(), x.min(), x.size, x.size]


@pytest.mark.parametrize("build", ["fast", "checked"])
def test_static_and_dynamic_shared_memory_do_not_overlap(build: str) -> None:
    """A kernel with both kinds, and vector access to them, moves every element to its place."""
    x = np.arange(3 * 64 * 4, dtype=np.float32)
    arrays: dict[str, Array] = {"x": x, "y": np.zeros_like(x)}
    found = launch(host(f"build={build}"), "platform.cu", "reverse", 3, 64, arrays, shared_bytes=64 * 16)
    assert np.array_equal(found["y"], x.reshape(3, -1)[:, ::-1].ravel())


def test_every_16_bit_pattern_widens_as_ml_dtypes_says() -> None:
    """All 65,536 bit patterns of half and bfloat16 become the float that numpy and ml-dtypes give, NaN as NaN."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    arrays: dict[str, Array] = {
        "bits": bits,
        "half": np.zeros(1 << 16, np.float32),
        "bfloat16": np.zeros(1 << 16, np.float32),
    }
    found = launch(host(), "platform.cu", "widen", 8, 256, arrays, (int32(bits.size),))
    for name, dtype in (("half", HALF), ("bfloat16", BFLOAT16)):
        right = bits.view(dtype).astype(np.float32)
        assert np.array_equal(found[name], right, equal_nan=True)
        assert np.array_equal(np.signbit(found[name]), np.signbit(right))


def _floats() -> Array:
    """Floats that are hard to round: every pattern widened, neighbours and midpoints, specials, and a random lot."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore", over="ignore"):
        grids = [bits.view(dtype).astype(np.float32) for dtype in (HALF, BFLOAT16)]
        middles = [(grid[:-1].astype(np.float64) + grid[1:].astype(np.float64)) / 2 for grid in grids]
        exact = np.concatenate([*grids, *(middle.astype(np.float32) for middle in middles)])
    near = np.concatenate([exact, np.nextafter(exact, np.float32(np.inf)), np.nextafter(exact, np.float32(-np.inf))])
    random = np.random.default_rng(11).integers(0, 1 << 32, 1 << 18, dtype=np.uint32).view(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, 3.3895314e38], np.float32)
    return np.concatenate([near, random, special])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast", "ignore:invalid value encountered")
@pytest.mark.parametrize(("cpp", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_narrowing_rounds_once_to_nearest_even(cpp: str, dtype: type) -> None:
    """Floats round as numpy and ml-dtypes round them; doubles a hair off a midpoint are not rounded twice."""
    x: Array = _floats().astype(dtype)
    if dtype is np.float64:
        x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    arrays: dict[str, Array] = {"x": x, "half": np.zeros(x.size, np.uint16), "bfloat16": np.zeros(x.size, np.uint16)}
    found = launch(host(), "platform.cu", f"narrow<{cpp}>", 64, 256, arrays, (int32(x.size),))
    nan = np.isnan(x)
    assert np.array_equal(found["half"][~nan], x.astype(HALF).view(np.uint16)[~nan])
    assert np.isnan(found["half"].view(HALF)[nan]).all()
    assert np.isnan(found["bfloat16"].view(BFLOAT16)[nan].astype(np.float32)).all()
    right = _to_bfloat16(x)
    assert np.array_equal(found["bfloat16"][~nan], right[~nan])


def _to_bfloat16(x: Array) -> Array:
    """Round to bfloat16 bits; doubles by comparing with both neighbours, as ml-dtypes would round them twice."""
    near: Array = x.astype(np.float32).astype(BFLOAT16)
    if x.dtype == np.float32:
        return near.view(np.uint16)
    magnitude = np.abs(x)
    bits = np.abs(near).view(np.uint16)
    best, best_distance = bits.copy(), np.full(x.size, np.inf)
    for step in (-1, 0, 1):
        other = (bits.astype(np.int32) + step).clip(0, 0x7F80).astype(np.uint16)
        value = other.view(BFLOAT16).astype(np.float64)
        value = np.where(np.isinf(value), 2.0**128, value)  # the place to which overflow rounds
        distance = np.abs(value - np.where(np.isinf(magnitude), 2.0**129, magnitude))
        better = (distance < best_distance) | ((distance == best_distance) & (other % 2 == 0))
        best, best_distance = np.where(better, other, best), np.where(better, distance, best_distance)
    return (best | np.where(np.signbit(x), 0x8000, 0).astype(np.uint16)).astype(np.uint16)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:divide by zero", "ignore:invalid value encountered")
@pytest.mark.parametrize(("cpp", "dtype"), [("gpubench::half", HALF), ("gpubench::bfloat16", BFLOAT16)])
def test_16_bit_arithmetic_rounds_each_result_once(cpp: str, dtype: np.dtype[Any]) -> None:
    """Sum, difference, product and quotient of random patterns equal those of ml-dtypes and numpy, through float."""
    generator = np.random.default_rng(13)
    a, b = (generator.integers(0, 1 << 16, 50000, dtype=np.uint16).view(dtype) for _ in range(2))
    arrays: dict[str, Array] = {"a": a, "b": b, "results": np.zeros((4, a.size), dtype)}
    found = launch(host(), "platform.cu", f"arithmetic<{cpp}>", 16, 256, arrays, (int32(a.size),))["results"]
    wide = (a.astype(np.float32), b.astype(np.float32))
    for row, operation in zip(found, (np.add, np.subtract, np.multiply, np.divide), strict=True):
        right = operation(*wide).astype(dtype)
        assert np.array_equal(row.astype(np.float32), right.astype(np.float32), equal_nan=True)
