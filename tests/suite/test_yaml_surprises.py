"""YAML's surprises: what is written means what a person expects, or is refused with its place."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpubench.suite.read import parse
from gpubench.suite.scalars import resolve
from tests.suite.samples import mistakes


def value_of(text: str) -> object:
    """Return what an unquoted scalar means as a value of a mapping."""
    document = parse(f"key: {text}\n".encode(), "test.yaml")
    document.check()
    return document.data["key"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("-2.5e-1", -0.25),
        (".5", 0.5),
        ("5.", 5.0),
        ("010", 10),
        ("0b11", "0b11"),
        ("0o17", 15),
        ("0x1F", 31),
        ("+7", 7),
        ("1:30", "1:30"),
        ("190:20:30", "190:20:30"),
        ("1_000", "1_000"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("2001-12-14", "2001-12-14"),
        ("=", "="),
        ("'10'", "10"),
        ('"true"', "true"),
        ("'!'", "!"),
    ],
)
def test_scalars_mean_what_they_look_like(text: str, meaning: object) -> None:
    """The core schema of YAML 1.2 decides: no sexagesimal or octal numbers, no yes and no, no dates."""
    found = value_of(text)
    assert found == meaning
    assert type(found) is type(meaning)


@pytest.mark.parametrize("text", [".inf", "-.Inf", ".NaN", "1e999", "9" * 65, "-1e400"])
def test_numbers_that_no_json_can_hold_are_refused(text: str) -> None:
    """Infinity, NaN, overflow and endless digits are mistakes at their place, not values."""
    [only] = parse(f"a: 1\nkey: {text}\n".encode(), "test.yaml").mistakes
    assert (only.line, only.column, only.path) == (2, 6, "key")


@given(st.integers(min_value=-(10**60), max_value=10**60))
def test_whole_numbers_are_exact(number: int) -> None:
    """Decimal digits give exactly that number, leading zeros or not."""
    assert resolve(str(number)) == number
    assert resolve(f"{'-' if number < 0 else ''}00{abs(number)}") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_are_exact(number: float) -> None:
    """Python's shortest form of a float reads back as the same float."""
    assert resolve(repr(number)) == number


def plain(text: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    """Return nested data whose strings come from `text`."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | text,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text("abcdefghé", max_size=6), inner, max_size=4)
        ),
        max_leaves=20,
    )


@given(plain(st.text(st.characters(codec="utf-8"))))
def test_json_reads_as_json(data: object) -> None:
    """JSON is YAML: what json writes is read as the same data."""
    document = parse(json.dumps(data).encode(), "test.yaml")
    document.check()
    assert document.data == data


@given(plain(st.text(st.characters(exclude_categories=("C", "Nd", "Z")))))
def test_block_style_reads_as_the_usual_parser_reads_it(data: object) -> None:
    """Block style, quoting and folding as PyYAML writes them give the data back."""
    text = yaml.safe_dump(data, allow_unicode=True)
    document = parse(text.encode(), "test.yaml")
    document.check()
    assert document.data == data


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("a: 1\nb: 2\na: 3\n", "3:1: a", "there twice; the first is on line 1"),
        ("a: {b: 1, b: 2}\n", "1:11: a.b", "there twice"),
        ("a: &x 1\n", "1:4: a", "the anchor &x"),
        ("a: 1\nb: *x\n", "2:4: b", "the alias *x"),
        ("a: !!python/object/apply:os.system ['echo']\n", "1:4: a", "the tag"),
        ("a: !!int '3'\n", "1:4: a", "the tag"),
        ("? !x a\n: 1\n", "1:3", "the tag"),
        ("a: 1\n<<: {b: 2}\n", "2:1: <<", "merge keys"),
        ("a: 1\n---\nb: 2\n", "2:1", "a second document"),
        ("1: 2\n", "1:1", "must be text"),
        ("true: 2\n", "1:1", "must be text"),
        ("[1]: 2\n", "1:1", "a key must be text"),
        ("a: [1\n", "2:1", "not valid YAML"),
        ("a:\n\t- 1\n", "2:1", "not valid YAML"),
        ('a: "\\ud800"\n', "1:4: a", "surrogate"),
        ('a: "\\UFFFFFFFF"\n', "1:1", "out of range"),
    ],
)
def test_what_is_not_plain_data_is_refused(text: str, where: str, what: str) -> None:
    """Duplicate keys, anchors, aliases, tags, merge keys, further documents, odd keys: mistakes at their place."""
    found = [str(mistake) for mistake in parse(text.encode(), "f").mistakes]
    assert any(line.startswith(f"f:{where}") and what in line for line in found), found


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"name: \xff\n", "1:7"),
        (b"name: a\ncases: \x00\n", "2:8"),
        ("name: a\n".encode("utf-16"), "1:1"),
        (b"", "1:1"),
        (b"# nothing\n", "1:1"),
        (b"- a\n", "1:1"),
    ],
)
def test_bytes_that_are_no_suite_say_where(data: bytes, where: str) -> None:
    """Other encodings, control characters, empty files and lists give a mistake with its line and column."""
    assert mistakes(data)[0].startswith(f"test.yaml:{where}: ")


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    """A file saved with a byte order mark reads as without."""
    document = parse("name: x".encode("utf-8-sig"), "f")
    assert document.data == {"name": "x"}
