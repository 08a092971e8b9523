"""A few columns side by side, taken as rows of them: which kernels take them, when, and their answers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.dtypes import DTYPES
from gpubench.operators import OPERATORS
from gpubench.operators.cumsum import tuning
from gpubench.operators.cumsum.flat_rows import longest
from gpubench.operators.cumsum.geometry import short_rows_of
from gpubench.operators.geometry.vectors import items_of, sides_of
from gpubench.operators.results import sum_dtype
from tests.operators.cases import DEVICE, make_case, planned, refusal
from tests.operators.cumsum.edges import chosen
from tests.operators.cumsum.test_fast_kernels import outputs
from tests.operators.sampling import some

CUMSUM = OPERATORS["cumsum"]
NAMES = ("lanes_rows", "flat_rows", "block_rows")
LONG_NAMES = ("linked_blocks", "carry_forward")
FORMS = [(dtype, side) for dtype in CUMSUM.dtypes for side in sides_of(dtype, sum_dtype(dtype))[1:]]


@pytest.mark.parametrize(("name", "form"), some((*NAMES, *LONG_NAMES), FORMS, each=1))
def test_each_form_keeps_columns_apart(name: str, form: tuple[str, int]) -> None:
    """Every dtype and number of columns, NaN and infinity in their line, x on the grid of y's vectors and off it."""
    dtype, side = form
    distribution = "normal" if DTYPES[dtype].kind == "integer" else "with_nonfinite"
    length = {"lanes_rows": 13, "flat_rows": 13, "carry_forward": 2801}.get(name, 301)
    rows = 2 if name in LONG_NAMES else 7
    for offset in (0, 1):
        layout = {"offset": offset}
        outputs(name, dtype, runs=1, shape=[rows, length, side], dim=1, layout=layout, distribution=distribution)


@pytest.mark.parametrize("schedule", ["reverse", "random:2"])
@given(
    name=st.sampled_from(NAMES),
    form=st.sampled_from(FORMS),
    rows=st.integers(2, 40),
    vectors=st.integers(1, 60),
    odd=st.integers(0, 3),
    offset=st.integers(0, 5),
)
def test_rows_of_columns_begin_anywhere(
    schedule: str, name: str, form: tuple[str, int], rows: int, vectors: int, odd: int, offset: int
) -> None:
    """Rows that end inside a vector, of any length that lanes hold, x anywhere: nothing beside them is touched."""
    dtype, side = form
    length = max(vectors * items_of(dtype, sum_dtype(dtype)) // side - odd, 2)
    shape = [min(rows, 1 + 4000 // (length * side)) + 1, length, side]
    outputs(name, dtype, schedule, 1, shape=shape, dim=1, layout={"offset": offset})


@pytest.mark.parametrize("schedule", ["reverse", "random:7"])
@given(
    name=st.sampled_from(LONG_NAMES),
    form=st.sampled_from(FORMS),
    length=st.integers(40, 3000),
    offset=st.integers(0, 5),
)
def test_long_rows_of_columns_are_shared_by_blocks(
    schedule: str, name: str, form: tuple[str, int], length: int, offset: int
) -> None:
    """Two rows over several tiles, x anywhere: each column's sum goes on from tile to tile, nothing else is touched."""
    dtype, side = form
    outputs(name, dtype, schedule, 2, shape=[2, length, side], dim=1, layout={"offset": offset})


@pytest.mark.parametrize("name", ["lanes_rows", "block_rows"])
@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ([5, 3, 21, 2], {"permute": [1, 0, 2, 3]}),  # rows in groups
        ([5, 21, 4], {"expand": [0]}),
        ([5, 21, 2], {"step": 3}),
        ([5, 21, 2, 2], {}),  # two dims of columns
        ([1, 21, 4], {"offset": 2}),
    ],
)
def test_rows_of_columns_with_pitches(name: str, shape: list[int], layout: dict[str, Any]) -> None:
    """Rows of x may lie apart in any way that rows may, as long as what a row holds walks as one."""
    dim = shape.index(21)
    for dtype in ("float32" if math.prod(shape[dim + 1 :]) == 2 else "float16", "bfloat16"):
        outputs(name, dtype, runs=1, shape=shape, dim=dim, layout=layout)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("shape", "dtype", "layout"),
    [
        ((90, 7, 3), "float32", {}),  # no vector holds whole sides
        ((90, 7, 4), "float32", {}),  # a walk loads as much at once
        ((90, 7, 8), "float16", {}),
        ((90, 7, 4), "int8", {}),  # vectors of two sums of 64 bits
        ((90, 7, 2), "complex128", {}),
        ((90, 7, 2), "float32", {"expand": (1,)}),
        ((90, 7, 2), "float32", {"permute": (0, 2, 1)}),
    ],
)
def test_other_columns_are_refused(name: str, shape: tuple[int, ...], dtype: str, layout: dict[str, Any]) -> None:
    """What a vector cannot hold, and what does not lie as one row in x, is for others; the reason says so."""
    problem = CUMSUM.problem(make_case("cumsum", dtype, shape=list(shape), dim=1, layout=layout))
    variant = next(variant for variant in CUMSUM.variants if variant.name == name)
    assert "columns" in (refusal(variant, problem) or "")


