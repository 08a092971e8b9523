"""Escaping and number formats: foreign strings are harmless, figures read well."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.views import text

HOSTILE = "a\x1b]8;;http://x\x1b\\b\u202ec\r\nd\x07\udc80\u2028"


@given(st.text())
def test_printable_leaves_nothing_that_acts_on_a_terminal(value: str) -> None:
    """Whatever the string, what is printed is printable, and printable text is unchanged."""
    shown = text.printable(value)
    assert shown.isprintable()
    assert text.printable(shown) == shown


def test_printable_shows_the_escape() -> None:
    """A control character is shown as its escape, and line breaks stay only where asked for."""
    assert text.printable("a\x1b[31m") == "a\\x1b[31m"
    assert text.printable("a\nb") == "a\\nb"
    assert text.printable("a\nb\r", keep_newlines=True) == "a\nb\\r"


@given(st.text(max_size=40))
def test_markdown_cells_hold_no_markup(value: str) -> None:
    """A cell has no border, line break, tag, link, mention or emphasis in it."""
    shown = text.markdown(value + HOSTILE + "|<b>[x](y)@me`www.x.y")
    assert not set(shown) & set("|<>[]@`*_\n\r")
    assert "://" not in shown
    assert "www." not in shown


@given(st.text(max_size=40))
def test_markdown_code_cannot_be_left(value: str) -> None:
    """Inline code holds neither a backtick nor a cell border; what cannot be code is escaped text."""
    shown = text.markdown_code(value)
    assert "|" not in shown
    assert shown.count("`") in (0, 2)
    assert "`" not in shown.strip("`")


@given(st.text(), st.integers(0, 30))
def test_shorten_never_exceeds_the_width(value: str, width: int) -> None:
    """Shortened text fits, wide characters included, and short text is unchanged."""
    safe = text.printable(value)
    shown = text.shorten(safe, width)
    assert text.cell_width(shown) <= max(width, 0)
    if text.cell_width(safe) <= width:
        assert shown == safe


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.4567, "456.7 ns"), (1.0, "1.000 us"), (846.12, "846.1 us"), (41_300.0, "41.30 ms"), (2.5e6, "2.500 s")],
)
def test_durations_take_the_unit_in_which_they_read_best(value: float, shown: str) -> None:
    """Microseconds become ns, us, ms or s with four significant digits."""
    assert text.duration(value) == shown


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_significant_formats_any_float(value: float) -> None:
    """No float raises, and the finite ones come back within the digits asked for."""
    shown = text.significant(value, 4)
    if math.isfinite(value) and abs(value) < 1e308:  # rounding up from there would leave the floats
        assert float(shown) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("value", [None, "7", True, [1]])
def test_a_quantity_that_is_no_number_is_a_dash(value: object) -> None:
    """What a file may hold in place of a number is shown as missing, never as a number."""
    assert text.quantity(value, "us") == "-"


@pytest.mark.parametrize(("count", "shown"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.50 KiB")])
def test_sizes_use_binary_units(count: int, shown: str) -> None:
    """Bytes are shown in powers of 1024."""
    assert text.size(count) == shown


@given(st.floats(allow_nan=False), st.integers(1, 20), st.booleans())
def test_bars_keep_their_width(fraction: float, width: int, unicode: bool) -> None:
    """A bar takes its columns whatever the fraction, so that what follows stays aligned."""
    assert len(text.bar(fraction, width, unicode)) == width
    if not unicode:
        assert text.bar(fraction, width, unicode).isascii()
