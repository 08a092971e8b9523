"""What a chart shows: nothing is lost on the way from the result, and nothing is claimed that was not measured."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from gpubench.results.read import read
from gpubench.views.charts import bandwidth, ceiling, dots, ladder, samples, speedup
from gpubench.views.charts.data import points
from gpubench.views.rows import rows
from tests.recorded import recorded
from tests.views.figures import SMALL, marks, named, outside, words
from tests.views.generated import case_of, h200, timed_record, us_of

pytestmark = pytest.mark.usefixtures("drawing")


def test_bandwidth_has_a_mark_for_every_measurement() -> None:
    """Each record with a rate is one mark: at (bytes, GB/s) in the panel of its sweep, or at GB/s in its case's row."""
    swept, rows_ = (named(bandwidth.charts(SMALL), name) for name in ("bandwidth-cumsum", "bandwidth-cumsum-2"))
    panels = {axes.get_title(loc="left"): axes for axes in swept.axes}
    assert set(panels) == {"n/dim=0/float32", "n/dim=0/bfloat16"}
    mine = [point for point in points(SMALL) if point.row.operator == "cumsum" and point.rate is not None]
    for title, axes in panels.items():
        wanted = [
            (float(point.row.bytes or 0), rate)
            for point in mine
            if len(point.record.case.params["shape"]) == 1
            and point.row.dtype == title.rpartition("/")[2]
            and (rate := point.rate) is not None
        ]
        assert len(wanted) >= 30
        assert sorted(marks(axes)) == [pytest.approx(pair) for pair in sorted(wanted)]
        left, right = axes.get_xlim()
        assert all(left < x < right for x, _ in marks(axes))
        assert axes.get_xscale() == "log"
        assert axes.get_ylim()[1] > 4800
    others = [point.rate for point in mine if len(point.record.case.params["shape"]) > 1]
    assert len(others) >= 20
    assert sorted(x for x, _ in marks(rows_.axes[0])) == pytest.approx(sorted(rate for rate in others if rate))
    assert "16384x16384/dim=1  2 GiB" in words(rows_)


def test_bandwidth_names_what_limits_a_kernel() -> None:
    """Ceiling, peak, the edge of the launch and the L2 size stand on the chart, with units; the rest is counted."""
    text = words(named(bandwidth.charts(SMALL), "bandwidth-cumsum"))
    for part in ("measured copy ceiling 4253", "theoretical peak 4800", "fits in L2 (60 MiB)", "launch-bound"):
        assert part in text
    assert "GB/s" in text
    assert "bytes moved" in text
    assert "copy of the same size" in text
    last = words(named(bandwidth.charts(SMALL), "bandwidth-cumsum-2"))
    assert "Without a number here (1): gpubench:tiled 1 of 1 unsupported." in last
    assert "ceiling of the case" in last
    assert "lines: measured copy ceiling 4253, peak 4800" in last


def hatched(artist: Any) -> bool:
    """Tell whether something on a chart is filled with a pattern."""
    return bool(hasattr(artist, "get_hatch") and artist.get_hatch())


def test_no_panel_is_hatched() -> None:
    """Small cases leave the panel free: where launches dominate is a line, not an area over the marks."""
    for chart in bandwidth.charts(SMALL):
        for axes in chart.draw().axes:
            assert not list(axes.findobj(hatched))


def test_small_cases_are_told_apart() -> None:
    """Rates of a hundredth of the copy's have a scale of their own, not one spot at the axis."""
    cases = [case_of("sum", [n, k], "float32") for n, k in ((64, 3), (2**10, 5), (2**13, 7))]
    records = [
        timed_record(case, name, moved, us_of(name, moved), case.id)
        for case, moved in cases
        for name in ("torch", "cupy")
    ]
    (chart,) = bandwidth.charts(h200(tuple(records)))
    (axes,) = chart.draw().axes
    (left, right), places = axes.get_xlim(), sorted(x for x, _ in marks(axes))
    shown = [(math.log(x) - math.log(left)) / (math.log(right) - math.log(left)) for x in places]
    assert axes.get_xscale() == "log"
    assert shown[-1] - shown[0] > 0.3


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
    assert [[point.record.case.params["shape"][0] for point in points] for points in joined] == [sizes[:3], sizes[3:7]]


