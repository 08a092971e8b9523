"""Performance profiles and scatters: the shares, areas and places that they draw are those of the records."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpubench.cli import main
from gpubench.model import Record, ResultSet
from gpubench.results.write import write
from gpubench.standing import standings
from gpubench.views.charts import profile, scatter
from gpubench.views.charts.files import Wish, charts
from gpubench.views.report import report_html
from gpubench.views.style import styled
from tests.views.figures import named, outside, words
from tests.views.samples import record, result

TIMES: dict[str, tuple[float | None, ...]] = {
    "gpubench:auto": (10, 10, 10, 10),
    "torch": (20, 5, 10.4, 400),
    "cub": (40, None, None, 10),
}


def made(first: int = 0) -> ResultSet:
    """Return four cases of three contenders; `cub` takes half of them."""
    records: list[Record] = []
    for number in range(4):
        for name, times in TIMES.items():
            status: Any = "ok" if times[number] is not None else "unsupported"
            records.append(record(f"cumsum/{first + number}/dim=0/float32", name, status, times[number]))
            if records[-1].summary is not None:
                records[-1].summary["ceiling_us"] = 8.0  # type: ignore[index] # a plain dict
    return result(*records)


def test_shares_and_areas_are_those_of_the_factors() -> None:
    """A share counts the factors up to a limit, a missing time never; the area is 1 for who is always first."""
    found = profile.factors(standings([made()]))
    assert list(found) == ["gpubench:auto", "cub", "torch"]
    assert found["gpubench:auto"] == [1, 1, 1, 2]
    assert found["cub"] == [1, 4, math.inf, math.inf]
    assert found["torch"] == [1, pytest.approx(1.04), 2, 40]
    assert [profile.share(found["torch"], limit) for limit in (1, 1.05, 2, 39, 40)] == [0.25, 0.5, 0.75, 0.75, 1]
    assert profile.area([1.0, 1.0]) == 1
    assert profile.area([math.inf, 1.0, 1000.0, math.sqrt(10)]) == pytest.approx((0 + 1 + 0 + 0.5) / 4)


def test_a_profile_draws_the_shares_and_names_them() -> None:
    """The line of a contender has its shares; the legend its figures; the note who is off the chart."""
    with styled():
        figure = named(charts(made(), Wish("profile")), "profile-cumsum")
        assert "torch  50 % within 1.05, area 0.67" in words(figure)
        told = words(figure).replace("\n", " ")
        assert "cub 2 without a time; torch 1 slower still" in told
        [line] = [line for line in figure.axes[0].lines if line.get_drawstyle() == "steps-post"][1:2]
        assert dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) == {1.0: 0.25, 4.0: 0.5, 10.0: 0.5}
        assert outside(figure) == []


def test_a_scatter_of_less_than_a_decade_has_plain_ticks() -> None:
    """Each axis has at least two numbers, and none is written as markup."""
    figure = named(charts(made(), Wish("scatter")), "scatter-cumsum")
    (axes,) = figure.axes
    axes.set_xlim(4, 30)
    figure.canvas.draw()
    for axis in (axes.xaxis, axes.yaxis):
        told = [label.get_text() for label in axis.get_ticklabels(which="both") if label.get_text()]
        assert not [label for label in told if "$" in label]
    assert len([label for label in axes.xaxis.get_ticklabels() if label.get_text()]) >= 2


def test_a_scatter_has_every_time_over_its_ceiling() -> None:
    """Each timed case is a mark at its least time and its own; the legend has the mean ratio."""
    with styled():
        figure = named(charts(made(), Wish("scatter")), "scatter-cumsum")
        marks = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
        assert sorted(y for line in marks for y in line.get_ydata()) == [5, 10, 10, 10, 10, 10, 10.4, 20, 40, 400]
        assert {x for line in marks for x in line.get_xdata()} == {8.0}
        assert "gpubench:auto  1.25 x (4)" in words(figure)
        assert outside(figure) == []


def test_what_cannot_be_compared_is_not_drawn() -> None:
    """One contender, simulated times or too few cases give no profile; no ceiling gives no scatter."""
    assert profile.charts([result(record(), record("cumsum/2/float32"))]) == []
    assert profile.charts([made()], least=5) == []
    assert scatter.charts(result(record(median_us=None, status="unsupported"))) == []


def test_many_results_give_one_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`plot --kind profile` counts the cases of all results together."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for number, path in enumerate(paths):
        write(made(10 * number), path)
    assert main(["plot", *map(str, paths), "-o", str(tmp_path / "charts"), "--kind", "profile"]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "charts" / "profile-cumsum.svg")]
    [chart] = profile.charts([made(), made(10)])
    assert "over 8 cases" in chart.alt


def test_the_report_names_the_cases_that_lose_and_draws_the_profile() -> None:
    """The report lists where the automatic choice is behind, worst first, and has both charts from ten cases on."""
    page = report_html(made())
    listed = page.partition("Furthest behind")[2].partition("</ol>")[0]
    assert listed.count("<li>") == 1
    assert "cumsum/1/dim=0/float32</a> gpubench:auto: 0.500x torch" in listed
    assert "Performance profile" not in page
    many = replace(made(), records=(*made().records, *made(4).records, *made(8).records))
    page = report_html(many)
    assert "Performance profile of cumsum over 12 cases" in page
    assert "Scatter plot of cumsum" in page
