"""The tables beside other libraries: right figures, nothing wrong or simulated counted, foreign names harmless."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.results.write import write
from studies import measured
from tests.views.samples import record, result

ROOT = Path(__file__).parents[2]
FIRST, SECOND = "cumsum/100/dim=0/float32", "cumsum/200/dim=0/float32"


def test_means_are_geometric_and_over_the_cases_that_a_library_has() -> None:
    """A library that is missing in a case takes no part in its mean; the best one of each case does."""
    one = result(
        record(FIRST, median_us=10.0),
        record(FIRST, "torch", median_us=20.0),
        record(FIRST, "cupy", median_us=80.0),
        record(SECOND, median_us=10.0),
        record(SECOND, "torch", median_us=5.0),
    )
    (found,) = measured.summaries(one)
    assert found.cases == 2
    assert found.over["torch"] == pytest.approx(1.0)
    assert found.over["cupy"] == pytest.approx(8.0)
    assert found.over_best == pytest.approx(1.0)
    assert found.slower == 1


def test_what_failed_or_was_simulated_is_no_figure() -> None:
    """A wrong answer has no time in the tables, ours or another's; neither has a simulated one."""
    one = result(
        record(FIRST, status="wrong", median_us=1.0),
        record(FIRST, "torch", median_us=20.0),
        record(SECOND, median_us=10.0),
        record(SECOND, "torch", status="wrong", median_us=1.0),
        record("cumsum/300/dim=0/float32", simulated=True, median_us=3.0),
    )
    (line,) = measured.lines(one)
    assert line.ours.case == SECOND
    assert line.peers == {}


def test_foreign_names_are_only_text() -> None:
    """Names from a result cannot break a row, make a link or bring HTML into the page."""
    evil = "a|b<script>[x](http://y)\n"
    page = measured.page([("r|.json", result(record(f"cumsum/{evil}", median_us=9.0), record(f"cumsum/{evil}", evil)))])
    assert "<script>" not in page
    assert "](http" not in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    counts = {line.count("|") for line in rows}
    assert counts == {6, 7}, rows  # the means, the case


def test_the_command_writes_both_places(tmp_path: Path) -> None:
    """The page is made anew; of the README only what stands between the marks changes."""
    write(result(record(FIRST, median_us=10.0), record(FIRST, "torch", median_us=20.0)), tmp_path / "r.json")
    readme, page = tmp_path / "README.md", tmp_path / "page.md"
    begin, end = "<!-- measured: begin (scripts/tables writes this) -->", "<!-- measured: end -->"
    readme.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    command = [sys.executable, str(ROOT / "scripts" / "tables"), str(tmp_path / "r.json")]
    subprocess.run([*command, "--readme", str(readme), "--page", str(page)], check=True)
    text = readme.read_text()
    assert text.startswith(f"before\n{begin}\n")
    assert text.endswith(f"\n{end}\nafter\n")
    assert "old" not in text
    assert "| cumsum | 1 |" in text
    assert "2.00x" in text
    assert f"`{FIRST}`" in page.read_text()


def test_the_committed_tables_follow_from_the_committed_results(tmp_path: Path) -> None:
    """README.md and docs/measured.md are what the command makes of the newest results."""
    readme, page = tmp_path / "README.md", tmp_path / "measured.md"
    readme.write_bytes((ROOT / "README.md").read_bytes())
    command = [sys.executable, str(ROOT / "scripts" / "tables"), "--readme", str(readme), "--page", str(page)]
    subprocess.run(command, check=True)
    assert page.read_bytes() == (ROOT / "docs" / "measured.md").read_bytes()
    assert readme.read_bytes() == (ROOT / "README.md").read_bytes()


def test_without_another_library_the_command_says_what_to_do(tmp_path: Path) -> None:
    """A result of our own kernels alone is refused in one line, and nothing is written."""
    write(result(record(FIRST)), tmp_path / "r.json")
    command = [sys.executable, str(ROOT / "scripts" / "tables"), str(tmp_path / "r.json")]
    done = subprocess.run([*command, "--page", str(tmp_path / "p.md")], capture_output=True, text=True)
    assert done.returncode == 2
    assert "scripts/record" in done.stderr
    assert not (tmp_path / "p.md").exists()
