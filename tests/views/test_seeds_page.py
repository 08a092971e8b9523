"""The page of the texts' claims: verdicts follow the figures, and what was not measured is never made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench.model import Record
from gpubench.results.read import read
from gpubench.suite.expand import load_suite
from gpubench.views.seeds import page
from gpubench.views.seeds_claims import CLAIMS, FEW_1D, FEW_3D, MANY_2D, TABLE, WORKED
from tests.views.samples import record, result

ROOT = Path(__file__).parents[2]


def line(text: str, *words: str) -> str:
    """Return the one line that holds all words."""
    (found,) = [one for one in text.splitlines() if all(word in one for word in words)]
    return found


def pair(case: str, slow: tuple[str, float], fast: tuple[str, float]) -> list[Record]:
    """Return the records of two contenders."""
    return [record(case, f"gpubench:{name}", median_us=us) for name, us in (slow, fast)]


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
    assert text.count("not measured") >= len(CLAIMS) + len(TABLE) + len(WORKED)
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
    """The notes of the record decide, and a difference is said."""
    case, wanted = WORKED[0]
    right = record(case, "gpubench:reduce_config", kernel={"notes": {"config": wanted}})
    wrong = record(case, "gpubench:reduce_config", kernel={"notes": {"config": {**wanted, "block": [64, 2]}}})
    assert "| yes |" in line(page(result(right), "x.json"), case, "block")
    assert "| **no** |" in line(page(result(wrong), "x.json"), case, "block")


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
    for case, _ in WORKED:
        assert "gpubench:reduce_config" in cases[case]


def test_the_committed_page_is_what_its_result_gives() -> None:
    """docs/seeds.md was not edited by hand, and was made anew after the last change: scripts/seeds."""
    committed = (ROOT / "docs" / "seeds.md").read_text("utf-8")
    newest = sorted((ROOT / "results").glob("*/seeds-*.json"), key=lambda path: path.name)[-1]
    assert committed == page(read(newest), newest.relative_to(ROOT).as_posix()), "run scripts/seeds"
