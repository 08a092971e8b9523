"""`gpubench history` from the outside: what a user meets, right and wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.cli import main
from gpubench.results.index import NAME
from gpubench.results.write import write
from tests.results.histories import History, Planted, file_of, make, name, run

pytest.importorskip("ruptures", reason="needs the extra history")

OF = History(runs=20, planted={1: Planted(9, 1.06), 3: Planted(12, 0.94, code=False)}, drivers={12: "585.1"})
SVG = b"<svg"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a history of 20 runs and a damaged file."""
    folder = make(tmp_path_factory.mktemp("history"), OF)
    (folder / "damaged.json").write_text("{")
    return folder


def call(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    """Return exit code and both outputs of a command."""
    code = main(["history", *map(str, words)])
    out, err = capsys.readouterr()
    return code, out, err


def test_steps_are_listed_with_what_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step names machine code, commits and driver; the damaged file is named; `show` draws the steps then."""
    code, out, err = call(capsys, "steps", "--in", folder)
    assert code == 0
    assert "skipped: damaged.json: " in err
    slower = out[out.index(name(1)) : out.index(name(3))]
    assert "SLOWER  2026-03-10" in slower
    assert f"machine code {'a' * 10} -> {'b' * 10}" in slower
    assert "commits 0808080808..0909090909" in slower
    drifted = out[out.index(name(3)) :]
    assert "DRIFTED" in drifted
    assert "same machine code" in drifted
    assert "driver 580.1 -> 585.1" in drifted
    assert "1 SLOWER, 0 FASTER, 1 DRIFTED in 16 series of 20 runs" in out
    code, out, _ = call(capsys, "show", name(1), "--in", folder)
    assert code == 0
    assert "SLOWER  2026-03-10" in out
    assert "gpubench:auto" in out.splitlines()[0]
    assert len(out.splitlines()) < 40


def test_steps_for_programs_and_for_github(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds every field; annotations are one line each; --since leaves out what came before."""
    code, out, _ = call(capsys, "steps", "--in", folder, "--json")
    ((first, second),) = (group["steps"] for group in json.loads(out))
    assert (first["case"], first["verdict"], first["at"]["path"]) == (name(1), "SLOWER", file_of(9))
    assert first["low"] < 1.06 < first["high"]
    assert second["causes"][0] == "same machine code"
    code, out, _ = call(capsys, "steps", "--in", folder, "--github", "--since", "2026-03-12")
    lines = [line for line in out.splitlines() if line.startswith("::")]
    assert len(lines) == 1
    assert lines[0].startswith("::warning title=DRIFTED%3A sum/1027/dim=0/float32 gpubench%3Aauto::0.9")
    code, out, err = call(capsys, "steps", "--in", folder, "--since", "yesterday")
    assert (code, out) == (2, "")
    assert "'yesterday' is no time" in err


def test_the_gate_fails_on_what_is_slower_than_the_segment(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 for a healthy run, 1 for a slower one, 4 for a wrong answer, 2 without a history; NEW may lie inside."""
    new = tmp_path / "new.json"
    write(run(OF, 20), new)
    code, out, _ = call(capsys, "gate", new, "--in", folder)
    assert code == 0, out
    assert f"20 runs in {folder}" in out
    assert call(capsys, "gate", folder / file_of(19), "--in", folder)[0] == 0
    slow = replace(OF, planted={**OF.planted, 5: Planted(20, 1.04)})
    write(run(slow, 20), new)
    code, out, _ = call(capsys, "gate", new, "--in", folder, "--github", "--json", tmp_path / "gate.json")
    assert code == 1
    assert f"::error title=SLOWER%3A {name(5)} gpubench%3Aauto::1.0" in out
    rows = json.loads((tmp_path / "gate.json").read_text())["comparisons"][0]["rows"]
    assert [row["case"] for row in rows if row["verdict"] == "SLOWER"] == [name(5)]
    assert call(capsys, "gate", new, "--in", folder, "--fail-on", "wrong")[0] == 0
    healthy = run(OF, 20)
    broken = replace(healthy.records[0], status="wrong", message="the output differs", timing=None, summary=None)
    write(replace(healthy, records=(broken, *healthy.records[1:])), new)
    assert call(capsys, "gate", new, "--in", folder)[0] == 4
    write(replace(healthy, suite={"name": "other", "sha256": "0"}), new)
    code, _, err = call(capsys, "gate", new, "--in", folder)
    assert code == 2
    assert "holds no other run of other on NVIDIA H200" in err


def test_a_filtered_last_run_does_not_hide_earlier_ones(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """When the newest run timed one case only, the others are still compared with the runs that have them."""
    for file in folder.glob("smoke-*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    last = run(OF, 20)
    write(replace(last, records=last.records[:2]), tmp_path / file_of(20))
    write(run(replace(OF, planted={**OF.planted, 5: Planted(21, 1.05)}), 21), tmp_path / "new.json")
    code, out, _ = call(capsys, "gate", tmp_path / "new.json", "--in", tmp_path)
    assert code == 1
    assert "ADDED" not in out


def test_show_finds_cases_and_says_what_there_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of one case's id will do; others are told with the nearest; a chart goes to a file."""
    code, out, err = call(capsys, "show", "sum/1026/", "--in", folder, "--contender", "torch", "-o", tmp_path / "c.svg")
    assert code == 0
    assert out.startswith(f"{name(2)} torch\n")
    assert SVG in (tmp_path / "c.svg").read_bytes()
    wrong: list[tuple[list[str | Path], str]] = [
        (["show", "sum/", "--in", folder], "is a part of 8 cases"),
        (["show", "prod/1", "--in", folder], "No run has a case 'prod/1'. The nearest: sum/"),
        (["show", name(0), "--contender", "cub", "--in", folder], "has no contender 'cub'. There are: gpubench:auto"),
        (["show", name(0), "--suite", "nightly", "--in", folder], "There are: smoke on NVIDIA H200 (20 runs)"),
        (["show", name(0), "-o", tmp_path / "c.txt", "--in", folder], "ends with one of .svg, .png, .pdf"),
        (["steps", "--in", tmp_path / "none"], "there is no such folder"),
    ]
    for words, told in wrong:
        code, _, err = call(capsys, *words)
        assert code == 2
        assert told in err


def test_index_says_what_it_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups with their runs and series; exit 2 as long as a file is damaged; a deleted index comes back."""
    (folder / NAME).unlink(missing_ok=True)
    code, out, err = call(capsys, "index", "--in", folder)
    assert code == 2
    assert "smoke on NVIDIA H200: 20 runs, 16 series" in out
    assert "damaged.json" in err
    assert (folder / NAME).exists()


def test_a_hostile_history_neither_colours_nor_annotates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names from result files reach terminal and annotations escaped, and end no line early."""
    evil = "sum/\x1b[31m\n::error::x,y:z%0A/float32"
    for number in range(12):
        one = run(History(), number)
        factor = 1.2 if number >= 6 else 1.0
        first = one.records[0]
        assert first.timing is not None
        rounds = tuple(tuple(replace(s, us=s.us * factor) for s in each) for each in first.timing.rounds)
        mine = replace(first, case=replace(first.case, id=evil), timing=replace(first.timing, rounds=rounds))
        write(replace(one, records=(mine, *one.records[1:])), tmp_path / file_of(number))
    code, out, _ = call(capsys, "steps", "--in", tmp_path, "--github")
    assert code == 0
    assert "\x1b" not in out
    assert [line for line in out.splitlines() if line.startswith("::error::")] == []
    assert sum(line.startswith("::") for line in out.splitlines()) == 1
    assert "\x1b" not in call(capsys, "show", evil, "--in", tmp_path)[1]
