"""The tables of random cases: every case of every result counts once, and the worst stand first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.results.write import write
from studies import unseen
from tests.views.samples import record, result

ROOT = Path(__file__).parents[2]
FIRST, SECOND, THIRD = (f"cumsum/{size}/dim=0/float32" for size in (100, 200, 300))


def test_shares_and_means_are_over_all_cases_of_all_results() -> None:
    """The best library of each case counts; a case that no other library takes does not."""
    one = result(
        record(FIRST, median_us=10.0),
        record(FIRST, "torch", median_us=20.0),
        record(FIRST, "jax", median_us=40.0),
        record(SECOND, median_us=10.0),
        record(SECOND, "torch", median_us=5.0),
    )
    two = result(record(FIRST, median_us=10.0), record(FIRST, "torch", median_us=9.6), record(THIRD, median_us=10.0))
    (found,) = unseen.standings([one, two])
    assert found.ratios == pytest.approx([0.5, 0.96, 2.0])
    assert found.near(0.95) == pytest.approx(2 / 3)
    table = unseen.section([one, two])
    assert "| cumsum | 3 | 0.986x | 66.7 % | 1 | 0.500x |" in " ".join(table.split())
    assert table.index(SECOND) < table.index(FIRST)
    assert "](charts/unseen/profile-cumsum.svg)" in table


def test_a_page_keeps_what_stands_around_the_tables(tmp_path: Path) -> None:
    """Only what lies between the marks changes; a page without them is left as it is, and told."""
    made, page, charts = tmp_path / "one.json", tmp_path / "page.md", tmp_path / "charts"
    write(result(record(FIRST), record(FIRST, "torch")), made)
    command = [sys.executable, "scripts/unseen", str(made), "--page", str(page), "--charts", str(charts)]
    page.write_text("nothing\n", encoding="utf-8")
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 2
    assert "has no <!-- unseen: begin" in told.stderr
    assert page.read_text(encoding="utf-8") == "nothing\n"
    now = unseen.put(f"before\n{unseen.BEGIN}\nold\n{unseen.END}\nafter\n", "new")
    assert now == f"before\n{unseen.BEGIN}\n\nnew\n{unseen.END}\nafter\n"
