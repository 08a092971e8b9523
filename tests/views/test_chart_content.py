"""What a chart shows: nothing is lost on the way from the result, and nothing is claimed that was not measured."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from gpubench.results.read import read
from gpubench.views.charts import bandwidth, ceiling, dots, ladder, samples, speedup
from gpubench.views.charts.data import points
from tests.recorded import recorded
from tests.views.figures import SMALL, marks, named, outside, words
from tests.views.generated import case_of, h200, timed_record, us_of

pytestmark = pytest.mark.usefixtures("drawing")


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
    committed = read(recorded("nvidia-h200/peers-2*.json")[-1])
    said = words(ceiling.charts(committed)[0].draw())
    assert "at the case's own size and mix" in said
    assert "Over 100 %" in said
    records = tuple(
        replace(one, summary={**one.summary, "fraction_of_ceiling": None}) if one.summary else one
        for one in SMALL.records
    )
    plain = ceiling.charts(replace(SMALL, records=records))
    assert all("own size" not in words(chart.draw()) for chart in plain)


def test_no_words_are_cut_at_the_edge_of_the_page() -> None:
    """Every label, tick and note of every kind of chart of recorded results lies on the page."""
    kinds = (bandwidth.charts, ceiling.charts, lambda one: speedup.charts(one, "torch"))
    result = read(recorded("nvidia-h200/peers-2*.json")[-1])
    charts = [chart for kind in kinds for chart in kind(result)]
    charts += ladder.charts(read(recorded("nvidia-h200/seeds-*.json")[-1]))
    charts += [one for one in samples.charts(result) if "16384x16384" in one.name]
    for chart in charts:
        assert (chart.name, outside(chart.draw())) == (chart.name, [])


def test_samples_are_counted_in_whole_numbers() -> None:
    """There is no sample 2.5, and a clock in whole MHz needs no decimals."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    result = read(recorded("nvidia-h200/peers-2*.json")[-1])
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