def test_ceiling_rows_are_sorted_within_their_operator() -> None:
    """Operators stay in the result's order; within one the case nearest to the ceiling is first; 100 % is marked."""
    figure = named(ceiling.charts(SMALL), "ceiling")
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "268435456/dim=0/float32"
    assert len(labels) == len({p.row.case for p in points(SMALL) if p.fraction is not None})
    of_cumsum = len({p.row.case for p in points(SMALL) if p.fraction is not None and p.row.operator == "cumsum"})
    best: dict[int, float] = {}
    for x, y in marks(axes):
        best[round(y)] = max(x, best.get(round(y), 0.0))
    cumsum = [best[y] for y in sorted(best) if y <= of_cumsum]
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


def test_a_crowded_row_is_higher() -> None:
    """Twenty contenders at the same rate stand apart as far as six do in a row of usual height."""
    case, moved = case_of("sum", [2**20], "float32")
    records = [timed_record(case, f"gpubench:v{number}", moved, 100.0, case.id) for number in range(20)]
    figure = speedup.charts(h200(tuple(records)), "gpubench:v0")[0].draw()
    (axes,) = figure.axes
    rows_high = axes.get_position().height * figure.get_size_inches()[1]
    inches = rows_high / abs(axes.get_ylim()[0] - axes.get_ylim()[1])
    heights = sorted(y for _, y in marks(axes) if y >= 0)
    assert len(heights) >= 19
    assert all((b - a) * inches > 0.019 for a, b in pairwise(heights))


def test_the_share_says_what_it_is_a_share_of() -> None:
    """With a sweep 100 % is the rate of as many bytes in the same run, else the copy rate; more is explained."""
    committed = read(recorded("nvidia-h200/elementwise-2*.json")[-1])

    def said(times: float) -> str:
        """Return what charts say where the kernels had so many times their share."""
        records = tuple(
            replace(record, summary={**record.summary, "fraction_of_ceiling": times * share})
            if record.summary and (share := record.summary.get("fraction_of_ceiling"))
            else record
            for record in committed.records
        )
        return " ".join(words(chart.draw()) for chart in ceiling.charts(replace(committed, records=records)))

    assert "copied, read and wrote as many bytes in the same run" in said(1.0)
    assert "Over 100 %" in said(2.0)
    assert "Over 100 %" not in said(0.5)
    plain = ceiling.charts(replace(SMALL, ceiling=replace(SMALL.ceiling, sweep=())))
    assert all("the copy rate measured in this run, 4253 GB/s" in words(chart.draw()) for chart in plain)


def test_a_share_is_the_same_figure_in_every_view() -> None:
    """Table, chart, ladder and report give one percentage for one record, and none where the launch would dominate."""
    whole = read(recorded("nvidia-h200/seeds-*.json*")[0])
    table = {(row.case, row.contender): row for row in rows(whole)}
    assert any(row.fraction is None and row.GBps and not row.launch_bound for row in table.values())
    for point in points(whole):
        row = table[point.row.case, point.row.contender]
        assert point.fraction in (row.fraction, None)
        if row.fraction is not None and row.GBps is not None:
            assert row.fraction == pytest.approx(row.GBps / (row.ceiling_GBps or 0.0))
        if row.launch_bound:
            assert row.fraction is None
    shares = {f"{100 * row.fraction:.1f} %" for row in table.values() if row.fraction}
    for chart in ladder.charts(whole):
        told = set(re.findall(r"[\d.]+ %", " ".join(words(chart.draw()).split("Gain or loss")[0].splitlines())))
        assert told
        assert told <= shares


