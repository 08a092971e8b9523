"""What a chart shows: nothing is lost on the way from the result, and nothing is claimed that was not measured."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpubench.analysis.compare import Options, compare
from gpubench.model import Ceiling, Record, ResultSet
from gpubench.results.read import read
from gpubench.views.charts import bandwidth, ceiling, dots, ladder, samples, speedup
from gpubench.views.charts import compare as forest
from gpubench.views.charts.data import points
from gpubench.views.charts.sheets import Chart
from gpubench.views.style import styled
from tests.views.generated import COPY, case_of, h200, sweep, timed_record, us_of


@pytest.fixture
def drawing() -> Iterator[None]:
    """Draw in the project's style."""
    with styled():
        yield


pytestmark = pytest.mark.usefixtures("drawing")


def words(figure: Any) -> str:
    """Return every text of a figure, a line each."""
    from matplotlib.text import Text

    return "\n".join(one.get_text() for one in figure.findobj(Text) if one.get_text())


def marks(axes: Any, hollow: bool | None = None) -> list[tuple[float, float]]:
    """Return the places of all markers on the axes, hollow ones or full ones only when asked."""
    found = []
    for line in axes.lines:
        if line.get_marker() in ("None", None, "") or line.get_linestyle() != "None":
            continue
        is_hollow = line.get_markerfacecolor() == "#ffffff"
        if hollow is None or hollow is is_hollow:
            found += list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    return found


def named(charts: list[Chart], name: str) -> Any:
    """Draw the chart of this name."""
    return next(chart for chart in charts if chart.name == name).draw()


RESULTS = Path(__file__).parents[2] / "results" / "nvidia-h200"
SMALL = sweep("gpubench:auto", "torch", "numpy", dtypes=("float32", "bfloat16"))


def test_bandwidth_has_a_mark_for_every_measurement() -> None:
    """Each record with a rate is one mark at (bytes, GB/s), in the panel of its dtype."""
    figure = named(bandwidth.charts(SMALL), "bandwidth-cumsum")
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert set(panels) == {"float32", "bfloat16"}
    for dtype, axes in panels.items():
        wanted = [
            (float(point.row.bytes or 0), rate)
            for point in points(SMALL)
            if point.row.operator == "cumsum" and point.row.dtype == dtype and (rate := point.rate) is not None
        ]
        assert len(wanted) >= 30
        assert sorted(marks(axes)) == [pytest.approx(pair) for pair in sorted(wanted)]
        left, right = axes.get_xlim()
        assert all(left < x < right for x, _ in marks(axes))
        assert axes.get_xscale() == "log"
        assert axes.get_ylim()[1] > 4800


def test_bandwidth_names_what_limits_a_kernel() -> None:
    """Ceiling, peak, launch-bound region, L2 size and what has no number stand on the chart, with units."""
    text = words(named(bandwidth.charts(SMALL), "bandwidth-cumsum"))
    for part in ("measured copy ceiling 4253", "theoretical peak 4800", "fits in L2 (60 MiB)", "launch-bound"):
        assert part in text
    assert "GB/s" in text
    assert "bytes moved" in text
    assert "copy of the same size" in text
    assert "Without a number here (1): cumsum/64x64/dim=0/complex64 gpubench:tiled (unsupported)" in text


def test_launch_bound_marks_are_hollow_and_in_the_shade() -> None:
    """A mark is hollow exactly where the median is under the limit, which is the edge of the shaded region."""
    figure = named(bandwidth.charts(SMALL), "bandwidth-cumsum")
    for axes in figure.axes:
        for x, rate in marks(axes, hollow=True):
            assert x / rate / 1e3 < 6.9
        for x, rate in marks(axes, hollow=False):
            assert x / rate / 1e3 >= 6.9 or rate < 10  # numpy is the host's and never launch-bound


def test_lines_join_one_size_only() -> None:
    """A line joins a sweep over lengths; cases of other shapes are marks beside it."""
    mine = [point for point in points(SMALL) if point.row.operator == "cumsum" and point.row.contender == "torch"]
    joined = bandwidth.sweeps(mine)
    assert sorted(len(sweep_) for sweep_ in joined) == [10, 10]
    assert all(len(point.record.case.params["shape"]) == 1 for sweep_ in joined for point in sweep_)


def test_no_line_spans_what_was_not_measured() -> None:
    """Sizes far apart are not joined, nor are two sizes."""
    sizes = [2**power for power in (3, 5, 7, 20, 22, 24, 26, 33, 35)]
    cases = [case_of("sum", [size], "float32") for size in sizes]
    records = [timed_record(case, "torch", moved, us_of("torch", moved), case.id) for case, moved in cases]
    joined = bandwidth.sweeps(points(h200(tuple(records))))
    assert [[point.record.case.params["shape"][0] for point in one] for one in joined] == [sizes[:3], sizes[3:7]]


