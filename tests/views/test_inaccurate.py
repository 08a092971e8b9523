"""A library's answer beyond the bound: its time stays, and every view says what it is worth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpubench.model import Check, ResultSet
from gpubench.views.charts import bandwidth, ceiling, speedup
from gpubench.views.columns import Look
from gpubench.views.report import report_html
from gpubench.views.rows import rows
from gpubench.views.tables import results_markdown, results_table
from gpubench.views.text import markdown
from studies.measured import page
from tests.views.figures import crosses, marks
from tests.views.samples import CASE, record, result

BEYOND = Check(False, 1.0, 225.0, {"index": [3], "found": 2.0, "wanted": 1.0, "allowed": 0.004})


def beside(status: str = "inaccurate") -> ResultSet:
    """Return one case: ours, an accurate library, and a faster one whose answer is beyond the bound."""
    fast = record(contender="cub", median_us=36.0, status="inaccurate", check=BEYOND, kernel=None)
    return result(record(), record(contender="torch", median_us=50.0, kernel=None), replace(fast, status=status))  # type: ignore[arg-type] # a status


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_narrow_table_keeps_status_and_error(width: int) -> None:
    """The status and how far the answer is off never fall away before rates and ratios do."""
    text = results_table(beside(), Look(width=width))
    assert max(len(line) for line in text.splitlines() if line.startswith("  ")) <= width
    (line,) = [line for line in text.splitlines() if line.strip().startswith("cub ")]
    assert "over 225" in line
    assert line.endswith("inaccurate")
    assert "1 answers of other libraries are inaccurate" in text
    assert "1 inaccurate" in text


def test_a_table_without_such_answers_spends_no_room_on_errors() -> None:
    """Where all answers are right the error is still the first to go."""
    fine = replace(beside(), records=beside().records[:2])
    assert "err/allowed" not in results_table(fine, Look(width=80))


def test_it_stays_a_peer_and_is_marked_as_one() -> None:
    """Its time is compared with, and the name of the best peer carries the mark, in text and in Markdown."""
    ours, torch, _ = rows(beside())
    assert (ours.best_peer, ours.peer_inaccurate, ours.versus_peer) == ("cub", True, 0.9)
    assert torch.inaccurate is False
    assert "cub*" in results_table(beside())
    assert f"| {markdown('cub*')} |" in results_markdown(beside())
    for text in (results_table(beside()), results_markdown(beside()).replace(markdown("*"), "*")):
        assert "are inaccurate (* as best peer): beyond our bound" in text


def test_a_throttled_one_is_marked_all_the_same() -> None:
    """Another status does not hide that the answer was beyond the bound."""
    *_, cub = rows(beside("throttled"))
    assert cub.inaccurate
    assert "over 225" in results_table(beside("throttled"), Look(width=80))


def test_charts_cross_it_out() -> None:
    """Its mark is drawn with a cross over it, and the legend says what that means; accurate ones have none."""
    made = (bandwidth.charts(beside()), ceiling.charts(beside()), speedup.charts(beside(), "torch"))
    for (chart,) in made:
        figure = chart.draw()
        found = [place for axes in figure.axes for place in crosses(axes)]
        assert len(found) == 1
        assert found[0] in [place for axes in figure.axes for place in marks(axes)]
        assert any("crossed: inaccurate" in text.get_text() for legend in figure.legends for text in legend.get_texts())
    accurate = replace(beside(), records=beside().records[:2])
    (chart,) = bandwidth.charts(accurate)
    assert not [place for axes in chart.draw().axes for place in crosses(axes)]


def test_the_report_says_so_in_words() -> None:
    """Status and answer are told; it is no failure."""
    text = report_html(beside())
    assert "inaccurate" in text
    assert "beyond the error that ours are allowed, largest error 1" in text
    assert "WRONG" not in text


def test_the_page_of_measured_times_marks_it() -> None:
    """The table of recorded times carries a sign that its head explains."""
    text = page([("results/x.json", beside())])
    assert f"`{CASE}` | 40.00 us | 50.00 us | 36.00 us†" in text
    assert "† are inaccurate" in text