def test_an_outlier_does_not_stretch_the_axis() -> None:
    """One ratio of a thousand stands at the edge with its value; the others keep their room."""
    cases = [case_of("sum", [2**20, n], "float32") for n in range(4, 24)]
    records = []
    for number, (case, moved) in enumerate(cases):
        us = us_of("torch", moved)
        records.append(timed_record(case, "torch", moved, us, case.id))
        ours = us / (1000 if number == 3 else 1 + number / 20)
        records.append(timed_record(case, "gpubench:auto", moved, ours, f"{case.id} ours"))
    (chart,) = speedup.charts(h200(tuple(records)), "torch")
    figure = chart.draw()
    assert figure.axes[0].get_xlim()[1] < 4
    assert re.search(r"\b(99\d|100\d)x", words(figure))
    assert len([x for x, y in marks(figure.axes[0]) if y >= 0]) == 20


def test_the_value_of_an_outlier_hides_no_mark() -> None:
    """The words beside the edge lie clear of the other marks of their row."""
    cases = [case_of("sum", [2**20, n], "float32") for n in range(4, 24)]
    records = []
    for number, (case, moved) in enumerate(cases):
        us = us_of("torch", moved)
        far = number == 3
        for name, faster in (("torch", 1.0), ("gpubench:auto", 1000.0 if far else 2.0), ("jax", 2.6 if far else 1.9)):
            records.append(timed_record(case, name, moved, us / faster, f"{case.id} {name}"))
    (chart,) = speedup.charts(h200(tuple(records)), "torch")
    figure = chart.draw()
    (told,) = [text for text in figure.axes[0].texts if "\u25b8" in text.get_text()]
    box = told.get_window_extent()
    places = figure.axes[0].transData.transform([(x, y) for x, y in marks(figure.axes[0]) if y >= 0])
    assert not [place for place in places if box.contains(*place)]


def test_a_wide_spread_is_no_outlier() -> None:
    """Where many are far faster the axis holds them all."""
    cases = [case_of("sum", [2**20, n], "float32") for n in range(4, 24)]
    records = []
    for number, (case, moved) in enumerate(cases):
        us = us_of("torch", moved)
        records.append(timed_record(case, "torch", moved, us, case.id))
        records.append(timed_record(case, "gpubench:auto", moved, us / 1.4**number, f"{case.id} ours"))
    (chart,) = speedup.charts(h200(tuple(records)), "torch")
    assert chart.draw().axes[0].get_xlim()[1] > 1.4**19


def test_no_words_are_cut_at_the_edge_of_the_page() -> None:
    """Every label, tick and note of every kind of chart of recorded results lies on the page."""
    kinds = (bandwidth.charts, ceiling.charts, lambda results: speedup.charts(results, "torch"))
    result = read(recorded("nvidia-h200/peers-2*.json")[-1])
    charts = [chart for kind in kinds for chart in kind(result)]
    charts += ladder.charts(read(recorded("nvidia-h200/seeds-*.json*")[-1]))
    charts += [chart for chart in samples.charts(result) if "16384x16384" in chart.name]
    for chart in charts:
        assert (chart.name, outside(chart.draw())) == (chart.name, [])


def test_samples_are_counted_in_whole_numbers() -> None:
    """There is no sample 2.5, and a clock in whole MHz needs no decimals."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    result = read(recorded("nvidia-h200/peers-2*.json")[-1])
    figure = named(samples.charts(result), "samples-sum-16384x16384-dim=0-float32")
    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call] # matplotlib's own stubs leave it out
    ticks = [label.get_text() for axes in figure.axes for label in axes.get_xticklabels() if label.get_text()]
    assert ticks
    assert all(tick.replace(",", "").replace("\u2212", "-").lstrip("-").isdigit() for tick in ticks)


def test_many_cases_go_on_further_sheets() -> None:
    """At most 60 rows stand on a sheet, at the same height each, and together the sheets have every case."""
    records = [
        timed_record(case, "gpubench:auto", moved, us_of("gpubench:auto", moved), case.id)
        for case, moved in (case_of("sum", [2**24 + i], "float32") for i in range(130))
    ]
    charts = ceiling.charts(h200(tuple(records)))
    assert [chart.name for chart in charts] == ["ceiling", "ceiling-2", "ceiling-3"]
    figures = [chart.draw() for chart in charts]
    labels = [label.get_text() for figure in figures for label in figure.axes[0].get_yticklabels()]
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
