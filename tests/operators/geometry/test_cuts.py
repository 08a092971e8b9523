"""Cuts cover the work, and tiles fill whole turns; the numbers that C++ works out again are the same there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpubench.dtypes import DTYPES
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.geometry.cuts import COLUMN_SHAPE, cut_columns, even_tile
from gpubench.operators.geometry.vectors import accumulator_bytes, exchange_bytes, is_narrow, items_of, published_bytes
from gpubench.operators.results import sum_dtype
from tests.host.assertions import refused


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.integers(1, 300), st.integers(1, 500))
def test_even_tiles_take_no_more_turns_than_full_ones(length: int, most: int, workers: int, lines: int) -> None:
    """No tile is longer than allowed, and cutting evenly costs no turn."""
    tile = even_tile(length, most, workers, lines)
    assert 1 <= tile <= most
    full_turns = -(-lines * -(-length // most) // workers)
    assert -(-lines * -(-length // tile) // workers) <= full_turns


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 200), st.integers(1, 200))
def test_strips_and_tiles_cover_the_columns(length: int, inner: int, width: int, rows: int) -> None:
    """Every column lies in a strip and every row in a tile, and none is empty; the argument says the same."""
    columns = Columns(2, length, inner, length * inner, inner)
    one = cut_columns(columns, width, rows)
    assert (one.strips - 1) * width < inner <= one.strips * width
    assert (one.tiles - 1) * rows < length <= one.tiles * rows
    fields = COLUMN_SHAPE.read(one.argument(columns).data)
    assert (fields["strips"], fields["tiles"], fields["share"], fields["inner"]) == (one.strips, one.tiles, 1, inner)


def test_numbers_that_both_sides_work_out_are_equal() -> None:
    """Items of a vector, narrow dtypes, bytes of published words and of a warp's exchange: asserted in C++."""
    lines = []
    for name, row in DTYPES.items():
        out = DTYPES[sum_dtype(name)]
        accumulator = DTYPES[out.accumulator].cpp
        lines += [
            f"static_assert(vector_items<{row.cpp}, {out.cpp}> == {items_of(name, out.name)});",
            f"static_assert(is_narrow<{row.cpp}, {accumulator}> == {str(is_narrow(name)).lower()});",
            f"static_assert(sizeof({accumulator}) == {accumulator_bytes(out.name)});",
            f"static_assert(Published<{accumulator}>::bytes == {published_bytes(out.name)});",
        ]
        if is_narrow(name):
            lines += [
                f"static_assert(8 * PackedPart<{row.cpp}, {items}>::entries == {exchange_bytes(name, items)});"
                for items in (4, 8, 16, 32)
                if items * row.itemsize % 4 == 0
            ]
    sources = ("gpubench/movement/narrow.cuh", "gpubench/grid/published.cuh", "gpubench/items.cuh")
    text = "using namespace gpubench;\n" + "\n".join(lines)
    assert refused(sources, text) == ""
    wrong = text.replace(f"::bytes == {published_bytes('int64')}", "::bytes == 9", 1)
    assert "static assertion failed" in refused(sources, wrong)
