"""The verification of all kernels within a budget: what ran is counted, kept and gone on with; nothing passes unrun."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpubench.children import Done

SCRIPTS = Path(__file__).parents[2] / "scripts"
SUMMARY = "= 37 passed, 1 skipped in 12.30s ="
MOVED = "sum/a gpubench:auto: read 1.00 MB of 1.00, wrote 0.00 MB of 0.00, together {over} of the fewest, 1 million"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """Load the script and its tools as modules; their ledgers are not flushed to the disk."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    verify, tools = importlib.import_module("verify_gpu"), importlib.import_module("verify_tools")
    monkeypatch.setattr(verify, "replace", lambda path, data: path.write_bytes(data))
    return verify, tools


def words_after(command: list[str], name: str) -> str:
    """Return the value of an option."""
    return command[command.index(name) + 1]


def fake(said: list[str], wrong: str = "", cases: int = 50) -> Callable[[Any, str], Done]:
    """Return what stands for running a piece: every tool says what the real one would."""

    def run(piece: Any, gpu: str) -> Done:
        command = [str(word) for word in piece.command]
        line = " ".join([*command, piece.env.get("GPUBENCH_TEST_PAIRS", ""), f"on {gpu}"])
        said.append(line)
        if "random_check.py" in line:
            count = min(int(words_after(command, "--cases")), cases)
            found = [wrong] if wrong and words_after(command, "--operator") == "sum" else []
            text = json.dumps({"cases": count, "answers": {"auto": count}, "wrong": found})
            return Done(4 if found else 0, f"{count} cases\n{text}\n", None)
        if "dram_bytes.py" in line:
            return Done(0, "\n".join(MOVED.format(over=over) for over in ("1.002",)) + "\n", None)
        if pairs := piece.env.get("GPUBENCH_TEST_PAIRS"):
            told = [f"{pair.replace('-', ' ')}: 12 cases, 0 wrong" for pair in pairs.split(",")]
            return Done(0, "\n".join(told), None)
        return Done(0, SUMMARY, None)

    return run


def verified(
    scripts: tuple[ModuleType, ModuleType],
    path: Path,
    run: Any,
    kind: str = "cuda",
    cases: int = 120,
    share: int = 2,
    **changes: Any,
) -> Any:
    """Verify with the fake tools on two GPUs, `share` pieces at once on each, or 0: one on one; return the ledger."""
    verify, tools_module = scripts
    tools = tools_module.tools_of(kind, 2)
    rows = [row for tool in tools for row in tool.rows(cases)]
    about = {"device": "Fake", "gpus": 2, "kernels_sha256": "ab", **changes}
    ledger = verify.Ledger(path, about, rows)
    verify.Lanes(ledger, tools, run).go(["0", "1"] if share else ["0"], share or 1, 3600.0)
    ledger.save()
    return ledger


