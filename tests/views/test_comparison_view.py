"""A comparison reads well in 80 columns, and loses nothing in a file."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpubench.comparison import Comparison, Difference, Estimate, Mean, Row
from gpubench.views.comparison import comparison_markdown, comparison_text, ordered
from gpubench.views.comparison_files import comparison_json, junit
from gpubench.views.tables import Look

SLOW = Row(
    case="index_add/1000000x128/dim=0/indices=1048576/pattern=zipf/alpha=0.5/float16",
    operator="index_add",
    dtype="float16",
    old_contender="gpubench:atomic_vector_two_pass",
    new_contender="gpubench:atomic_vector_two_pass",
    verdict="SLOWER",
    estimate=Estimate(1.0512, 1.0401, 1.0623, 1e-6, 2e-5, 0.01),
    old_us=12345.6,
    new_us=12977.7,
    old_n=60,
    new_n=61,
    reasons=("registers 32 -> 64", "SM clock 1980 -> 1755 MHz", "driver 570.1 -> 580.2", "noisy (old and new)"),
)
SAME = Row("sum/1/float32", "sum", "float32", "numpy", "numpy", "SAME", Estimate(1.0, 0.999, 1.001, 1, 1, 0.01), 1, 1)
GONE = Row("sum/2/float32", "sum", "float32", "torch", "torch", "REMOVED", None, 5.0, None)
COMPARISON = Comparison(
    old="results/nvidia-h200/smoke-20260131T100000Z.json",
    new="results/nvidia-h200/smoke-20260201T100000Z.json",
    rows=(SAME, SLOW, GONE),
    means=(Mean("overall", "all", 2, 1.025, 1.02, 1.03), Mean("operator", "sum", 1, 1.0, 0.999, 1.001)),
    differences=(Difference("device.driver", "570.1", "580.2", True), Difference("python", "3.11", "3.12", False)),
    threshold=0.01,
    alpha=0.01,
)


@pytest.mark.parametrize("width", [80, 60, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long ids, contenders and reasons fit, and the verdict is never lost."""
    shown = comparison_text(COMPARISON, Look(width=width, color=True))
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= width
    for word in ("SLOWER", "REMOVED", "SAME", "1.051", "12.35 ms", "12.98 ms"):
        assert word in plain


def test_a_file_gets_one_whole_line_a_row() -> None:
    """Piped output names case, contender, verdict and reasons on one line, uncut."""
    lines = [line for line in comparison_text(COMPARISON).splitlines() if line.startswith(SLOW.case)]
    assert len(lines) == 1
    assert all(part in lines[0] for part in (SLOW.new_contender, "SLOWER", *SLOW.reasons))


def test_what_differs_around_the_results_is_said() -> None:
    """The driver stands among what matters, python among the rest, and the counts at the end."""
    lines = comparison_text(COMPARISON).splitlines()
    assert any(line.startswith("environment differs: device.driver 570.1 -> 580.2") for line in lines)
    assert any(line.startswith("also different: python") for line in lines)
    assert lines[-1] == "3 compared: 1 SLOWER, 1 SAME, 1 REMOVED"


def test_orders_and_the_filter_for_changes() -> None:
    """Ratio puts the slowest first and rows without one last; only-changed leaves what changed."""
    assert [row.verdict for row in ordered(COMPARISON.rows, "ratio")] == ["SLOWER", "SAME", "REMOVED"]
    assert [row.case for row in ordered(COMPARISON.rows, "name")] == sorted(row.case for row in COMPARISON.rows)
    assert [row.verdict for row in ordered(COMPARISON.rows, None, True)] == ["SLOWER", "REMOVED"]


def test_markdown_is_cut_between_rows() -> None:
    """Markdown stays under its limit and says what was left out."""
    many = Comparison("a", "b", (SLOW,) * 500, (), (), 0.01, 0.01)
    text = comparison_markdown(many, limit=5000)
    assert len(text.encode()) <= 5000
    assert "left out" in text
    assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))


def test_json_holds_every_field() -> None:
    """The JSON document has rows, estimates, means and differences by name."""
    document = comparison_json([COMPARISON], 1)
    one = document["comparisons"][0]
    assert one["rows"][1]["estimate"]["low"] == 1.0401
    assert one["means"][0]["ratio"] == 1.025
    assert one["differences"][0]["matters"] is True
    assert one["counts"] == {"SLOWER": 1, "SAME": 1, "REMOVED": 1}


def test_no_view_of_a_simulated_comparison_hides_that_it_is_one() -> None:
    """Text, Markdown, JSON and JUnit each say that the times are a simulator's."""
    simulated = replace(COMPARISON, simulated=True)
    assert "SIMULATED" in comparison_text(simulated, Look())
    assert "SIMULATED" in comparison_markdown(simulated)
    assert comparison_json([simulated], 0)["comparisons"][0]["simulated"] is True
    assert "simulated on the host" in junit([simulated], lambda _: False)
    assert "simulated on the host" not in junit([COMPARISON], lambda _: False)
