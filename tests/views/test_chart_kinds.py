"""What charts of one case or two results show: the forest, the samples, the ladder; and what is not measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.model import Ceiling, Record, ResultSet
from gpubench.results.read import read
from gpubench.views.charts import bandwidth, ceiling, ladder, samples, speedup
from gpubench.views.charts import compare as forest
from gpubench.views.charts.data import points
from tests.recorded import recorded
from tests.views.figures import SMALL, marks, named, words
from tests.views.generated import COPY, case_of, h200, sweep, timed_record, us_of

pytestmark = pytest.mark.usefixtures("drawing")


def changed() -> ResultSet:
    """Return SMALL with torch's kernels slower on cumsum and one record gone."""
    records: list[Record] = []
    for record in SMALL.records:
        moved, case = record.bytes or 0, record.case
        if record.timing is not None and record.contender == "torch" and case.operator == "cumsum":
            us = 1.1 * us_of("torch", moved, len(case.params["shape"]))
            record = timed_record(case, "torch", moved, us, f"{case.id} again")  # noqa: PLW2901 - the slower one
        records.append(record)
    return with_torch("2.11", replace(SMALL, records=tuple(records[:-2])))


def with_torch(version: str, result: ResultSet) -> ResultSet:
    """Return the result as one that used this version of torch."""
    libraries = {"libraries": {"torch": {"torch": version}}}
    return replace(result, environment={**result.environment, **libraries})


def test_the_forest_has_every_ratio_with_its_interval() -> None:
    """Each pair with a ratio is one mark with an interval, in the group of its verdict; the others are listed."""
    comparison = compare(with_torch("2.10", SMALL), changed(), Options(old="a", new="b"))
    figures = [chart.draw() for chart in forest.charts(comparison)]
    wanted = [row for row in comparison.rows if row.estimate is not None]
    found = [place for figure in figures for place in marks(figure.axes[0])]
    assert sorted(x for x, _ in found) == pytest.approx(sorted(row.estimate.ratio for row in wanted if row.estimate))
    text = "\n".join(words(figure) for figure in figures)
    assert comparison.count("SLOWER") >= 10
    for verdict in ("SLOWER", "SAME", "1 REMOVED"):
        assert verdict in text
    for figure in figures:
        low, high = figure.axes[0].get_xlim()
        assert low < 1 < high
        assert low * high == pytest.approx(1)
        assert len(figure.axes[0].patches) >= len(figure.axes[0].get_yticks())  # a threshold band for each row


CASE = "cumsum/4096x4096/dim=1/float32"


def test_samples_shows_every_sample() -> None:
    """Kept samples are full marks, discarded ones hollow; times, distribution and clock stand together."""
    mine = replace(SMALL, records=tuple(r for r in SMALL.records if r.case.id == CASE and r.contender != "numpy"))
    figure = named(samples.charts(mine), "samples-cumsum-4096x4096-dim=1-float32")
    times, clock, spread = figure.axes[:3]
    assert len(marks(times, hollow=False)) == 60
    assert len(set(marks(times, hollow=True))) >= 3
    assert len(marks(clock)) == 63
    assert "SM clock" in clock.get_ylabel()
    assert sum(patch.get_width() for patch in spread.patches) >= 60
    assert "3 above the scale (3 discarded)" in words(figure)
    assert "hollow: discarded" in words(figure)
    assert "round 3" in words(figure)


def test_samples_without_clocks_has_no_clock_axes() -> None:
    """Where no clock was read there is no empty axis for it."""
    mine = replace(SMALL, records=tuple(r for r in SMALL.records if r.case.id == CASE and r.contender == "numpy"))
    (chart,) = samples.charts(mine)
    assert [axes.get_ylabel() for axes in chart.draw().axes] == ["ms", ""]


def test_the_ladder_climbs_from_naive_to_best() -> None:
    """Bars go from naive to the best variant on the case with the most variants, each with its gain."""
    whole = sweep("gpubench:auto", "gpubench:tiled", "gpubench:naive", "gpubench:striped", dtypes=("float32",))
    figure = named(ladder.charts(whole), "ladder-cumsum")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "naive",
        "striped",
        "tiled",
        "decoupled_lookback (auto's choice)",
    ]
    widths = [patch.get_width() for patch in axes.patches]
    assert widths == sorted(widths)
    text = words(figure)
    assert f"{widths[1] / widths[0]:.3g}"[:4] in text
    assert "gain" in text
    assert "ceiling 4253" in text


