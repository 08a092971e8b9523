"""The page of the texts' claims: verdicts follow the figures, and what was not measured is never made up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpubench.model import Record
from gpubench.operators.cumsum.pytorch.thread_ratio import ceil_log2, log_threads_x
from gpubench.results.read import read
from gpubench.suite.expand import load_suite
from gpubench.suite.explain import ASSUMED, explain
from studies.texts.claims import (
    ACROSS,
    CLAIMS,
    FEW_1D,
    FEW_3D,
    MANY_2D,
    RATIO_HOLDS,
    SLIPS,
    TABLE,
    WORDS,
    WORKED,
    Worked,
)
from studies.texts.counted import counts_beside
from studies.texts.page import page
from tests.recorded import recorded
from tests.views.samples import record, result

ROOT = Path(__file__).parents[2]


def line(text: str, *words: str) -> str:
    """Return the one line that holds all words."""
    (found,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return found


def pair(case: str, *times: tuple[str, float]) -> list[Record]:
    """Return the records of contenders, two as a rule."""
    return [record(case, f"gpubench:{name}", median_us=us) for name, us in times]


@pytest.mark.parametrize(
    ("uncollapsed", "collapsed", "said"),
    [
        (90.0, 50.0, "**holds** |"),
        (60.0, 50.0, "**holds**, by less than half as much"),
        (50.0, 90.0, "**does not hold**"),
        (50.0, 50.01, "**undecided**"),
    ],
)
def test_verdicts_follow_the_figures(uncollapsed: float, collapsed: float, said: str) -> None:
    """The same claim holds, does not hold or is undecided by the medians' intervals alone."""
    records = pair(FEW_3D, ("uncollapsed", uncollapsed), ("auto_pytorch", collapsed))
    found = line(page(result(*records), "x.json"), "Merging dims takes")
    assert said in found
    assert "1.67x" in found  # theirs: 300 / 180
    assert found.count("us |") == 2


def test_what_was_not_measured_is_said() -> None:
    """An empty result gives no times and no verdict."""
    text = page(result(), "x.json")
    assert text.count("not measured") >= len(CLAIMS) + len(TABLE) + len(WORKED) + len(SLIPS)
    assert "| **holds**" not in text
    assert "torch was not measured" in text


def test_failed_records_give_no_times() -> None:
    """A wrong answer's time is no evidence."""
    records = pair(FEW_3D, ("uncollapsed", 90.0), ("auto_pytorch", 50.0))
    records.append(record(FEW_1D, "gpubench:oneflow", "wrong", 3.25))
    text = page(result(*records), "x.json")
    assert "3.25 us" not in text


def test_the_table_says_where_this_gpu_differs() -> None:
    """Who is faster here beside who was faster there."""
    records = [
        *pair(FEW_3D, ("oneflow", 40.0), ("auto_pytorch", 60.0)),
        *pair(MANY_2D, ("oneflow", 40.0), ("auto_pytorch", 40.01)),
    ]
    text = page(result(*records), "x.json")
    assert line(text, FEW_3D, "186.88 us").endswith("| OneFlow | **no** |")
    assert line(text, MANY_2D, "27.87 us").endswith("| equal | yes |")


def test_configurations_are_compared_with_the_texts() -> None:
    """The notes and the launch of the record decide, and a difference is said with the number at fault."""
    example = WORKED[0]
    launch = {"kernel": "k", "grid": [1024, 1, 1], "block": [32, 4, 1]}
    rest = {key: value for key, value in example.wanted.items() if key not in launch}
    right = record(example.case, example.contender, kernel={"notes": {"config": rest}, "launches": [launch]})
    other = {**launch, "block": [64, 2, 1]}
    wrong = record(example.case, example.contender, kernel={"notes": {"config": rest}, "launches": [other]})
    assert line(page(result(right), "x.json"), example.case, "num inputs").endswith("| the same |")
    assert "| **not the same**: block 64 x 2 |" in line(page(result(wrong), "x.json"), example.case, "num inputs")


