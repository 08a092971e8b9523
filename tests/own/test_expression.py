"""The arithmetic of suites: what it gives, and that nothing else gets through."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.operators import OPERATORS
from gpubench.operators.sizes import DEVICE, GENERAL
from gpubench.own.expression import FUNCTIONS, LIMIT, ExpressionError, Value, read

NAMES: dict[str, Value] = {
    "rows": 10,
    "row_size": 1000,
    "n": 10_000,
    "dtype": "float32",
    "float32": "float32",
    "alpha": 0.5,
}
WORDS = (
    "rows",
    "dtype",
    "float32",
    "alpha",
    "min",
    "max",
    "ceil_div",
    "pow2_at_least",
    "if",
    "else",
    "in",
    "not",
    "and",
)
SIGNS = (
    "+",
    "-",
    "*",
    "//",
    "%",
    "<<",
    ">>",
    "(",
    ")",
    "[",
    "]",
    ",",
    "<",
    "==",
    "**",
    "/",
    ".",
    ":",
    "=",
    "'",
    "9" * 30,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil_div(rows, 4)", 3),
        ("round_up(rows, 8)", 16),
        ("pow2_at_least(row_size)", 1024),
        ("4 * rows + row_size // 3 % 7", 40 + 333 % 7),
        ("256 if n > 4096 else 64", 256),
        ("0 < rows <= 10 and dtype in [float32]", 1),
        ("not (rows == 10 or rows == 11)", 0),
        ("dtype not in [float32]", 0),
        ("min(rows, n, 7) << 2", 28),
        ("alpha * 2", 1.0),
        ("-rows", -10),
    ],
)
def test_arithmetic_gives_what_python_would(text: str, value: float) -> None:
    """Whole numbers, comparisons, words and the functions that stand in the documents."""
    assert read(text, NAMES).value(NAMES) == value


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("__import__('os')", "there is no function __import__"),
        ("(1).__class__", "a dot"),
        ("rows.real", "a dot"),
        ("rows[0]", "square brackets"),
        ("lambda: 1", "lambda"),
        ("[x for x in rows]", "a comprehension"),
        ("2 ** 99999", r"\*\*"),
        ("rows / 2", "write //"),
        ("'text'", "text or a constant"),
        ("None", "text or a constant"),
        ("f'{rows}'", "text"),
        ("(rows := 3)", ":="),
        ("min(*rows, 1)", r"has \*"),
        ("min(rows, key=n)", "no function"),
        ("rowz * 2", "did you mean rows"),
        ("min(1)", "it is min"),
        ("9" * 30, "2\\^63"),
        ("-" * 150 + "1", "nested"),
        ("1" * 201, "1 to 200 characters"),
        ("", "1 to 200 characters"),
        ("rows +", "no expression"),
        ("rows\x00", "ASCII"),
        ("röws", "ASCII"),
    ],
)
def test_what_the_language_does_not_have_is_refused_when_it_is_read(text: str, part: str) -> None:
    """Names of Python, its constants, calls, attributes and huge texts never come to be worked out."""
    with pytest.raises(ExpressionError, match=part) as caught:
        read(text, NAMES)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["1 << 62 << 62", "rows // (rows - 10)", "rows % 0", "1 << 63", "1 << -1", "dtype + 1", "dtype < dtype",
             "rows == dtype", "ceil_div(rows, 0)", "alpha // 2", "n * n * n * n * n", "not dtype", "min(rows, alpha)"]
)  # fmt: skip
def test_a_number_that_cannot_be_is_one_line(text: str) -> None:
    """Overflow, a division by zero and words among numbers are told, with the text."""
    with pytest.raises(ExpressionError):
        read(text, NAMES).value(NAMES)


@given(st.lists(st.sampled_from(WORDS + SIGNS + ("1", "0", " ")), max_size=40).map(" ".join))
def test_no_text_does_anything_but_give_a_bounded_value_or_one_line(text: str) -> None:
    """Whatever is written: a word, a number below 2^63, or a message."""
    try:
        value = read(text, NAMES).value(NAMES)
    except ExpressionError as error:
        value = "second line" if len(str(error).splitlines()) > 1 else "told"
    assert value != "second line"
    assert isinstance(value, str) or -LIMIT < value < LIMIT


@given(st.text(max_size=250))
def test_no_characters_crash_the_reader(text: str) -> None:
    """Any text is an expression or an ExpressionError."""
    with contextlib.suppress(ExpressionError):
        read(text, NAMES)


def test_the_documents_have_every_name() -> None:
    """docs/suites.md says of each name and function what it is."""
    text = (Path(__file__).parents[2] / "docs/suites.md").read_text(encoding="utf-8")
    listed = [*GENERAL, *DEVICE, *(name for each in OPERATORS.values() for name in each.sizes)]
    assert [name for name in (*listed, *FUNCTIONS) if f"`{name}" not in text] == []