@pytest.mark.parametrize("path", recorded("*/smoke-*.json"), ids=lambda path: str(path.name))
def test_recorded_results_are_drawn_whole(path: Path) -> None:
    """Of a committed result each rate is a mark of its operator's chart, inside the axes, and each share of the
    ceiling one of the dot plot; every other record is told under the chart.
    """
    result = read(path)
    found = points(result)
    charts = bandwidth.charts(result)
    for operator in dict.fromkeys(point.row.operator for point in found):
        mine = [point for point in found if point.row.operator == operator]
        drawn = [point for point in mine if point.rate is not None and point.row.bytes]
        figures = [chart.draw() for chart in charts if chart.title.startswith(f"{operator}:")]
        panels = [axes for figure in figures for axes in figure.axes]
        assert sum(len(marks(axes)) for axes in panels) == len(drawn) > 0
        for axes in panels:
            (left, right), (low, high) = axes.get_xlim(), sorted(axes.get_ylim())
            assert all(left < x < right and low < y < high for x, y in marks(axes))
        if len(mine) > len(drawn):
            assert f"Without a number here ({len(mine) - len(drawn)})" in words(figures[-1])
    shares = [place for chart in ceiling.charts(result) for place in marks(chart.draw().axes[0])]
    assert len(shares) == sum(point.fraction is not None for point in found)


def simulated() -> ResultSet:
    """Return SMALL as the host simulator would have given it."""
    records = tuple(
        replace(
            r,
            simulated=r.contender != "numpy",
            summary=None if r.summary is None else {**r.summary, "GBps": None, "fraction_of_ceiling": None},
        )
        for r in SMALL.records
    )
    return replace(SMALL, records=records, ceiling=Ceiling())


def test_simulated_results_are_marked_across_the_chart() -> None:
    """Every chart of a simulated result says so in large letters, has no ceiling, and no speed-up over real times."""
    content = simulated()
    one = replace(content, records=content.records[:3])
    for chart in (*bandwidth.charts(content), *samples.charts(one)):
        figure = chart.draw()
        large = [text for text in figure.texts if text.get_text() == "SIMULATED"]
        assert large
        assert float(large[0].get_fontsize()) > 40
        assert f"{COPY:.0f}" not in words(figure)
        assert "launch-bound" not in words(figure)
    assert ceiling.charts(content) == []
    assert speedup.charts(content, "numpy") == []


def test_numpy_beside_a_simulation_is_held_against_the_hosts_memory() -> None:
    """Without a GPU the bandwidth chart names what is real, and puts numpy under the host's own rates."""
    hosts = replace(simulated(), ceiling=Ceiling(copy_GBps=21.5, read_GBps=30.5, write_GBps=25.5))
    chart, *_ = bandwidth.charts(hosts)
    shown = words(chart.draw())
    assert "gpubench:auto (simulated)" in shown
    assert "numpy (real)" in shown
    assert "copy rate of the host's memory 21.5" in shown
    assert "Ceilings of the host's memory measured in this run, GB/s: copy 21.5, read 30.5, write 25.5." in shown
    assert "the copy rate of the host's memory is 21.5 GB/s; simulated, but for numpy" in chart.alt
    kernels = replace(hosts, records=tuple(r for r in hosts.records if r.contender != "numpy"))
    alone, *_ = bandwidth.charts(kernels)
    assert "21.5" not in words(alone.draw()) + alone.alt


def test_a_wrong_answer_has_no_speed() -> None:
    """A record whose answer is wrong is listed under the charts, never drawn."""
    wrong = tuple(replace(r, status="wrong") if r.contender == "torch" else r for r in SMALL.records)
    content = replace(SMALL, records=wrong)
    figure = named(ceiling.charts(content), "ceiling")
    assert len(marks(figure.axes[0])) == sum(p.fraction is not None for p in points(content)) > 20
    assert "torch 36 of 36 wrong" in words(figure)
    assert all("torch" not in chart.alt for chart in speedup.charts(content, "numpy"))


def test_samples_before_a_failure_are_no_speed() -> None:
    """A case that crashed after some samples is listed under the charts and drawn on none but that of its samples."""
    case, moved = case_of("sum", [2**20], "float32")
    fine = timed_record(case, "torch", moved, 100.0, case.id)
    crashed = replace(timed_record(case, "gpubench:auto", moved, 50.0, case.id), status="crashed")
    result = h200((fine, crashed))
    for kind in (bandwidth.charts, ceiling.charts, lambda results: speedup.charts(results, "torch", {case.id: 100.0})):
        for chart in kind(result):
            figure = chart.draw()
            assert "1 of 1 crashed" in words(figure)
            assert len(marks(figure.axes[0])) == 1
    assert speedup.charts(result, "torch") == []