@pytest.mark.parametrize(("threads", "said"), [(512, True), (256, False)])
def test_a_launch_that_was_assumed_is_marked(threads: int, said: bool) -> None:
    """Times of OneFlow's design under another launch are not taken for the design's."""
    kernel = {"launches": [{"grid": [8192, 1, 1], "block": [threads, 1, 1]}]}
    text = page(result(record(FEW_3D, "gpubench:oneflow", kernel=kernel)), "x.json")
    assert ("verdicts on OneFlow, need another run" in text) is said


def test_slips_of_the_texts_stand_beside_what_their_code_gives() -> None:
    """What a text says against the code it quotes is told in words, with what the variant chose."""
    slip = SLIPS[0]
    kernel = {"launches": [{"grid": [1, 1, 1], "block": [8, 2, 1]}]}
    text = page(result(record(slip.case, slip.contender, kernel=kernel)), "x.json")
    assert "| block 8 x 2 | the same |" in line(text, slip.says)


def test_slips_in_words_are_told() -> None:
    """What a text says wrongly without a number that a case shows stands on the page all the same."""
    text = page(result(), "x.json")
    assert all(words.replace("_", r"\_") in text or words in text for words in WORDS)


@given(st.integers(1, 2**20), st.integers(1, 2**20))
def test_the_rule_keeps_the_ratio_for_odd_differences_only(rows: int, length: int) -> None:
    """Within the bounds the threads' ratio is that of length to rows where their logarithms differ by an odd number."""
    assert RATIO_HOLDS in WORDS
    difference = ceil_log2(length) - ceil_log2(rows)
    across = (9 + difference) // 2
    assume(4 <= across <= 9)
    assert log_threads_x(rows, length) == across
    ratio = across - (9 - across)
    assert ratio == (difference if difference % 2 else difference - 1)


def test_what_was_counted_stands_beside_what_it_improves() -> None:
    """Bytes and instructions of a pair are in one line, with the share that is saved; nothing without a count."""
    counts: dict[str, Any] = {
        FEW_3D: {
            "gpubench:uncollapsed": {"read": 3_000_000, "written": 1_000_000, "instructions": 8_000_000},
            "gpubench:auto_pytorch": {"read": 2_000_000, "written": 1_000_000, "instructions": 6_000_000},
            "gpubench:small_index": {"read": 1, "written": 1, "instructions": 1},
        }
    }
    text = page(result(), "x.json", counts)
    found = line(text, "4.00 MB", "3.00 MB")
    assert "8.000 M | 6.000 M | 25.0 %" in found
    assert "index_add: what merging dims" not in page(result(), "x.json")
    assert "index_add: what merging dims" not in page(result(), "x.json", {FEW_3D: {}})


def test_threads_along_a_row_are_compared_with_the_rules() -> None:
    """The time with each number of threads, the number that the rule takes, and its time over the best."""
    case = "cumsum/4096x4096/dim=1/float32"
    records = [
        record(case, f"gpubench:{name}", median_us=us) for name, us in zip(ACROSS, (60.0, 50.0, 40.0), strict=False)
    ]
    records.append(record(case, "gpubench:sklansky_rows", median_us=60.0, kernel={"notes": {"threads_x": 16}}))
    found = line(page(result(*records), "x.json"), case, "1.50x")
    assert "| 16 | 1.50x |" in found


def test_what_torch_did_not_time_is_counted_and_named() -> None:
    """A mean over some cases says how many are missing, with their ids and the reason."""
    records = [
        record("sum/a/float32", "gpubench:auto_pytorch", median_us=10.0),
        record("sum/a/float32", "torch", median_us=10.0),
        record("sum/b/float32", "gpubench:auto_pytorch", median_us=10.0),
        record("sum/b/float32", "torch", "device_error", None, message="it waits for the device"),
        record("cumsum/c/float32", "gpubench:auto_pytorch", median_us=10.0),
    ]
    text = page(result(*records), "x.json")
    assert "over 1 cases, within 10%; **1 more have no time of torch**" in line(text, "- sum: geometric mean")
    assert "`sum/b/float32`" in line(text, "device&#95;error: it waits for the device")
    assert "- cumsum: not measured; **1 more have no time of torch**" in text
    assert "| `sum/b/float32` | `torch` | - | - | **device&#95;error** |" in text


