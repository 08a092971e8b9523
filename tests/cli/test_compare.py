"""`gpubench compare` and `baseline` as a gate: exit codes, files, and input that nobody vouches for."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gpubench.cli import main
from gpubench.model import Record, ResultSet
from gpubench.results.write import write
from tests.analysis.synthetic import many, record, result, times

CALM: dict[str, Any] = {"drift": 0.0005, "noise": 0.0005}
CASE = "cumsum/4096/dim=0/float32"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(name: str, content: ResultSet) -> str:
    """Write a result file and return its name."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    write(content, Path(name))
    return name


def two(shift: dict[int, float] | None = None, cases: int = 12) -> tuple[str, str]:
    """Write an old result and a new one; `shift` multiplies times of the new one's cases."""
    return put("old.json", many(1, cases, **CALM)), put("new.json", many(2, cases, shift, **CALM))


def one(*records: Record) -> ResultSet:
    """Return a result of these records."""
    return result(*records)


GOOD = times(3, **CALM)[0]


@pytest.mark.parametrize(
    ("shift", "options", "code"),
    [
        ({}, [], 0),
        ({4: 1.05}, [], 1),
        ({4: 0.95}, [], 0),
        (dict.fromkeys(range(12), 0.9), [], 0),
        ({4: 1.05}, ["--threshold", "10%"], 0),
        ({4: 1.05}, ["--fail-on", "none"], 0),
        ({4: 1.05}, ["--fail-on", "wrong"], 0),
        ({4: 1.05}, ["-k", "cumsum/3/"], 0),
        ({4: 1.05}, ["-k", "cumsum/4/"], 1),
    ],
)
def test_the_exit_code_is_the_gate(shift: dict[int, float], options: list[str], code: int) -> None:
    """A regression that counts exits 1, anything else that was compared 0."""
    assert main(["compare", *two(shift), *options]) == code


