"""transposed_tiles with x of 1 and 2 bytes across the lines: squares in registers, runs in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpubench.operators.cumsum import transposed_tuning
from gpubench.operators.cumsum.transposed import shared_bytes
from gpubench.operators.cumsum.transposed_tuning import TransposedShape
from gpubench.operators.results import sum_dtype
from tests.operators.cumsum.test_fast_kernels import outputs

BANKS = 32
SHAPES = [(size, shape) for size, shapes in transposed_tuning.WORDS_SHAPES.items() for shape in shapes]


def place(line: int, run: int, pack: int, runs: int) -> int:
    """Return where a run of a line stands in its tile, in words (`TransposedRuns::place` in C++)."""
    return (line * runs + (run ^ (line // pack % 8))) * 4


def passes(words: Callable[[int], int], count: int) -> int:
    """Return in how many passes a warp moves `count` words a lane, the first at words(lane); count is the least."""
    together = 32 // count  # lanes that are served at once
    worst = 0
    for first in range(0, 32, together):
        banks: dict[int, set[int]] = {}
        for lane in range(first, first + together):
            for word in range(words(lane), words(lane) + count):
                banks.setdefault(word % BANKS, set()).add(word)
        worst = max(worst, *(len(bank) for bank in banks.values()))
    return worst


@pytest.mark.parametrize(("size", "shape"), SHAPES)
def test_no_bank_is_met_twice(size: int, shape: TransposedShape) -> None:
    """Neither as transposed words are stored nor as runs are loaded, in any warp and for any line."""
    pack, items, runs = 4 // size, 16 // size, 32 * shape.vectors
    groups = shape.lines // pack
    held = shape.lines * runs * 4 // (32 * shape.warps)
    rows = min(held, items)
    for warp in range(shape.warps):

        def stored(lane: int, warp: int = warp) -> int:
            thread = 32 * warp + lane
            row = thread // groups * rows
            return place(thread % groups * pack, row // items, pack, runs) + row % items // pack

        assert passes(stored, rows // pack) == 1
    for line in range(shape.lines):
        assert passes(lambda lane, line=line: place(line, lane, pack, runs), 4) == 1  # type: ignore[misc]


@pytest.mark.parametrize(("size", "shape"), SHAPES)
def test_every_shape_fits_any_gpu_or_has_one_that_does(size: int, shape: TransposedShape) -> None:
    """The last shape of a size takes at most the 64 KB of the smallest block; the first, those of a large one."""
    dtype = "int8" if size == 1 else "int16"
    smallest = shape == transposed_tuning.WORDS_SHAPES[size][-1]
    assert shared_bytes(dtype, sum_dtype(dtype), x_along_lines=False, shape=shape) <= (64 if smallest else 227) << 10


@pytest.mark.parametrize("layout", [{"permute": [1, 0]}, {"permute": [1, 0], "offset": 1}])
@pytest.mark.parametrize("across", [64, 65, 67])
@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8", "int16"])
def test_words_at_any_alignment(dtype: str, across: int, layout: dict[str, Any]) -> None:
    """Whole tiles between others, the first, the last and a cut strip: words as they stand, shifted, or by elements."""
    distribution = "with_nonfinite" if dtype == "float16" else "normal"
    outputs(
        "transposed_tiles", dtype, "random:4", 1, shape=[across, 1701], dim=1, layout=layout, distribution=distribution
    )
