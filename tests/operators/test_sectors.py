"""Sectors of memory that a problem touches, against counting them one by one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.layout import Layout, View, view
from gpubench.model import Case, Operand, Problem
from gpubench.operators import operator
from gpubench.operators.sectors import SECTOR, picked_sectors, sectors, touched_bytes


def counted(one: View, itemsize: int) -> int:
    """Return the sectors by looking at every byte of every element."""
    starts = [one.offset]
    for n, stride in zip(one.shape, one.strides, strict=True):
        starts = [start + i * stride for start in starts for i in range(n)]
    found = {(start * itemsize + byte) // SECTOR for start in starts for byte in (0, itemsize - 1)}
    return len(found)


@st.composite
def views(draw: st.DrawFn) -> View:
    """Draw views of all layouts that a suite can ask for."""
    shape = tuple(draw(st.lists(st.integers(1, 9), max_size=4)))
    order = draw(st.permutations(range(len(shape))))
    expand = draw(st.sets(st.integers(0, len(shape) - 1), max_size=2)) if shape else set()
    layout = Layout(tuple(order), draw(st.integers(1, 40)), tuple(sorted(expand)), draw(st.integers(0, 40)))
    return view(shape, layout)


@settings(max_examples=300, deadline=None)
@given(views(), st.sampled_from([1, 2, 4, 8, 16]))
def test_every_layout_is_counted_exactly(one: View, itemsize: int) -> None:
    """Steps, permutations, broadcasts and offsets: the formula counts what looking at every element counts."""
    assert sectors(one, itemsize) == counted(one, itemsize)


def test_a_view_with_rows_left_out_is_counted_exactly() -> None:
    """A column of a matrix, and rows with a margin: runs far apart that begin anywhere in a sector."""
    for shape, strides in (((7, 3), (37, 1)), ((7,), (1001,)), ((5, 4, 3), (400, 50, 2))):
        one = View(shape, strides, 3, 10_000)
        assert sectors(one, 4) == counted(one, 4)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 200), st.integers(0, 60), st.integers(1, 300))
def test_picked_rows_touch_what_is_expected(run: int, gap: int, places: int) -> None:
    """All rows picked: exactly the sectors counted one by one; one row: those of a row on average."""
    distance = run + gap
    runs = [range(i * distance // SECTOR, (i * distance + run - 1) // SECTOR + 1) for i in range(places)]
    every = len({sector for run in runs for sector in run})
    assert picked_sectors(distance, run, places, places) == every
    one = sum(map(len, runs)) / places
    assert abs(picked_sectors(distance, run, places, 1) - one) <= 1.5


def test_picking_some_rows_is_the_mean_of_many_draws() -> None:
    """Scalars of 4 bytes: eight share a sector, so that a few thousand of them touch nearly a sector each."""
    places, picked = 20_000, 4_000
    draws = [len({place // 8 for place in random.Random(seed).sample(range(places), picked)}) for seed in range(20)]
    assert picked_sectors(4, 4, places, picked) == pytest.approx(sum(draws) / len(draws), rel=0.01)


@pytest.mark.parametrize(
    ("name", "params", "dtype", "touched"),
    [
        ("sum", {"shape": [64, 64], "dim": [1]}, "float32", (16384, 256)),
        ("sum", {"shape": [1024], "dim": [0], "layout": {"step": 2}}, "float32", (8192, 32)),
        ("sum", {"shape": [1024], "dim": [0], "layout": {"step": 16}}, "float32", (32768, 32)),
        ("elementwise", {"function": "copy", "inputs": [{"shape": [64], "layout": {"expand": [0]}}]}, "int8", (32, 64)),
        ("cumsum", {"shape": [0, 5], "dim": 1}, "float32", (0, 0)),
    ],
)
def test_the_operators_touch_whole_sectors(
    name: str, params: dict[str, object], dtype: str, touched: tuple[int, int]
) -> None:
    """No gaps: the fewest bytes. Gaps under a sector: all between the ends. Wide gaps: a sector an element."""
    assert touched_bytes(operator(name).problem(Case("x", name, dtype, params))) == touched


def test_rows_of_index_add_touch_the_sectors_around_them() -> None:
    """Scattered scalars bring 32 bytes each, read and written; wide rows what they hold; the number assumed is told."""

    def problem(shape: list[int], indices: int, pattern: object = "uniform", **more: object) -> Problem[object]:
        params = {"shape": shape, "dim": 0, "indices": indices, "pattern": pattern, **more}
        return operator("index_add").problem(Case("x", "index_add", "float32", params))

    scalars = problem([2**26], 2**16)
    rows = scalars.assumed["distinct_rows"]
    assert rows == pytest.approx(2**16, rel=0.001)
    read, written = touched_bytes(scalars)
    assert written == pytest.approx(32 * rows, rel=0.01)
    assert read == pytest.approx(written + 2**16 * (4 + 8), rel=0.001)
    wide = problem([4096, 128], 1024, {"duplicates": 1})
    assert touched_bytes(wide) == (wide.bytes_read, wide.bytes_written)
    same = problem([4096], 1024, "same")
    assert touched_bytes(same)[1] == 32
    below = problem([4096], 10**6, {"below": 64})
    assert touched_bytes(below)[1] == 64 * 4
    across = problem([64, 4096], 64, {"duplicates": 1}, layout={"permute": [1, 0]})
    assert touched_bytes(across)[1] == 64 * 4096 * 4


def test_a_problem_without_work_touches_nothing() -> None:
    """An operand of an empty result is not read."""
    empty = Problem(Case("x", "sum", "float32", {}), None, (Operand("x", "in", "float32", view((4,))),), 0, 0)
    assert touched_bytes(empty) == (0, 0)