def test_a_path_of_additions_is_as_short_as_the_items() -> None:
    """Four columns of a vector of eight leave two items: the bound counts these."""
    variant = next(variant for variant in CUMSUM.variants if variant.name == "block_rows")
    additions = [
        planned(variant, CUMSUM.problem(make_case("cumsum", "float16", shape=[200, n, side], dim=1))).accuracy.additions
        for n, side in ((2048, 1), (512, 4))
    ]
    assert additions[0] - additions[1] == 8 - 2


def test_a_row_touches_no_more_vectors_than_its_columns_let_it() -> None:
    """Rows begin on as many elements as there are columns, so five pairs lie in two vectors of eight, not three."""
    problem = CUMSUM.problem(make_case("cumsum", "float16", shape=[200, 5, 2], dim=1))
    rows = short_rows_of(problem)
    assert rows is not None
    assert rows.vectors(8) == 2


@pytest.mark.parametrize(
    ("shape", "dtype", "name"),
    [
        ((1 << 17, 7, 2), "float16", "flat_rows"),
        ((1 << 17, 8, 2), "float16", "lanes_rows"),
        ((1 << 17, 8, 2), "int8", "flat_rows"),  # lanes would hold two sums each
        ((tuning.FLAT_LEAST // 16 - 1, 8, 2), "int8", "lanes_rows"),
        ((1 << 17, 7, 2), "complex64", "flat_rows"),
        ((1 << 17, 7, 2), "complex128", "walked_lines"),  # a vector is no pair
        ((100, 7, 2), "float16", "walked_lines"),
        ((1 << 17, 7, 3), "float16", "walked_lines"),
        ((1 << 17, 7, 4), "float16", "flat_rows"),
        ((1 << 17, 8, 4), "float16", "lanes_rows"),
        ((1 << 17, 7, 4), "float32", "walked_lines"),  # a walk loads whole vectors
        ((14336, 512, 4), "float16", "block_rows"),
        ((4096, 96, 2, 2), "bfloat16", "lanes_rows"),
        ((8192, 96, 2, 2), "bfloat16", "flat_rows"),
        ((140, 8192, 2), "float64", "block_rows"),
        ((140, 8193, 2), "float64", "carry_forward"),  # a block holds no more
        ((20, 20000, 2), "float32", "linked_blocks"),
        ((1 << 24, 1, 2), "int8", "single_elements"),
        ((1, 1 << 24, 2), "int8", "carry_forward"),
        ((1, 1 << 24, 4), "bfloat16", "carry_forward"),
        ((1, 1 << 24, 2), "complex128", "column_forward"),
    ],
)
def test_a_few_columns_are_rows_of_them(shape: tuple[int, ...], dtype: str, name: str) -> None:
    """Many elements of few columns are read by whole vectors; a walk would read a few bytes a lane, far apart."""
    assert chosen(shape, 1, dtype) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "lanes_rows"), (1, "lanes_rows")])
def test_few_elements_are_walked(near: int, name: str) -> None:
    """Of little the launch is what counts."""
    assert chosen((tuning.SIDES_LEAST // 8 + near, 4, 2), 1) == name


@pytest.mark.parametrize(("near", "name"), [(-1, "walked_lines"), (0, "lanes_rows"), (1, "lanes_rows")])
def test_few_elements_of_longer_columns_are_not(near: int, name: str) -> None:
    """A thread would walk them for long, a few bytes at a time."""
    length = tuning.SIDES_LONG // 2
    assert chosen((tuning.SIDES_LEAST_LONG // tuning.SIDES_LONG + near, length, 2), 1) == name
    assert chosen((2 * tuning.SIDES_LEAST_LONG // length, length - 1, 2), 1) == "walked_lines"


def test_rows_in_groups_of_columns_are_short_rows_too() -> None:
    """A permuted x whose rows of columns lie whole goes to lanes or blocks, where it was walked or copied first."""
    assert chosen((64, 8, 512, 4), 2, "float16", permute=(1, 0, 2, 3)) == "block_rows"
    assert chosen((640, 80, 16, 2), 2, "float32", permute=(1, 0, 2, 3)) == "lanes_rows"


@pytest.mark.parametrize("near", [-1, 0, 1])
def test_flat_rows_take_half_a_tile_of_columns(near: int) -> None:
    """As long as rows of single sums."""
    problem = CUMSUM.problem(make_case("cumsum", "float16", shape=[900, longest(8) // 4 + near, 4], dim=1))
    variant = next(variant for variant in CUMSUM.variants if variant.name == "flat_rows")
    assert (refusal(variant, problem, DEVICE) is None) == (near <= 0)


@pytest.mark.parametrize(("near", "name"), [(-1, "block_rows"), (0, "copied_first")])
def test_little_across_x_that_lanes_cannot_hold_is_a_block_s_rows(near: int, name: str) -> None:
    """Its sectors are read again from the caches, where a copy first would be a launch more."""
    assert chosen((128, tuning.SIDES_LITTLE // 256 + near, 2), 1, "float64", permute=(1, 2, 0)) == name
