"""Constants that can be tuned: what is in force holds for one plan only, and values survive being written as text."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.operators.constants import Constant, Value, in_force, text_of, texts_of, tuned, value_of, values_of

NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True)
VALUES: st.SearchStrategy[Value] = st.one_of(
    st.none(),
    st.integers(-(10**17), 10**17),
    st.integers(-(10**6), 10**6).map(lambda number: number / 64),
    st.lists(st.integers(0, 10**8), min_size=2, max_size=5).map(tuple),
)


def test_what_is_in_force_ends_with_its_plan() -> None:
    """Values hold inside, nested ones in place of outer ones, and the shipped one is back afterwards, errors or not."""
    with in_force({"TILE": 8}):
        assert tuned("TILE", 4) == 8
        with in_force({}):
            assert tuned("TILE", 4) == 4
        assert tuned("TILE", 4) == 8
        assert tuned("OTHER", 3) == 3
    with contextlib.suppress(ValueError), in_force({"TILE": 8}):
        raise ValueError
    assert tuned("TILE", 4) == 4


def test_the_shipped_value_is_the_first_candidate_once() -> None:
    """A shipped value that is listed among the others is not tried twice."""
    assert Constant("TILE", 4, (2, 4, 8)).candidates == (4, 2, 8)


@given(VALUES)
def test_a_value_is_read_back_as_it_was(value: Value) -> None:
    """Numbers, fractions, shapes and none keep value and type."""
    found = value_of(text_of(value))
    assert found == value
    assert type(found) is type(value)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_constants_are_read_back_in_order(values: dict[str, Value]) -> None:
    """Several constants keep their order."""
    assert list(values_of(texts_of(values)).items()) == list(values.items())


@pytest.mark.parametrize(
    "text", ["", "A", "A=", "A=b", "=1", "A=1+A=2", "A=1e400", "A=0x", "A=1x", "9=1", "A=1+", "A=1 "]
)
def test_what_is_no_constant_is_refused(text: str) -> None:
    """Anything else is one line that says how it is written."""
    with pytest.raises(ValueError, match="write"):
        values_of(text)
