"""`gpubench list` and `gpubench schema`: what they print is complete, plain when piped, and JSON when asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.suite.expand import load_suite


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what a command prints (standard error when it fails)."""
    assert main(list(arguments)) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_every_case_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Piped, each case is one line with its id first, nothing cut, under one heading."""
    lines = run(capsys, "list", "smoke").splitlines()
    assert [line.split()[0] for line in lines[1:]] == [case.id for case in load_suite("smoke").cases]
    assert all("\x1b" not in line for line in lines)


def test_bytes_and_memory_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Bytes are the fewest that must move, memory counts the gaps of a layout, too."""
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ncases: [{operator: sum, shape: [1024], layout: {step: 2}}]")
    [case] = json.loads(run(capsys, "list", "--json", str(file)))
    assert (case["bytes"], case["memory_bytes"]) == (1024 * 4 + 4, 2047 * 4 + 4)
    assert case["id"] == "sum/1024/dim=all/layout=step2/float32"


def test_unsupported_cases_are_listed_with_the_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What an operator does not take is a line that says so, not a failure."""
    file = tmp_path / "x.yaml"
    file.write_text("name: x\ncases: [{operator: elementwise, function: maximum, shape: [4], dtype: complex64}]")
    assert "unsupported" in run(capsys, "list", str(file))
    [case] = json.loads(run(capsys, "list", "--json", str(file)))
    assert case["bytes"] is None
    assert "maximum" in case["unsupported"]


def test_filters_choose(capsys: pytest.CaptureFixture[str]) -> None:
    """-k, --operator, --dtype and --contender act together; matching nothing is exit code 2 with a hint."""
    found = json.loads(
        run(
            capsys,
            "list",
            "smoke",
            "--json",
            "-k",
            "1024x1024 and not dim=1",
            "--operator",
            "cumsum",
            "--contender",
            "numpy",
        )
    )
    assert [(case["id"], case["contenders"]) for case in found] == [("cumsum/1024x1024/dim=0/float32", ["numpy"])]
    assert "float16" in run(capsys, "list", "smoke", "--dtype", "flaot16", code=2)


def test_variants_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """--variants names every kernel with its summary and origin."""
    rows = json.loads(run(capsys, "list", "--variants", "--json"))
    wanted = [
        (name, f"gpubench:{variant.name}") for name, operator in OPERATORS.items() for variant in operator.variants
    ]
    assert [(row["operator"], row["contender"]) for row in rows] == wanted
    assert all(row["summary"] and row["origin"] for row in rows)
    assert len(run(capsys, "list", "--variants", "--operator", "sum").splitlines()) == 1 + len(
        OPERATORS["sum"].variants
    )


def test_functions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """--functions shows every row of the table with what a suite's author asks of it."""
    rows = json.loads(run(capsys, "list", "--functions", "--json"))
    assert [row["function"] for row in rows] == list(FUNCTIONS)
    assert next(row for row in rows if row["function"] == "clamp")["scalars"] == {"low": 0.0, "high": 1.0}
    clamp = next(line for line in run(capsys, "list", "--functions").splitlines() if line.startswith("clamp"))
    assert clamp.split() == ["clamp", "1", "integer", "float", "low=0", "high=1", "torch", "cupy", "jax"]


WRONG = [["list"], ["list", "--variants", "smoke"], ["list", "nowhere.yaml"], ["list", "--functions", "smoke"]]


@pytest.mark.parametrize("arguments", [*WRONG, ["list", "--functions", "--variants"]])
def test_wrong_use_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to list, too much to list, or a missing file: a sentence and exit code 2."""
    assert run(capsys, *arguments, code=2).startswith("gpubench: ")


def test_a_wrong_suite_tells_all_its_mistakes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The mistakes go to standard error, a line each, and the exit code is 2."""
    file = tmp_path / "x.yaml"
    file.write_text("nmae: x\ncases: [{operator: smu}]")
    told = run(capsys, "list", str(file), code=2)
    assert told.count(f"{file}:") == 3


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """`gpubench schema` prints one JSON document of the 2020-12 draft."""
    assert json.loads(run(capsys, "schema"))["$schema"] == "https://json-schema.org/draft/2020-12/schema"
