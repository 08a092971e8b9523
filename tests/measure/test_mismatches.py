"""Where an output is wrong: the word and the strip say what a look at all elements would say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.measure.mismatches import CELLS, Tally, ordinal, poison_byte, unwritten
from tests.measure.test_check import judge


def tally(shape: tuple[int, ...], wrong: list[int], block: int = 7, unwritten: int = 0) -> Tally:
    """Return the tally of these places, added block by block."""
    one = Tally(shape)
    for start in range(0, int(np.prod(shape)), block):
        one.add(np.array([at for at in wrong if start <= at < start + block], np.int64), 0)
    one._unwritten = unwritten
    return one


@pytest.mark.parametrize(
    ("shape", "wrong", "word"),
    [
        ((100,), range(100), "all"),
        ((100,), [41], "one element"),
        ((100,), range(90, 100), "tail"),
        ((100,), range(10), "head"),
        ((100,), range(20, 40), "one stretch"),
        ((100,), range(0, 100, 32), "every 32nd"),
        ((100,), range(31, 100, 32), "every 32nd"),
        ((10, 10), range(90, 100), "last row"),
        ((10, 10), [93, 97, 98], "last row"),
        ((10, 10), range(10), "first row"),
        ((10, 10), range(50, 60), "one row"),
        ((10, 10), range(9, 100, 10), "last column"),
        ((10, 10), range(0, 100, 10), "first column"),
        ((10, 10), range(4, 100, 10), "one column"),
        ((10, 10), [row * 10 + at for row in range(10) for at in (8, 9)], "tail of every row"),
        ((10, 10), [row * 10 + at for row in range(10) for at in (0, 1)], "head of every row"),
        ((10, 10), [3, 50, 77], "scattered"),
        ((), [0], "all"),
    ],
)
def test_a_word_says_where(shape: tuple[int, ...], wrong: list[int], word: str) -> None:
    """Each pattern that kernels' mistakes leave has its name, however the blocks cut it."""
    for block in (1, 7, 1000):
        assert tally(shape, list(wrong), block).where() == word


def test_never_written_is_told_by_the_poison() -> None:
    """An output that holds nothing but poison was never written; in part, the place is named too."""
    assert judge([np.nan] * 8, [1.0] * 8).mismatches["where"] == "all"  # a NaN that is not the poison
    poison = np.full(32, poison_byte("float32"), np.uint8).view(np.float32)
    assert judge(poison, [1.0] * 8).mismatches["where"] == "never written"
    assert judge([1.0] * 4 + list(poison[:4]), [1.0] * 8).mismatches["where"] == "tail, never written"
    whole = np.full(32, poison_byte("int32"), np.uint8).view(np.int32)
    assert judge(whole, [1] * 8, "int32").mismatches["where"] == "never written"
    assert unwritten(whole[:0], "int32") == 0


@given(st.integers(1, 300), st.data())
def test_the_strip_marks_exactly_the_cells_with_a_wrong_element(size: int, data: st.DataObject) -> None:
    """A cell is marked when and only when one of its elements is wrong; every element has a cell."""
    wrong = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    one = tally((size,), wrong, data.draw(st.integers(1, 50)))
    cells = min(CELLS, size)
    expected = {at * cells // size for at in wrong}
    assert one.strip() == "".join("x" if cell in expected else "." for cell in range(cells))
    assert one.to_json()["count"] == len(wrong)


def test_the_first_three_mismatches_are_kept() -> None:
    """Index, found, wanted and allowed of the first three in row-major order, over the blocks."""
    verdict = judge([1, 0, 1, 1, 1, 1, 1, 0, 0, 0], [1] * 10, "int32")
    assert [mismatch["index"] for mismatch in verdict.mismatches["first"]] == [[1], [7], [8]]
    assert verdict.mismatches["count"] == 4
    assert verdict.mismatches["strip"] == ".x.....xxx"


def test_ordinals_are_english() -> None:
    """2nd, 3rd, 11th, 32nd, 111th."""
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 32, 103, 111)] == (
        ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "32nd", "103rd", "111th"]
    )
