"""`gpubench show`: every form of a result, from the file alone."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.results.read import read
from gpubench.results.write import write
from tests.views.samples import mixed


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Give a result file."""
    file = tmp_path / "result.json"
    write(mixed(), file)
    return str(file)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what `gpubench show` prints."""
    assert main(["show", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_the_table_has_every_record(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each record of the file is one line of the piped table."""
    table = shown(capsys, path).splitlines()
    for record in read(path).records:
        assert any(line.startswith(record.case.id) and f" {record.contender} " in line for line in table)


def test_columns_and_order_can_be_chosen(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--columns picks the columns and their order, --sort the order of rows."""
    table = shown(capsys, path, "--columns", "status,case", "--columns", "registers", "--sort", "status")
    lines = table.split("\n\n")[1].splitlines()
    assert lines[0].split() == ["status", "case", "registers"]
    assert lines[1].split() == ["wrong", "index_add/1000000x128/dim=0/n=1048576/zipf/float16", "32"]


def test_json_is_the_file_again(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints what the file holds."""
    assert json.loads(shown(capsys, path, "--json")) == json.loads(Path(path).read_text())


def test_other_forms(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--jsonl and --csv give one entry a record, --markdown a table."""
    records = len(read(path).records)
    assert len([json.loads(line) for line in shown(capsys, path, "--jsonl").splitlines()]) == records
    assert len(list(csv.DictReader(io.StringIO(shown(capsys, path, "--csv"))))) == records
    markdown = shown(capsys, path, "--markdown", "--columns", "case,median")
    assert sum(line.startswith("| `") for line in markdown.splitlines()) == records


def test_a_damaged_file_is_refused(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A truncated result is exit 2 with the file's name, and nothing on standard output."""
    Path(path).write_bytes(Path(path).read_bytes()[:-40])
    assert main(["show", path]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gpubench: {path}")
