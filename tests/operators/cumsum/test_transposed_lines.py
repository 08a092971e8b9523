"""`transposed_lines`: its rule, and its kernel on the simulator, every access examined."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.dtypes import NAMES
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import transposed_tuning
from gpubench.operators.cumsum.transposed_lines import lines_of, units_of_turn
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]
FIVE = {"permute": [4, 1, 3, 0, 2]}  # x along the lines, the neighbours of y over two dims
MIRROR = {"permute": [2, 4, 0, 1, 3]}  # y along the lines, the neighbours of x over three


def problem_of(shape: list[int], dim: int, dtype: str = "float32", **layout: Any) -> Any:
    """Return the problem of such a case."""
    return CUMSUM.problem(make_case("cumsum", dtype, shape=shape, dim=dim, layout=layout))


@pytest.mark.parametrize(("length", "dtype"), some([2, 17, 64], NAMES))
def test_lines_of_any_length(length: int, dtype: str) -> None:
    """Five dims in another order, lines of no whole unit and of several: each its own sum, NaN and infinity, too."""
    for shape, dim, layout in (([2, 3, length, 2, 12], 2, FIVE), ([4, 3, 3, 4, length], 4, MIRROR)):
        special = "with_nonfinite"
        outputs("transposed_lines", dtype, runs=1, shape=shape, dim=dim, layout=layout, distribution=special)


@pytest.mark.parametrize(("dtype", "offset"), some(["float32", "bfloat16", "int8", "complex64"], [0, 1, 2, 3], each=2))
def test_lines_begin_anywhere(dtype: str, offset: int) -> None:
    """A base off the grid of units, and lines of 64 and 63 elements from it: nothing beside them is touched."""
    for length in (63, 64):
        layout = {"permute": [1, 0], "offset": offset}
        outputs("transposed_lines", dtype, runs=1, shape=[length, 70], dim=0, layout=layout)
        outputs("transposed_lines", dtype, runs=1, shape=[70, length], dim=1, layout=layout)


@pytest.mark.parametrize(
    ("length", "dtype", "schedule"),
    some([299, 1024], ["float32", "float16", "int16", "float64", "complex128"], ["reverse", "random:3"], each=2),
)
def test_long_lines_take_turns(length: int, dtype: str, schedule: str) -> None:
    """Lines of several turns: a turn is brought while another is added up, in any order of threads."""
    layout = {"permute": [1, 0], "offset": length % 2}
    outputs("transposed_lines", dtype, schedule, 1, shape=[length, 36], dim=0, layout=layout)
    outputs("transposed_lines", dtype, schedule, 1, shape=[36, length], dim=1, layout=layout)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("lines", [31, 32, 33, 63, 64, 65, 66, 129])
def test_the_last_warp_may_be_cut(lines: int, dtype: str) -> None:
    """Lines that are no whole number of warps, odd numbers of 16-bit ones, too."""
    outputs("transposed_lines", dtype, runs=1, shape=[20, lines], dim=0, layout={"permute": [1, 0]})
    outputs("transposed_lines", dtype, runs=1, shape=[lines, 20], dim=1, layout={"permute": [1, 0]})


@pytest.mark.parametrize("dim", [1, 3])
def test_broadcast_lines(dim: int) -> None:
    """A dim of x that is broadcast: the same line of x for several of y."""
    layout = {"permute": [2, 0, 3, 1] if dim == 1 else [1, 3, 0, 2], "expand": [0]}
    for dtype in ("float32", "float16"):
        outputs("transposed_lines", dtype, runs=1, shape=[3, 18, 5, 34], dim=dim, layout=layout)


@pytest.mark.parametrize(
    ("shape", "dim", "layout", "dtype", "aligned", "paired"),
    [
        ([64, 70], 0, {"permute": [1, 0]}, "float32", True, False),
        ([62, 70], 0, {"permute": [1, 0]}, "float32", False, False),
        ([64, 70], 0, {"permute": [1, 0], "offset": 2}, "float32", False, False),
        ([64, 70], 0, {"permute": [1, 0]}, "float16", True, True),
        ([64, 71], 0, {"permute": [1, 0]}, "float16", True, False),
        ([70, 64], 1, {"permute": [1, 0], "offset": 2}, "float16", True, True),
        ([70, 64], 1, {"permute": [1, 0], "offset": 1}, "float16", True, False),
        ([71, 62], 1, {"permute": [1, 0]}, "float16", False, False),
    ],
)
def test_alignment_is_known_before_the_launch(
    shape: list[int], dim: int, layout: dict[str, Any], dtype: str, aligned: bool, paired: bool
) -> None:
    """Lines on the grid of units need no shift, and two lines of 16-bit floats share words: each has its own code."""
    lines = lines_of(problem_of(shape, dim, dtype, **layout))
    assert lines is not None
    assert (lines.aligned, lines.paired) == (aligned, paired)


@pytest.mark.parametrize(("units", "turn"), [(-1, 31), (0, 32), (1, 16)])
def test_a_line_is_brought_at_once_up_to_a_limit(units: int, turn: int) -> None:
    """Longer lines take turns of half as many units, of which two are under way."""
    problem = problem_of([4 * (transposed_tuning.LINE_UNITS + units), 64], 0, permute=[1, 0])
    lines = lines_of(problem)
    assert lines is not None
    assert units_of_turn(problem, lines) == turn
    variant = next(variant for variant in CUMSUM.variants if variant.name == "transposed_lines")
    (launch,) = planned(variant, problem, DEVICE).launches
    assert launch.shared_bytes == transposed_tuning.LINE_WARPS * 32 * 16 * (turn | 1) * (2 if units > 0 else 1)


def test_no_lane_idles_at_an_odd_width() -> None:
    """48 lines side by side, and 32 times as many over the next dim: they count as one."""
    problem = problem_of([16, 8, 64, 32, 48], 2, permute=[4, 1, 3, 0, 2])
    lines = lines_of(problem)
    assert lines is not None
    assert lines.y == ((128, 1536), (64 * 1536, 1))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "transposed_lines")
    (launch,) = planned(variant, problem, DEVICE).launches
    assert launch.grid[0] * launch.block[0] == 16 * 8 * 32 * 48


def test_what_need_not_be_transposed_is_refused() -> None:
    """Operands with one fastest dim, and lines that the kernel's 32-bit numbers do not hold."""
    variant = next(variant for variant in CUMSUM.variants if variant.name == "transposed_lines")
    assert refusal(variant, problem_of([64, 64], 0), DEVICE) is not None
    assert refusal(variant, problem_of([2**28 + 1, 2], 0, permute=[1, 0]), DEVICE) is not None
    assert refusal(variant, problem_of([2, 2**31], 0, "int8", permute=[1, 0]), DEVICE) is not None
    assert refusal(variant, problem_of([2, 2**31 - 1], 0, "int8", permute=[1, 0]), DEVICE) is None