def test_every_tool_runs_on_every_operator_until_all_is_done(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """Random cases add up over pieces with seeds of their own, each variant is named once a tool; both GPUs work."""
    said: list[str] = []
    ledger = verified(scripts, tmp_path / "l.json", fake(said))
    assert all(row.ran >= row.wanted for row in ledger.rows if row.tool != "dram"), ledger.rows
    assert len({(row.tool, row.operator) for row in ledger.rows}) == 4 * (1 + 5 + 1) + 2
    seeds = [seed for row in ledger.rows for seed in row.seeds]
    assert len(seeds) == len(set(seeds)) >= 4 * 3  # 120 cases by 50, or more where two pieces ran at once
    assert {line[-4:] for line in said} == {"on 0", "on 1"}
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        named = [pair for line in said if f"scripts/sanitize {tool} " in line for pair in line.split()[2].split(",")]
        assert len(named) == len(set(named)) == sum(row.wanted for row in ledger.rows if row.tool == tool)
    assert scripts[0].exit_code(ledger.rows) == 0
    kept = json.loads((tmp_path / "l.json").read_text())
    assert kept["kernels_sha256"] == "ab"
    assert {row["left"] for row in kept["rows"] if row["tool"] == "random"} == {0}


def test_a_second_run_goes_on_where_the_first_ended(scripts: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """More cases are asked for: only these run, with seeds that were not used; other kernels are refused."""
    path = tmp_path / "l.json"
    said: list[str] = []
    first = verified(scripts, path, fake([]))
    second = verified(scripts, path, fake(said), cases=1000)
    assert all("random_check" in line or "dram_bytes" in line for line in said), said
    assert all(row.ran >= 1000 for row in second.rows if row.tool == "random")
    used, seeds = ({seed for row in ledger.rows for seed in row.seeds} for ledger in (first, second))
    assert used < seeds  # but none for an operator that had more than it was asked for
    assert min(seeds - used) > max(used)
    with pytest.raises(ValueError, match="of another device or other kernels: name another --out"):
        verified(scripts, path, fake([]), kernels_sha256="cd")


def test_a_wrong_answer_is_a_finding_and_the_rest_goes_on(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """It is in the file and the table, and makes the exit code 4."""
    ledger = verified(scripts, tmp_path / "l.json", fake([], wrong="sum/x seed 3: at (1,)"))
    assert {row.operator for row in ledger.rows if row.findings} == {"sum"}
    assert scripts[0].exit_code(ledger.rows) == 4
    table = scripts[0].table(ledger.rows, scripts[1].tools_of("cuda", 1))
    assert "random sum: sum/x seed 3: at (1,)" in table
    assert all(row.ran >= row.wanted for row in ledger.rows if row.tool == "random")


@pytest.mark.parametrize(
    ("done", "note", "code"),
    [
        (Done(1, "Traceback\nImportError: no cupy\n", None), "failed (exit code 1): ImportError: no cupy", 5),
        (Done(-9, "half a line", "time"), "was cut off", 0),
    ],
)
def test_what_says_nothing_counts_as_nothing(
    done: Done, note: str, code: int, scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """A tool that fails or is cut off has run nothing, is told so, and is not started again and again."""
    calls: list[object] = []
    lock = threading.Lock()

    def run(piece: Any, gpu: str) -> Done:
        with lock:
            calls.append((piece, gpu))
        return done

    ledger = verified(scripts, tmp_path / "l.json", run, share=0)  # where two begin at once, neither knows of the other
    assert sum(row.ran for row in ledger.rows) == 0
    assert len(calls) == len(ledger.rows)
    assert any(note in row.note for row in ledger.rows)
    assert scripts[0].exit_code(ledger.rows) == code


def test_random_cases_that_were_cut_off_count_as_far_as_they_came(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """What each process told last is in the ledger, for each operator, with what was wrong by then."""
    so_far = [{"part": 0, "cases": 3, "wrong": []}, {"part": 9, "cases": 1, "wrong": []}]
    so_far += [{"part": 0, "cases": 8, "wrong": ["sum/x seed 3: at (1,)"]}]
    said = "".join(f"{json.dumps(line)}\n" for line in so_far) + '{"part": 9, "cas'

    def run(*_: object) -> Done:
        return Done(-9, said, "time")

    tool = scripts[1].tools_of("cuda", 2)[0]
    ledger = scripts[0].Ledger(tmp_path / "l.json", {"device": "f", "kernels_sha256": ""}, tool.rows(9))
    scripts[0].Lanes(ledger, [tool], run).go(["0"], 4, 3600.0)
    assert all(row.ran == 9 * len(row.seeds) > 0 for row in ledger.rows)
    assert all({*row.findings} == {"sum/x seed 3: at (1,)"} and "was cut off" in row.note for row in ledger.rows)
    assert scripts[0].exit_code(ledger.rows) == 4


def test_a_minute_begins_with_random_cases_of_every_operator(
    scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """Each gets a quarter of the time at once, then comes every variant's turn; nothing is kept for DRAM bytes."""
    said: list[str] = []
    verify, tools_module = scripts
    tools = tools_module.tools_of("cuda", 4)
    rows = [row for tool in tools for row in tool.rows(20_000)]
    ledger = verify.Ledger(tmp_path / "l.json", {"device": "f", "kernels_sha256": ""}, rows)
    lanes = verify.Lanes(ledger, tools, fake(said))
    phases: list[float] = []
    lanes._phase = lambda _gpus, deadline, _is_alone: phases.append(deadline)
    lanes.go(["0"], 4, 60.0)
    assert phases[0] == phases[1]
    begun = [lanes._next(False) for _ in range(8)]
    assert {row.operator for row in begun[:4]} == {row.operator for row in begun[4:]} == {*tools_module.OPERATORS}
    assert [row.tool for row in begun] == ["random"] * 4 + ["answers"] * 4
    piece = tools[0].piece(rows[0], tools_module.Turn(60.0, lanes._turn_s, 1))
    assert words_after(piece.command, "--seconds") == "15"


def test_a_sanitizers_report_is_laid_upon_its_variants(scripts: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """compute-sanitizer's count of errors is a finding even where every answer is right; 0 errors are none."""
    usual = fake([])

    def run(piece: Any, gpu: str) -> Done:
        done = usual(piece, gpu)
        is_race = piece.command[-1] == "racecheck" and "sum-naive" in piece.env["GPUBENCH_TEST_PAIRS"].split(",")
        return Done(9, f"{done.output}\n========= ERROR SUMMARY: 2 errors\n", None) if is_race else done

    found = [row for row in verified(scripts, tmp_path / "l.json", run).rows if row.findings]
    assert [(row.tool, row.operator) for row in found] == [("racecheck", "sum")]
    assert found[0].findings[0].endswith("ERROR SUMMARY: 2 errors")
    assert "naive" in found[0].findings[0]


@pytest.mark.parametrize(
    ("kind", "done", "message"),
    [
        ("cuda", Done(1, "sum naive: 12 cases, 3 wrong\nFAILED tests/gpu/x.py\n", None), "naive: 3 of 12 cases"),
        (
            "host",
            Done(-6, "==1==ERROR: AddressSanitizer: heap-use on address\n", None),
            ": ERROR: AddressSanitizer: heap",
        ),
    ],
)
def test_an_answer_that_is_wrong_explains_why_its_tool_failed(
    kind: str, done: Done, message: str, scripts: tuple[ModuleType, ModuleType], tmp_path: Path
) -> None:
    """An exit code for a wrong variant, and a death under AddressSanitizer, are findings with their places."""
    usual = fake([])

    def run(piece: Any, gpu: str) -> Done:
        is_wrong = kind == "host" or "sum-naive" in piece.env.get("GPUBENCH_TEST_PAIRS", "").split(",")
        return done if is_wrong else usual(piece, gpu)

    rows = verified(scripts, tmp_path / "a", run, kind).rows
    told = [row.findings[0] for row in rows if row.findings]
    assert message in told[0]
    assert scripts[0].exit_code(rows) == 4
    assert not any(row.note.startswith("failed") for row in rows if row.findings)


def test_random_cases_of_one_operator_use_every_gpu(scripts: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """Two GPUs work at once on the only row that is left, each with seeds of its own."""
    verify, tools_module = scripts
    together = threading.Barrier(2)
    usual = fake([], cases=100)

    def run(piece: Any, gpu: str) -> Done:
        together.wait(20)
        return usual(piece, gpu)

    tool = tools_module.tools_of("cuda", 1)[0]
    ledger = verify.Ledger(tmp_path / "l.json", {"device": "f", "kernels_sha256": ""}, tool.rows(100)[:1])
    verify.Lanes(ledger, [tool], run).go(["0", "1"], 1, 3600.0)
    assert ledger.rows[0].ran == 200
    assert len(set(ledger.rows[0].seeds)) == 2


def test_without_time_nothing_begins(scripts: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    """A budget below what a piece needs to start runs none, and the table says that there was no time."""
    verify, tools_module = scripts
    tools = tools_module.tools_of("host", 1)
    ledger = verify.Ledger(tmp_path / "l.json", {"device": "h", "kernels_sha256": ""}, tools[0].rows(9))
    verify.Lanes(ledger, tools, lambda piece, gpu: pytest.fail(f"{piece} {gpu}")).go([""], 2, 1.0)
    assert "no time yet" in verify.table(ledger.rows, tools)
