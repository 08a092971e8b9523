from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.errors import ResultFileError
from gpubench.model import Json, Record
from gpubench.results.export import COLUMNS, cell, csv_text, json_lines
from gpubench.results.read import read
from tests.recorded import recorded

RESULT = read(Path(__file__).parents[1] / "data" / "result-v1.json")


def test_csv_has_one_row_a_record() -> None:
    """Header and rows have the documented columns; what a record lacks is empty."""
    rows = list(csv.DictReader(io.StringIO(csv_text(RESULT))))
    assert [row["status"] for row in rows] == ["ok", "wrong", "crashed"]
    assert list(rows[0])[: len(COLUMNS)] == [name for name, _ in COLUMNS]
    assert rows[0]["median_us"] == "20.625"
    assert rows[0]["check_ok"] == "true"
    assert rows[2]["median_us"] == rows[2]["bytes"] == rows[2]["check_ok"] == ""


def test_every_parameter_of_every_operator_has_a_column() -> None:
    """A recorded run gives shape, dim, pattern, layout and the rest as they stand in the case, a cell each."""
    content = read(recorded("nvidia-h200/smoke-2*.json")[-1])
    rows = list(csv.DictReader(io.StringIO(csv_text(content))))
    for row, record in zip(rows, content.records, strict=True):
        params = record.case.params
        shape = params.get("shape")
        if isinstance(shape, list):
            assert row["shape"] == ("x".join(map(str, shape)) or "scalar")
        if isinstance(params.get("dim"), int):
            assert row["dim"] == str(params["dim"])
        if isinstance(params.get("pattern"), str):
            assert row["pattern"] == params["pattern"]
        assert row["layout.step"] == str(params["layout"]["step"])
        assert (row["suite"], row["device"], row["date"]) == ("smoke", "NVIDIA H200", content.created)
        given = {key for key, value in params.items() if value is not None}
        assert all(any(name.split(".")[0] == key for name in row) or params[key] == {} for key in given)
    assert {row["pattern"] for row in rows} > {"", "uniform"}
    assert {row["inputs.0.shape"] for row in rows} > {"", "1024x1000"}


def test_records_of_several_results_stand_under_one_header() -> None:
    """A parameter that only one result has is empty for the other's records."""
    first = replace(RESULT, records=(_with({"shape": [2, 3]}),), suite={"name": "one"})
    second = replace(RESULT, records=(_with({"window": 7, "pattern": {"below": 9}, "dtype": "x"}),))
    rows = list(csv.DictReader(io.StringIO(csv_text(first, second))))
    assert [(row["shape"], row["window"], row["pattern"]) for row in rows] == [("2x3", "", ""), ("", "7", "below=9")]
    assert rows[1]["param.dtype"] == "x"
    assert rows[0]["suite"] == "one"


def test_a_name_of_a_parameter_is_no_formula_and_there_are_not_too_many() -> None:
    """Names of columns are foreign text too; a file with thousands of parameters is refused, not made wide."""
    header = next(csv.reader(io.StringIO(csv_text(replace(RESULT, records=(_with({"=1+1\x1b": 1}),))))))
    assert header[-1] == "'=1+1\\x1b"
    with pytest.raises(ResultFileError, match="65 different"):
        csv_text(replace(RESULT, records=(_with({f"p{index}": index for index in range(65)}),)))


def _with(params: dict[str, Json]) -> Record:
    return replace(RESULT.records[0], case=replace(RESULT.records[0].case, params=params))


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
    kept = "".join(letter if letter.isprintable() or letter in "\t\n" else ascii(letter)[1:-1] for letter in message)
    assert rows[1][5] in (kept, "'" + kept)
    assert all(letter.isprintable() or letter in "\t\n" for letter in rows[1][5])
    assert not rows[1][5].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_numbers_stay_numbers() -> None:
    """A negative number is no formula."""
    assert cell(-1.5) == -1.5


def test_json_lines_hold_the_records() -> None:
    """Each line is a record of the result file."""
    lines = list(json_lines(RESULT))
    assert [json.loads(line)["status"] for line in lines] == ["ok", "wrong", "crashed"]
    assert all(line.count("\n") == 1 for line in lines)