@pytest.mark.parametrize(
    ("case", "explained"),
    [
        ("cumsum/67108864/dim=0/complex64", True),
        ("cumsum/67108864/dim=0/bfloat16", True),
        ("cumsum/67108864/dim=0/float32", False),
        ("cumsum/16384x16384/dim=0/float16", False),
    ],
)
def test_an_explanation_is_for_the_cases_that_it_is_about(case: str, explained: bool) -> None:
    """A reason that lies in one kernel and some dtypes is not given for others, nor for the other direction."""

    def told(ours: float, torch: float) -> str:
        records = [record(case, "gpubench:auto_pytorch", median_us=ours), record(case, "torch", median_us=torch)]
        return line(page(result(*records), "x.json").split("## Every case")[0], f"`{case}`")

    assert told(10.0, 20.0).endswith(": not explained") is not explained
    assert told(20.0, 10.0).endswith(": not explained")


def test_torch_is_compared_on_large_cases_only() -> None:
    """The geometric mean of cases of at least 16 MB, those over 10 % off by name."""
    records = [
        record("sum/a/float32", "gpubench:auto_pytorch", median_us=20.0),
        record("sum/a/float32", "torch", median_us=10.0),
        record("sum/b/float32", "gpubench:auto_pytorch", median_us=10.0),
        record("sum/b/float32", "torch", median_us=20.0),
        record("sum/c/float32", "gpubench:auto_pytorch", median_us=90.0, bytes=1000),
        record("sum/c/float32", "torch", median_us=10.0, bytes=1000),
    ]
    text = page(result(*records), "x.json").split("## Every case")[0]
    assert "sum: geometric mean **1x** over 2 cases, within 10%" in text.replace("1.00x", "1x")
    assert "sum/a/float32` 2.00x: not explained" in text
    assert "sum/c/float32" not in text


def test_thread_rules_and_widths_appear_when_measured() -> None:
    """The sections of cumsum and elementwise are there when the suite measured their variants, else not."""
    rule = pair("cumsum/1048576x16/dim=1/float32", ("sklansky_rows_unsigned", 900.0), ("sklansky_rows", 300.0))
    widths = [
        record("elementwise/add/float16", f"gpubench:{name}", median_us=us)
        for name, us in (("unrolled", 30.0), ("vectorized_2", 25.0), ("vectorized_8", 20.0))
    ]
    text = page(result(*rule, *widths), "x.json")
    assert "costs time" in line(text, "cumsum/1048576x16", "| 3.00x |")
    assert "1.5x" in line(text, "elementwise/add/float16", "holds").replace("1.50x", "1.5x")
    assert "cumsum: the intended rule" not in page(result(), "x.json")


def test_a_case_is_taken_whole_from_the_last_result_that_has_it() -> None:
    """Times of two runs are never set beside each other, even where the later one lacks a contender."""
    first = result(*pair(FEW_3D, ("uncollapsed", 90.0), ("auto_pytorch", 50.0)), *pair(FEW_1D, ("oneflow", 7.0)))
    second = result(*pair(FEW_3D, ("uncollapsed", 60.0)))
    text = page(first, "a.json", later=[(second, "b.json")])
    assert "`a.json`" in text
    assert ", then `b.json`" in text
    assert "90.00 us" not in text
    assert "50.00 us" not in text
    assert "60.00 us" in text
    assert "7.000 us" in text


