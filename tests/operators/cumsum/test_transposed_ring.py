"""`transposed_ring`: its rule, its places in shared memory, and its kernel on the simulator, every access examined."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from gpubench.dtypes import NAMES, dtype
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import transposed_tuning, tuning
from gpubench.operators.cumsum.transposed_ring import Ring, ring_shape, widths
from gpubench.operators.results import sum_dtype
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]
VARIANT = next(variant for variant in CUMSUM.variants if variant.name == "transposed_ring")
BANKS = 32


def problem_of(shape: list[int], dim: int, name: str = "float32", **layout: Any) -> Any:
    """Return the problem of such a case."""
    return CUMSUM.problem(make_case("cumsum", name, shape=shape, dim=dim, layout=layout))


def passes(places: list[int], size: int) -> int:
    """Return in how many passes lanes move `size` bytes each at these places, in bytes."""
    together = min(128 // size, 32)  # lanes that are served at once
    worst = 0
    for first in range(0, 32, together):
        banks: dict[int, set[int]] = {}
        for place in places[first : first + together]:
            for word in {byte // 4 for byte in range(place, place + size)}:
                banks.setdefault(word % BANKS, set()).add(word)
        worst = max(worst, *(len(bank) for bank in banks.values()))
    return worst


def piece(ring: Ring, size: int, part: int, lane: int, row: int) -> int:
    """Return where a piece of sums stands, in bytes, behind the part of warp 0 (`RingStrip::piece` in C++)."""
    bytes_of_piece, parts = ring.beside * size, ring.lines // ring.beside
    part_bytes = ring.slot_bytes // ring.steps // parts
    apart = 16 // bytes_of_piece * max(8 // parts, 1)
    return part * part_bytes + (row * 32 + (lane ^ (part * apart % 32))) * bytes_of_piece


def rings(x_along_lines: bool) -> list[tuple[str, Ring]]:
    """Return the instances of each dtype, of each width of a strip."""
    size = transposed_tuning.RING_BYTES[0]
    return [
        (name, ring_shape(name, sum_dtype(name), x_along_lines, lines, size))
        for name in NAMES
        for lines in widths(name, sum_dtype(name), x_along_lines)
    ]


@pytest.mark.parametrize(("name", "ring"), rings(x_along_lines=True))
def test_no_bank_is_met_twice_as_sums_are_transposed(name: str, ring: Ring) -> None:
    """Neither as a warp puts its sums down nor as the block takes them row by row."""
    size = dtype(sum_dtype(name)).itemsize
    parts = ring.lines // ring.beside
    for row in range(ring.items):
        for part in range(parts):
            assert passes([piece(ring, size, part, lane, row) for lane in range(32)], ring.beside * size) == 1
        for warp in range(parts):
            threads = range(32 * warp, 32 * warp + 32)
            places = [piece(ring, size, thread % parts, thread // parts, row) for thread in threads]
            assert passes(places, ring.beside * size) == 1


def place(name: str, ring: Ring, row: int, unit: int) -> int:
    """Return where a unit of a row of x stands, in units (`RingStrip::place` in C++)."""
    units = ring.lines * dtype(name).itemsize // 16
    alike = ring.items if ring.items * units > 8 else 8 // units
    return (row * units + unit) ^ (row // alike % 8)


@pytest.mark.parametrize(("name", "ring"), rings(x_along_lines=False))
def test_units_of_x_meet_as_few_banks_twice_as_can_be(name: str, ring: Ring) -> None:
    """Whole units never; parts of units as often as eight places in a row of banks make it."""
    size, units = dtype(name).itemsize, ring.lines * dtype(name).itemsize // 16
    rows = 32 * ring.items * ring.steps
    assert sorted(place(name, ring, row, unit) for row in range(rows) for unit in range(units)) == list(
        range(rows * units)
    )
    for first in range(0, rows * units, 32):
        stored = [16 * place(name, ring, at // units, at % units) for at in range(first, first + 32)]
        assert passes(stored, 16) == 1
    for first in range(0, rows, 32 * ring.items):
        for j in range(ring.items):
            for unit in range(units):
                loaded = [16 * place(name, ring, first + lane * ring.items + j, unit) for lane in range(32)]
                assert passes(loaded, ring.beside * size) == 16 // (ring.beside * size)


@pytest.mark.parametrize(("name", "device"), some(NAMES, [(64, 1), (227, 1), (227, 132)]))
def test_lines_of_several_tiles(name: str, device: tuple[int, int]) -> None:
    """More tiles than slots, the last one cut, and a cut strip; NaN and infinity stay in their line."""
    figures = {"max_shared_bytes": device[0] << 10, "sm_count": device[1]}
    layout = {"permute": [1, 0]}
    special = "with_nonfinite"
    outputs(
        "transposed_ring", name, "random:6", 1, figures, shape=[1616, 41], dim=0, layout=layout, distribution=special
    )
    outputs(
        "transposed_ring", name, "random:6", 1, figures, shape=[48, 1613], dim=1, layout=layout, distribution=special
    )


@pytest.mark.parametrize(
    ("name", "schedule"),
    some(["float32", "bfloat16", "int8", "int32", "float64", "complex128"], ["reverse", "random:3"]),
)
def test_a_slot_is_filled_again_only_when_it_is_free(name: str, schedule: str) -> None:
    """Many turns of a small ring, in any order of threads."""
    figures = {"max_shared_bytes": 64 << 10}
    layout = {"permute": [1, 0]}
    outputs("transposed_ring", name, schedule, 1, figures, shape=[4096, 32], dim=0, layout=layout)
    outputs("transposed_ring", name, schedule, 1, figures, shape=[32, 4096], dim=1, layout=layout)


@pytest.mark.parametrize("name", ["float32", "float16", "int16", "complex64"])
def test_further_dims(name: str) -> None:
    """Batches in another order, and lines of less than a tile."""
    outputs("transposed_ring", name, runs=1, shape=[3, 48, 5, 40], dim=1, layout={"permute": [2, 0, 3, 1]})
    outputs("transposed_ring", name, runs=1, shape=[3, 5, 40, 72], dim=3, layout={"permute": [1, 3, 0, 2]})
    outputs("transposed_ring", name, runs=1, shape=[64, 40], dim=0, layout={"permute": [1, 0], "expand": [1]})


@pytest.mark.parametrize(
    ("shape", "dim", "layout", "takes"),
    [
        ([64, 71], 0, {}, True),  # lines of y at any place
        ([62, 72], 0, {}, False),
        ([64, 72], 0, {"offset": 4}, True),
        ([64, 72], 0, {"offset": 2}, False),
        ([72, 61], 1, {}, True),
        ([70, 64], 1, {}, False),
    ],
)
def test_x_comes_by_whole_units(shape: list[int], dim: int, layout: dict[str, Any], takes: bool) -> None:
    """The dim along which x lies is a multiple of 16 bytes, and so is its beginning; y may be at any place."""
    problem = problem_of(shape, dim, permute=[1, 0], **layout)
    assert (refusal(VARIANT, problem, DEVICE) is None) == takes


@pytest.mark.parametrize(("strips", "lines"), [(-1, (16, 8)), (0, (32, 16)), (1, (32, 16))])
def test_where_strips_are_few_they_are_narrow(strips: int, lines: tuple[int, int]) -> None:
    """Strips of 32 lines for FULL_SHARE of the SMs, else of 16, else of a sector of float32."""
    count = math.ceil(tuning.FULL_SHARE * DEVICE.sm_count) + strips
    for width, wanted in zip((32, 16), lines, strict=True):
        plan = planned(VARIANT, problem_of([1024, width * count], 0, permute=[1, 0]), DEVICE)
        assert plan.notes["lines"] == wanted
        (launch,) = plan.launches
        assert launch.grid[0] == count * width // wanted


@pytest.mark.parametrize(("kib", "stages"), [(191, 6), (192, 12), (193, 12)])
def test_the_ring_is_as_large_as_fits(kib: int, stages: int) -> None:
    """Up to 192 KB; what is left of an SM's shared memory stays unused."""
    device = dataclasses.replace(DEVICE, max_shared_bytes=kib << 10)
    (launch,) = planned(VARIANT, problem_of([4096, 4096], 0, permute=[1, 0]), device).launches
    assert launch.shared_bytes == stages * transposed_tuning.RING_SLOT


def test_what_need_not_be_transposed_is_refused() -> None:
    """Operands with one fastest dim."""
    assert refusal(VARIANT, problem_of([64, 64], 0), DEVICE) is not None
