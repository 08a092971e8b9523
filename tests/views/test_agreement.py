"""The agreement of clocks: the verdict, the table, and the page that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from gpubench.engine.agreement import interval_of_mean
from gpubench.engine.nvbench import figures
from gpubench.views import agreement
from gpubench.views.agreement import verdict
from gpubench.views.charts import agreement as charts
from gpubench.views.charts.files import files
from gpubench.views.style import styled

ROOT = Path(__file__).parents[2]
HASHES = ROOT / "tests" / "data" / "chart-hashes.json"
RECORDED = ROOT / "results" / "clocks" / "nvidia-h200.json"


def row(corrected: float, span: float, total: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a row of a document."""
    plain = {"operation": "sum", "elements": 1024, "launches": 1, "events_us": corrected + 2.0, "samples": 60}
    times = {"corrected_us": corrected, "cupti_span_us": span, "cupti_sum_us": total or span, "nvbench": None}
    return {**plain, **times, **more}


@pytest.mark.parametrize(
    ("corrected", "span", "total", "agrees"),
    [
        (1.14, 1.0, None, True),  # 0.15 us
        (1.16, 1.0, None, False),
        (0.84, 1.0, None, False),
        (102.9, 100.0, None, True),  # 3 %
        (103.1, 100.0, None, False),
        (7.7, 9.3, 7.5, True),  # two launches: between the sum of the durations and the span
        (7.2, 9.3, 7.5, False),
        (9.7, 9.3, 7.5, False),
    ],
)
def test_agreement_is_three_per_cent_or_a_seventh_of_a_microsecond(
    corrected: float, span: float, total: float | None, agrees: bool
) -> None:
    """Of CUPTI's span for one launch; between sum and span for several."""
    assert verdict(row(corrected, span, total)) is agrees


def test_the_page_shows_what_was_recorded() -> None:
    """The table in docs/method.md is the one that the command makes of the recorded file."""
    document = json.loads(RECORDED.read_text(encoding="utf-8"))
    made = agreement.block(document)
    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    assert agreement.into(page, made) == page


def test_rows_that_disagree_are_named() -> None:
    """A table of thirty rows must not hide two."""
    head = {"environment": {"device": {"name": "X"}}, "created": "2026", "launch_us": 3.0, "edges_us": 0.7}
    document = {**head, "launch_overhead_us": 2.0, "rows": [row(1.0, 1.0), row(2.0, 1.0, operation="scan")]}
    made = agreement.block(document)
    assert "in 1 of 2 rows" in made
    assert "The others: scan 2^10." in made


def test_a_page_without_marks_is_left_alone() -> None:
    """Nothing is written into a page that does not ask for it."""
    with pytest.raises(ValueError, match="agreement: begin"):
        agreement.into("# Page\n", "table")


def test_the_chart_is_what_was_recorded() -> None:
    """The chart that docs/method.md shows is the one that the command draws of the recorded file."""
    if json.loads(HASHES.read_text())["matplotlib"] != matplotlib.__version__:
        pytest.skip("the chart is of another version of matplotlib")
    ((name, data),) = files([charts.chart(json.loads(RECORDED.read_text(encoding="utf-8")))], ["svg"])
    assert data == (ROOT / "docs" / "charts" / "clocks" / name).read_bytes()
    assert f"charts/clocks/{name}" in (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("corrected", "span", "total"), [(1.14, 1.0, 1.0), (1.16, 1.0, 1.0), (8.0, 9.3, 7.5)])
def test_the_band_of_the_chart_is_the_verdict_of_the_table(corrected: float, span: float, total: float) -> None:
    """A mark lies in the band where, and only where, the row counts as agreeing."""
    one = row(corrected, span, total)
    low, high = charts.band(one)
    assert (low <= corrected - span <= high) is verdict(one)


def test_a_chart_of_a_clock_that_was_not_asked_is_drawn_without_it() -> None:
    """NVBench is optional."""
    document = {**json.loads(RECORDED.read_text(encoding="utf-8")), "rows": [row(2.0, 1.9), row(2.0, 1.9)]}
    chart = charts.chart(document)
    assert "at most 0.10 us off" in chart.alt
    with styled():
        assert len(chart.draw().axes) == 1


def test_nvbench_s_document_gives_microseconds_and_the_interval_of_its_mean() -> None:
    """Its times are seconds, its numbers text."""
    tags = {"time/gpu/mean": "2e-06", "time/gpu/stdev/absolute": "1e-07", "sample_size": "400", "walltime": "5.5"}
    state = {
        "axis_values": [{"name": "operation", "value": "copy"}, {"name": "power", "value": "10"}],
        "summaries": [{"tag": f"nv/cold/{tag}", "data": [{"value": value}]} for tag, value in tags.items()],
    }
    (found,) = figures({"benchmarks": [{"states": [state]}]}).items()
    assert found[0] == "copy/2^10"
    assert found[1]["mean_us"] == pytest.approx(2.0)
    assert found[1]["wall_s"] == 5.5
    assert found[1]["noise"] == pytest.approx(0.05)
    assert found[1]["interval"] == pytest.approx(interval_of_mean(2.0, 0.1, 400)) == pytest.approx(0.0049)