def test_a_run_that_was_stopped_does_not_hide_what_it_did_not_reach() -> None:
    """Cases of which a later, stopped run skipped a contender are still those of the run before it."""
    first = result(*pair(FEW_3D, ("uncollapsed", 90.0), ("auto_pytorch", 50.0)), *pair(FEW_1D, ("oneflow", 7.0)))
    skipped = record(FEW_3D, "gpubench:auto_pytorch", status="skipped", summary=None)
    changes: dict[str, Any] = {"extra": {"stopped": "interrupted"}}
    second = result(*pair(FEW_3D, ("uncollapsed", 60.0)), skipped, *pair(FEW_1D, ("oneflow", 8.0)), **changes)
    text = page(first, "a.json", later=[(second, "b.json")])
    assert "50.00 us" in text
    assert "60.00 us" not in text
    assert "8.000 us" in text


def test_a_simulated_result_is_marked() -> None:
    """Times of a simulator are never shown as a GPU's."""
    assert "This result was simulated" in page(result(record(simulated=True)), "x.json")


def test_hostile_names_do_not_break_the_page() -> None:
    """A file's strings cannot add cells or rows."""
    changes: dict[str, Any] = {"created": "x\n# heading | cell"}
    text = page(result(record("sum/a|b\n# c/float32"), **changes), "x.json")
    assert "\n# heading" not in text
    assert "\n# c" not in text


def test_the_suite_has_every_case_of_the_page() -> None:
    """Claims, table and worked examples are cases of the suite, with the contenders that they compare."""
    cases = {case.id: case.contenders for case in load_suite("seeds").cases}
    for claim in CLAIMS:
        assert {claim.slow, claim.fast} <= set(cases[claim.case]), claim
    for case, *_ in TABLE:
        assert {"gpubench:auto_pytorch", "gpubench:oneflow", "torch"} <= set(cases[case])
    for example in (*WORKED, *SLIPS):
        assert example.contender in cases[example.case], example


def test_the_committed_page_is_what_its_result_gives() -> None:
    """docs/seeds.md was not edited by hand, and was made anew after the last change: scripts/seeds."""
    committed = (ROOT / "docs" / "seeds.md").read_text("utf-8")
    paths = recorded("*/seeds-*.json*")
    first, *later = [(read(path), path.relative_to(ROOT).as_posix()) for path in paths]
    assert committed == page(*first, counts_beside(paths[-1]), later), "run scripts/seeds"


def test_no_difference_to_torch_is_left_unexplained() -> None:
    """Every case of the recorded result that is further off than 10 % has a reason."""
    assert "not explained" not in (ROOT / "docs" / "seeds.md").read_text("utf-8")


@pytest.mark.parametrize("example", [*WORKED, *SLIPS], ids=lambda example: f"{example.case}-{example.contender}")
def test_the_plans_of_the_worked_examples_are_those_of_the_texts(example: Worked) -> None:
    """What the page compares in a result holds for the plans themselves, without a GPU."""
    case = next(case for case in load_suite("seeds").cases if case.id == example.case)
    (told,) = explain(case, ASSUMED, [example.contender])
    first = told.steps[0]
    kernel = {"notes": told.notes, "launches": [first]}
    text = page(result(record(example.case, example.contender, kernel=kernel)), "x.json")
    assert "| the same |" in text
    assert "**not the same**" not in text


def script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run scripts/seeds."""
    command = [sys.executable, str(ROOT / "scripts" / "seeds"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_page_is_not_made_from_another_suites_result(tmp_path: Path) -> None:
    """A result of another suite would replace the page by one without a measurement: refused, nothing written."""
    other, target = recorded("*/smoke-2*.json")[-1], tmp_path / "page.md"
    told = script(other, "--output", target)
    assert told.returncode == 2
    assert "'smoke'" in told.stderr
    assert "gpubench run seeds" in told.stderr
    assert not target.exists()


def test_a_place_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    """No traceback: the path, the system's reason, and what to do."""
    newest = recorded("*/seeds-*.json*")[-1]
    told = script(newest, "--output", tmp_path / "absent" / "page.md")
    assert told.returncode == 2
    assert "page.md: cannot be written: No such file or directory" in told.stderr
    assert "Traceback" not in told.stderr
