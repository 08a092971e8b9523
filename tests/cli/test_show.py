"""`gpubench show`: every form of a result, from the file alone."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.model import Case
from gpubench.results.read import read
from gpubench.results.write import write
from gpubench.suite.expand import expand
from tests.views.samples import mixed, record, result


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
    for stored in read(path).records:
        assert any(line.startswith(stored.case.id) and f" {stored.contender} " in line for line in table)


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


def test_filters_are_those_of_run(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """-k, --operator, --dtype and --contender keep the records that they keep for other commands."""
    lines = shown(capsys, path, "--jsonl", "--operator", "cumsum", "--contender", "numpy").splitlines()
    assert [(record["case"]["id"], record["contender"]) for record in map(json.loads, lines)] == [
        ("cumsum/4096x4096/dim=1/float32", "numpy")
    ]
    table = shown(capsys, path, "-k", "zipf")
    assert "index_add" in table
    assert "cumsum" not in table
    assert main(["show", path, "--operator", "nothing"]) == 2
    assert "--operator nothing matches" in capsys.readouterr().err


def test_several_files_are_shown_one_after_another(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each file has its table; CSV and JSON lines hold the records of all; JSON is an array of the documents."""
    other = tmp_path / "other.json"
    write(result(record(contender="gpubench:rows"), suite={"name": "second"}), other)
    both = len(read(path).records) + 1
    table = shown(capsys, path, str(other))
    assert table.index("smoke on") < table.index("second on") < table.index("gpubench:rows")
    rows = list(csv.DictReader(io.StringIO(shown(capsys, path, str(other), "--csv"))))
    assert [row["suite"] for row in rows] == ["smoke"] * (both - 1) + ["second"]
    assert len(shown(capsys, path, str(other), "--jsonl").splitlines()) == both
    assert [result["suite"]["name"] for result in json.loads(shown(capsys, path, str(other), "--json"))] == [
        "smoke",
        "second",
    ]
    assert main(["show", path, str(other), "--contender", "gpubench:rows"]) == 0
    captured = capsys.readouterr()
    assert "smoke on" not in captured.out
    assert captured.err.startswith(f"{path}: ")


def test_the_worst_cases_become_a_suite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--worst keeps the cases that lose most, worst first; --as-suite writes them so that they can be run again."""
    shapes = {f"cumsum/{size}/dim=0/float32": {"shape": [size], "dim": 0} for size in (5, 6, 7)}
    records = []
    for (name, params), peer in zip(shapes.items(), (2.0, 0.5, 0.8), strict=True):
        case = Case(name, "cumsum", "float32", params, contenders=("gpubench:auto", "torch"))
        records += [replace(record(name, median_us=10.0), case=case)]
        records += [replace(record(name, "torch", median_us=10 * peer), case=case)]
    file = tmp_path / "result.json"
    write(result(*records), file)
    assert len(shown(capsys, str(file), "--worst", "1", "--csv").splitlines()) == 1 + 2
    text = shown(capsys, str(file), "--worst", "2", "--as-suite")
    assert "0.50 x torch" in text
    found = expand(text.encode(), "worst.yaml").cases
    assert [(case.id, case.contenders) for case in found] == [
        (name, ("gpubench:auto", "torch")) for name in list(shapes)[1:]
    ]
    assert main(["show", str(file), "--worst", "2", "--of", "tortch"]) == 2
    assert "'tortch' was not timed beside another contender. There are: torch" in capsys.readouterr().err