def test_ceiling_rows_are_sorted_within_their_operator() -> None:
    """Operators stay in the result's order; within one the case nearest to the ceiling is first; 100 % is marked."""
    figure = named(ceiling.charts(SMALL), "ceiling")
    (axes,) = figure.axes
    labels = [one.get_text() for one in axes.get_yticklabels()]
    assert labels[0] == "268435456/dim=0/float32"
    assert len(labels) == len({p.row.case for p in points(SMALL) if p.fraction is not None})
    best: dict[int, float] = {}
    for x, y in marks(axes):
        best[round(y)] = max(x, best.get(round(y), 0.0))
    cumsum = [best[y] for y in sorted(best) if y <= 28]
    assert cumsum == sorted(cumsum, reverse=True)
    assert any(line.get_xdata()[0] == 100 for line in axes.lines if len(line.get_xdata()) == 2)
    assert "cumsum" in words(figure)
    assert "numpy runs on the host" in words(figure)


def test_no_mark_hides_another() -> None:
    """Contenders that reach the same share stand above one another in their row, each of them to be seen."""
    case, moved = case_of("sum", [2**20], "float32")
    names = ("gpubench:auto", "torch", "cupy", "inductor")
    result = h200(tuple(timed_record(case, name, moved, 100.0, case.id) for name in names))
    for chart in (*ceiling.charts(result), *speedup.charts(result, "torch")):
        (axes,) = chart.draw().axes
        heights = sorted(y for _, y in marks(axes) if y >= 0)
        assert len(heights) == len(set(heights)) >= 3
        assert all(b - a > 0.15 for a, b in pairwise(heights))
        assert {round(y) for y in heights} == {1}


def test_the_share_says_what_it_is_a_share_of() -> None:
    """With a sweep 100 % is the ceiling at the case's own size and mix, else the copy rate; more is explained."""
    committed = read(next(RESULTS.glob("peers-*.json")))
    said = words(ceiling.charts(committed)[0].draw())
    assert "at the case's own size and mix" in said
    assert "Over 100 %" in said
    records = tuple(
        replace(one, summary={**one.summary, "fraction_of_ceiling": None}) if one.summary else one
        for one in SMALL.records
    )
    plain = ceiling.charts(replace(SMALL, records=records))
    assert all("own size" not in words(chart.draw()) for chart in plain)


def outside(figure: Any) -> list[str]:
    """Return the words that do not lie wholly on the page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call] # matplotlib's own stubs leave it out
    page = figure.bbox
    shown = [*figure.texts]
    for axes in figure.axes:
        shown += [*axes.texts, axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    found = []
    for one in shown:
        if one.get_visible() and one.get_text():
            box = one.get_window_extent()
            if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1:
                found.append(one.get_text())
    return found


def test_no_words_are_cut_at_the_edge_of_the_page() -> None:
    """Every label, tick and note of every kind of chart of recorded results lies on the page."""
    kinds = (bandwidth.charts, ceiling.charts, lambda one: speedup.charts(one, "torch"))
    result = read(next(RESULTS.glob("peers-*.json")))
    charts = [chart for kind in kinds for chart in kind(result)]
    charts += ladder.charts(read(next(RESULTS.glob("seeds-*.json"))))
    charts += [one for one in samples.charts(result) if "16384x16384" in one.name]
    for chart in charts:
        assert (chart.name, outside(chart.draw())) == (chart.name, [])


def test_samples_are_counted_in_whole_numbers() -> None:
    """There is no sample 2.5, and a clock in whole MHz needs no decimals."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    result = read(next(RESULTS.glob("peers-*.json")))
    figure = named(samples.charts(result), "samples-sum-16384x16384-dim=0-float32")
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call] # matplotlib's own stubs leave it out
    ticks = [one.get_text() for axes in figure.axes for one in axes.get_xticklabels() if one.get_text()]
    assert ticks
    assert all(one.replace(",", "").replace("\u2212", "-").lstrip("-").isdigit() for one in ticks)


def test_many_cases_go_on_further_sheets() -> None:
    """At most 60 rows stand on a sheet, at the same height each, and together the sheets have every case."""
    records = [
        timed_record(case, "gpubench:auto", moved, us_of("gpubench:auto", moved), case.id)
        for case, moved in (case_of("sum", [2**20 + i], "float32") for i in range(130))
    ]
    charts = ceiling.charts(h200(tuple(records)))
    assert [chart.name for chart in charts] == ["ceiling", "ceiling-2", "ceiling-3"]
    figures = [chart.draw() for chart in charts]
    labels = [one.get_text() for figure in figures for one in figure.axes[0].get_yticklabels()]
    assert sorted(labels) == sorted(record.case.id.removeprefix("sum/") for record in records)
    assert max(len(figure.axes[0].get_yticklabels()) for figure in figures) <= dots.PAGE
    assert all(figure.get_size_inches()[1] > 44 * dots.ROW_HEIGHT for figure in figures)


