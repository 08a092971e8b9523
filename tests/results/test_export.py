from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.results.export import COLUMNS, cell, csv_text, json_lines
from gpubench.results.read import read

RESULT = read(Path(__file__).parents[1] / "data" / "result-v1.json")


def test_csv_has_one_row_a_record() -> None:
    """Header and rows have the documented columns; what a record lacks is empty."""
    rows = list(csv.DictReader(io.StringIO(csv_text(RESULT))))
    assert [row["status"] for row in rows] == ["ok", "wrong", "crashed"]
    assert list(rows[0]) == [name for name, _ in COLUMNS]
    assert rows[0]["median_us"] == "20.625"
    assert rows[0]["check_ok"] == "true"
    assert rows[2]["median_us"] == rows[2]["bytes"] == rows[2]["check_ok"] == ""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "=cmd|' /C calc'!A0"])
def test_a_cell_is_never_a_formula(text: str) -> None:
    """A text that a spreadsheet would run gets an apostrophe before it."""
    assert cell(text) == "'" + text.replace("\r", "\\r")


@given(st.text())
def test_any_message_survives_as_one_cell(message: str) -> None:
    """Quotes, commas and line breaks stay inside their cell."""
    record = replace(RESULT.records[0], message=message)
    text = csv_text(replace(RESULT, records=(record,)))
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) == 2
    kept = "".join(one if one.isprintable() or one in "\t\n" else ascii(one)[1:-1] for one in message)
    assert rows[1][5] in (kept, "'" + kept)
    assert all(one.isprintable() or one in "\t\n" for one in rows[1][5])
    assert not rows[1][5].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_numbers_stay_numbers() -> None:
    """A negative number is no formula."""
    assert cell(-1.5) == -1.5


def test_json_lines_hold_the_records() -> None:
    """Each line is a record of the result file."""
    lines = list(json_lines(RESULT))
    assert [json.loads(line)["status"] for line in lines] == ["ok", "wrong", "crashed"]
    assert all(line.count("\n") == 1 for line in lines)