def test_a_misspelled_filter_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A filter or contender that matches nothing exits 2 with the nearest name, never 0."""
    files = two()
    assert main(["compare", *files, "-k", "cumsun"]) == 2
    assert "cumsum" in capsys.readouterr().err
    assert main(["compare", *files, "--contender", "gpubench:atuo"]) == 2
    assert "gpubench:auto" in capsys.readouterr().err
    assert main(["compare", *files, "--contender", "gpubench:auto,gpubench:niave"]) == 2
    assert "gpubench:niave matches nothing" in capsys.readouterr().err
    assert main(["compare", files[0], "--a", "gpubench:auto", "--b", "torhc"]) == 2
    assert main(["compare", files[0], "--a", "gpubench:auto"]) == 2
    assert main(["compare", files[0]]) == 2
    assert main(["compare", *files, "--threshold", "150%"]) == 2


def test_nothing_in_common_and_nothing_decided_exit_3() -> None:
    """Gates that compared nothing, or could decide nothing, do not pass."""
    old = put("a.json", one(record("sum/1/float32", GOOD)))
    assert main(["compare", old, put("b.json", one(record("sum/2/float32", GOOD)))]) == 3
    assert main(["compare", old, put("c.json", one(record("sum/1/float32", GOOD[:1] * 2)))]) == 3
    assert main(["compare", old, put("d.json", result())]) == 3


def test_other_devices_exit_3_unless_allowed() -> None:
    """Another GPU is refused with exit 3; --allow-different-device compares."""
    old = put("a.json", one(record(CASE, GOOD)))
    new = put("b.json", result(record(CASE, GOOD), device={"name": "NVIDIA A100"}))
    assert main(["compare", old, new]) == 3
    assert main(["compare", old, new, "--allow-different-device"]) == 0


def test_broken_cases_exit_4_and_5() -> None:
    """A wrong answer exits 4 and a crash 5, if the baseline did not have them."""
    fine, wrong = record(CASE, GOOD), record(CASE, GOOD, status="wrong")
    crashed = record(CASE, status="crashed")
    old = put("a.json", one(fine))
    assert main(["compare", old, put("b.json", one(wrong))]) == 4
    assert main(["compare", old, put("c.json", one(crashed))]) == 5
    assert main(["compare", put("d.json", one(wrong)), put("e.json", one(fine))]) == 0


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        (None, "wrong", 4),
        (None, "crashed", 5),
        (None, "timeout", 5),
        (None, "unsupported", 0),
        ("skipped", "wrong", 4),
        ("skipped", "crashed", 5),
        ("unsupported", "crashed", 5),
        ("wrong", "crashed", 5),
        ("crashed", "wrong", 4),
        ("crashed", "timeout", 0),
        ("wrong", "wrong", 0),
        ("ok", "unsupported", 5),
    ],
)
def test_a_failure_that_the_baseline_lacks_fails_the_gate(before: str | None, after: str, code: int) -> None:
    """A case that is new, or was never timed, cannot bring in a wrong answer or a crash unseen."""
    other = [] if before is None else [record("sum/9/float32", GOOD, status=before)]  # type: ignore[arg-type] # a status
    old = put("old.json", one(record(CASE, GOOD), *other))
    new = put("new.json", one(record(CASE, GOOD), record("sum/9/float32", GOOD, status=after)))  # type: ignore[arg-type]
    assert main(["compare", old, new, "--junit", "c.xml"]) == code
    suite = ElementTree.parse("c.xml").getroot()[0]
    assert suite.get("errors") == ("1" if code else "0")
    assert main(["compare", old, new, "--fail-on", "none"]) == 0


def test_the_most_serious_outcome_gives_the_exit_code() -> None:
    """Wrong comes before crashed, crashed before slower, slower before undecided: the documented order."""
    names = [f"sum/{i}/float32" for i in range(12)]
    old = put("old.json", one(*(record(name, GOOD) for name in names)))
    records = [record(name, GOOD * (1.5 if i == 3 else 1.0)) for i, name in enumerate(names)]
    for number, (status, code) in enumerate((("ok", 1), ("crashed", 5), ("wrong", 4))):
        records[number] = record(names[number], GOOD, status=status)  # type: ignore[arg-type] # a status
        assert main(["compare", old, put("new.json", one(*records))]) == code


def test_two_documents_never_share_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON followed by Markdown on one stream is neither: bad usage, and nothing is printed."""
    assert main(["compare", *two(), "--json", "-", "--markdown", "-"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "--json and --markdown" in shown.err


def test_several_results_are_each_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """Several results stand beside each other in one matrix, with ratios to the first, and the worst decides."""
    old, new = two({3: 1.1})
    same = put("same.json", many(5, 12, **CALM))
    assert main(["compare", old, same, new, same, "--csv", "m.csv", "--markdown", "m.md"]) == 1
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if line.startswith("cumsum/3/")]
    assert [cell[-1] for cell in line.split()[-3:]] == ["=", "+", "="]
    assert "C: 12 compared: 1 SLOWER" in shown
    with Path("m.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["new.json verdict"] for row in rows] == ["SAME"] * 3 + ["SLOWER"] + ["SAME"] * 8
    assert float(rows[3]["new.json ratio"]) == pytest.approx(1.1, abs=0.01)
    assert Path("m.md").read_text().count("| `cumsum/") == 12


def test_the_three_files_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, Markdown and JUnit XML are written, are valid, and agree on the outcome."""
    files = two({3: 1.1})
    outputs = ["--json", "c.json", "--markdown", "c.md", "--junit", "c.xml"]
    assert main(["compare", *files, *outputs, "--sort", "ratio", "--only-changed"]) == 1
    document = json.loads(Path("c.json").read_text())
    assert document["exit_code"] == 1
    assert document["comparisons"][0]["counts"]["SLOWER"] == 1
    assert "**SLOWER**" in Path("c.md").read_text()
    suite = ElementTree.parse("c.xml").getroot()[0]
    assert suite.get("failures") == "1"
    assert suite.get("tests") == "12"
    shown = capsys.readouterr().out
    assert shown.count("SLOWER") == 2
    assert "11 unchanged" in shown
    assert main(["compare", *files, "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["exit_code"] == 1


def test_hostile_names_act_on_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Names with terminal escapes, Markdown, HTML and XML appear as text in every output."""
    name = 'sum/\x1b[31m<script>|`*[x](http://e)"&\u202e/float32'
    old = put("a.json", one(record(name, GOOD, contender="gpubench:<b>\x07")))
    new = put(
        "b.json", one(record(name, GOOD * 1.5, contender="gpubench:<b>\x07", status="wrong", message="<i>\x1b]0;x"))
    )
    assert main(["compare", old, new, "--markdown", "c.md", "--junit", "c.xml"]) == 4
    shown = capsys.readouterr().out
    text = Path("c.md").read_text()
    assert "\x1b" not in shown + text
    assert "<script>" not in text.replace("`", "")
    assert "[x](http" not in text
    case = ElementTree.parse("c.xml").getroot()[0][0]
    assert "<script>" in str(case.get("name"))


GOOD_FILE = json.dumps({"schema_version": 1})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        '{"schema_version": 1, "records": [{"rounds_us": [[NaN]]}]}',
        '{"schema_version": 1, "records": [{"rounds_us": [[1e999]]}]}',
        '{"schema_version": 999}',
        GOOD_FILE,
        "[" * 100_000,
        "null",
    ],
)
def test_files_that_are_no_results_are_bad_input(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    """NaN, infinity, truncated, nested, empty and future files exit 2 with their name."""
    old, _ = two()
    Path("bad.json").write_text(content)
    assert main(["compare", old, "bad.json"]) == 2
    assert main(["compare", "bad.json", old]) == 2
    assert "bad.json" in capsys.readouterr().err


def test_a_truncated_result_is_bad_input() -> None:
    """A result cut short in the middle of a record exits 2."""
    old, new = two()
    Path("cut.json").write_text(Path(new).read_text()[:-200])
    assert main(["compare", old, "cut.json"]) == 2


def test_a_file_that_claims_a_billion_rounds_costs_nothing() -> None:
    """What a file says of its size is not believed: 10^9 rounds in the options are just a number."""
    old, new = two()
    document = json.loads(Path(new).read_text())
    for entry in document["records"]:
        entry["case"]["timing"]["rounds"] = 10**9
        entry["case"]["timing"]["max_samples"] = 10**9
    Path("big.json").write_text(json.dumps(document))
    assert main(["compare", old, "big.json"]) == 0


def test_an_older_writer_without_optional_parts_is_read() -> None:
    """A file of version 1 that has only what every version 1 file has compares with a full one."""
    old, new = two({3: 1.1})
    document = json.loads(Path(old).read_text())
    for entry in document["records"]:
        entry["case"] = {key: entry["case"][key] for key in ("id", "operator", "dtype", "params")}
        for key in ("timing", "telemetry", "summary", "kernel", "check", "discarded_us"):
            entry.pop(key)
    Path("plain.json").write_text(json.dumps(document))
    assert main(["compare", "plain.json", new]) == 1


# --- Baselines -------------------------------------------------------------------------------------------------------


def dated(day: int, content: ResultSet, suite: str = "smoke") -> str:
    """Put a result at its ordinary place under runs/, made on that day."""
    return put(f"runs/nvidia-h200/{suite}-202601{day:02d}T100000Z.json", replace(content, suite={"name": suite}))


def test_a_folder_stands_for_its_newest_matching_result(capsys: pytest.CaptureFixture[str]) -> None:
    """From a folder the newest result of the same suite and device is taken, never the new result itself."""
    dated(1, many(1, 12, dict.fromkeys(range(12), 0.5), **CALM))
    dated(2, many(1, 12, **CALM))
    dated(3, many(1, 12, **CALM), suite="other")
    put("runs/nvidia-a100/smoke-20260104T100000Z.json", result(record(CASE, GOOD), device={"name": "NVIDIA A100"}))
    Path("runs/nvidia-h200/smoke-20260105T100000Z.json").write_text("broken")
    new = dated(6, many(2, 12, **CALM))
    for place in ("runs", "runs/nvidia-h200"):
        assert main(["compare", place, new]) == 0
        assert "smoke-20260102T100000Z.json ->" in capsys.readouterr().out


def test_a_missing_baseline_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A baseline that does not exist exits 2 and names those that do; an empty folder too."""
    old, new = two()
    assert main(["baseline", "save", "main", old]) == 0
    assert main(["compare", "mian", new]) == 2
    assert "main" in capsys.readouterr().err
    Path("empty").mkdir()
    assert main(["compare", "empty", new]) == 2


def test_a_saved_baseline_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A baseline lies at runs/<device>/baselines/<name>.json, is listed, and compares."""
    old, new = two({3: 1.1})
    assert main(["baseline", "save", "main", old]) == 0
    assert Path("runs/nvidia-h200/baselines/main.json").is_file()
    assert main(["compare", "main", new]) == 1
    capsys.readouterr()
    assert main(["baseline", "list"]) == 0
    assert "nvidia-h200  main" in capsys.readouterr().out
    assert main(["baseline", "save", "main", new]) == 2
    assert main(["baseline", "save", "main", new, "--force"]) == 0
    assert main(["compare", "main", new]) == 0
    capsys.readouterr()
    assert main(["compare", "main", "--a", "gpubench:auto", "--b", "gpubench:auto"]) == 0
    assert main(["compare", "mian", "--a", "gpubench:auto", "--b", "gpubench:auto"]) == 2
    assert "nearest baselines: main" in capsys.readouterr().err
    assert main(["compare", "runs", "--a", "gpubench:auto", "--b", "gpubench:auto"]) == 2


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "A B", "x" * 80])
def test_names_cannot_leave_their_folder(name: str) -> None:
    """A baseline's name is a plain file name."""
    old, _ = two()
    assert main(["baseline", "save", name, old]) == 2
    assert not list(Path().rglob("baselines/*"))


def test_a_broken_file_is_never_saved() -> None:
    """Only a result that can be read becomes a baseline."""
    Path("bad.json").write_text("{}")
    assert main(["baseline", "save", "main", "bad.json"]) == 2
    assert main(["baseline", "save", "main", "missing.json"]) == 2


@pytest.mark.parametrize("command", ["compare", "ab", "calibrate"])
def test_help_names_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help says what each exit code means."""
    assert main([command, "--help"]) == 0
    assert "Exit codes" in capsys.readouterr().out