def test_speedup_is_the_ratio_of_medians() -> None:
    """A mark stands at median(over) / median(contender), and the geometric mean is told and drawn."""
    figure = named(speedup.charts(SMALL, "torch"), "speedup-over-torch")
    (axes,) = figure.axes
    by_case = {(p.row.case, p.row.contender): p.row.median_us for p in points(SMALL)}
    wanted = [
        (by_case[case, "torch"] or 0.0) / us for (case, contender), us in by_case.items() if contender != "torch" and us
    ]
    assert sorted(x for x, y in marks(axes) if y >= 0) == pytest.approx(sorted(wanted))
    means = [x for x, y in marks(axes) if y < 0]
    torch = {case: us or 0.0 for (case, contender), us in by_case.items() if contender == "torch"}
    auto = [torch[case] / us for (case, contender), us in by_case.items() if contender == "gpubench:auto" and us]
    assert max(means) == pytest.approx(math.exp(sum(map(math.log, auto)) / len(auto)), rel=1e-9)
    assert axes.get_xscale() == "log"
    assert re.search(r"gpubench:auto  1\.\d+x \(36\)", words(figure))
    assert axes.get_xlim()[0] < 1 < axes.get_xlim()[1]


def test_a_filtered_result_keeps_its_yardstick() -> None:
    """The base of the speed-up is taken from the whole result, where the filter left it out."""
    only = replace(SMALL, records=tuple(r for r in SMALL.records if r.contender == "gpubench:auto"))
    assert speedup.charts(only, "torch") == []
    assert len(speedup.charts(only, "torch", speedup.base_medians(SMALL, "torch"))) == 1


def changed() -> ResultSet:
    """Return SMALL with torch's kernels slower on cumsum and one record gone."""
    records: list[Record] = []
    for record in SMALL.records:
        moved, case = record.bytes or 0, record.case
        if record.timing is not None and record.contender == "torch" and case.operator == "cumsum":
            us = 1.1 * us_of("torch", moved, len(case.params["shape"]))
            record = timed_record(case, "torch", moved, us, f"{case.id} again")  # noqa: PLW2901 - the slower one
        records.append(record)
    return replace(SMALL, records=tuple(records[:-2]))


def test_the_forest_has_every_ratio_with_its_interval() -> None:
    """Each pair with a ratio is one mark with an interval, in the group of its verdict; the others are listed."""
    comparison = compare(SMALL, changed(), Options(old="a", new="b"))
    figures = [chart.draw() for chart in forest.charts(comparison)]
    wanted = [row for row in comparison.rows if row.estimate is not None]
    found = [place for figure in figures for place in marks(figure.axes[0])]
    assert sorted(x for x, _ in found) == pytest.approx(sorted(row.estimate.ratio for row in wanted if row.estimate))
    text = "\n".join(words(figure) for figure in figures)
    assert comparison.count("SLOWER") > 20
    for verdict in ("SLOWER", "SAME", "(REMOVED)"):
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
    assert [one.get_text() for one in axes.get_yticklabels()] == [
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
    assert "measured copy ceiling 4253" in text


RECORDED = sorted((Path(__file__).parents[2] / "results").rglob("smoke-*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: str(path.name))
def test_recorded_results_are_drawn_whole(path: Path) -> None:
    """Of a committed result each rate is a mark of its operator's chart, inside the axes, and each share of the
    ceiling one of the dot plot; every other record is told under the chart.
    """
    result = read(path)
    found = points(result)
    for chart in bandwidth.charts(result):
        operator = chart.title.partition(":")[0]
        mine = [point for point in found if point.row.operator == operator]
        drawn = [point for point in mine if point.rate is not None and point.row.bytes]
        figure = chart.draw()
        assert sum(len(marks(axes)) for axes in figure.axes) == len(drawn) > 0
        for axes in figure.axes:
            (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
            assert all(left < x < right and low < y < high for x, y in marks(axes))
        if len(mine) > len(drawn):
            assert f"Without a number here ({len(mine) - len(drawn)})" in words(figure)
    shares = [place for chart in ceiling.charts(result) for place in marks(chart.draw().axes[0])]
    assert len(shares) == sum(point.fraction is not None for point in found) > 0


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
    assert len(marks(figure.axes[0])) == 36
    assert "torch (wrong)" in words(figure)
    assert "and 17 more" in words(figure)
    assert all("torch" not in chart.alt for chart in speedup.charts(content, "numpy"))


def test_samples_before_a_failure_are_no_speed() -> None:
    """A case that crashed after some samples is listed under the charts and drawn on none but that of its samples."""
    case, moved = case_of("sum", [2**20], "float32")
    fine = timed_record(case, "torch", moved, 100.0, case.id)
    crashed = replace(timed_record(case, "gpubench:auto", moved, 50.0, case.id), status="crashed")
    result = h200((fine, crashed))
    for kind in (bandwidth.charts, ceiling.charts, lambda one: speedup.charts(one, "torch", {case.id: 100.0})):
        for chart in kind(result):
            figure = chart.draw()
            assert "(crashed)" in words(figure)
            assert len(marks(figure.axes[0])) == 1
    assert speedup.charts(result, "torch") == []
