"""`speedup`: how many times faster than a chosen contender each of the others is."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpubench.model import ResultSet
from gpubench.names import HOST_CONTENDERS
from gpubench.views import style, text
from gpubench.views.charts import dots
from gpubench.views.charts.ceiling import short
from gpubench.views.charts.data import Point, contenders, is_simulated, points
from gpubench.views.charts.page import CROSSED, Entry, series_entry, sheet, subtitle, unnumbered
from gpubench.views.charts.sheets import Chart, file_name, numbered
from gpubench.views.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OUTLIER = 2.5
"""A factor: an outlier stands off the others by more than this."""


def charts(result: ResultSet, over: str, medians: Mapping[str, float] | None = None) -> list[Chart]:
    """Return the sheets of the chart; none when nothing can be set beside `over`.

    `medians`: microseconds of `over` by case id, where `result` was filtered and lacks them.
    """
    found = [point for point in points(result) if point.row.contender != over]
    base = medians if medians is not None else base_medians(result, over)
    ratios = {id(point): ratio for point in found if (ratio := _ratio(point, base)) is not None}
    drawn = [point for point in found if id(point) in ratios]
    missing = _missing([point for point in found if id(point) not in ratios], found, over)
    means = {
        name: (statistics.geometric_mean(values), len(values))
        for name in contenders(drawn)
        if (values := [ratios[id(point)] for point in drawn if point.row.contender == name])
    }
    simulated = is_simulated(found)
    sheets = dots.pages(_lines(drawn, ratios))
    return [
        Chart(
            name=numbered(file_name("speedup-over", over), number),
            title=f"Speed-up over {over}",
            alt=_alt(over, page, means),
            draw=partial(
                _draw,
                result,
                over,
                page,
                means,
                missing if number == len(sheets) else [],
                (number, len(sheets), simulated),
            ),
        )
        for number, page in enumerate(sheets, 1)
    ]


def base_medians(result: ResultSet, over: str) -> dict[str, float]:
    """Return the median of the contender `over` by case id. A simulated one can only be set beside simulated ones,
    so its cases carry a mark of their own.
    """
    return {
        _key(point): point.row.median_us
        for point in points(result)
        if point.row.contender == over and point.row.median_us and point.has_speed
    }


def _key(point: Point) -> str:
    simulated = point.row.simulated and point.row.contender not in HOST_CONTENDERS
    return f"{point.row.case} (simulated)" if simulated else point.row.case


def _ratio(point: Point, base: Mapping[str, float]) -> float | None:
    own, other = point.row.median_us, base.get(_key(point))
    return other / own if own and other and point.has_speed else None


def _missing(left: Sequence[Point], found: Sequence[Point], over: str) -> list[str]:
    """Return the notes on what is not drawn: what has no time, and what has none of `over` to be set beside."""
    alone = [point for point in left if point.row.median_us is not None and point.has_speed]
    named = {point.name for point in alone}
    others = [point for point in left if point.name not in named]
    what = f"Without a time of {style.label(over, 30)} to set beside"
    return [*unnumbered(alone, found, what, why=""), *unnumbered(others, found)]


def _lines(drawn: Sequence[Point], ratios: Mapping[int, float]) -> list[dots.Line]:
    operators = {name: place for place, name in enumerate(dict.fromkeys(point.row.operator for point in drawn))}
    cases: dict[tuple[str, str], list[dots.Dot]] = {}
    for point in drawn:
        row = point.row
        dot = dots.Dot(row.contender, ratios[id(point)], hollow=row.launch_bound, crossed=row.inaccurate)
        cases.setdefault((point.row.operator, point.row.case), []).append(dot)
    lines = [dots.Line(operator, short(case, operator), tuple(marks)) for (operator, case), marks in cases.items()]
    return sorted(lines, key=lambda line: (operators[line.group], -max(dot.x for dot in line.dots), line.words))


def _alt(over: str, page: Sequence[dots.Line], means: Mapping[str, tuple[float, int]]) -> str:
    told = "; ".join(f"{name}: geometric mean {text.ratio(mean)} over {n} cases" for name, (mean, n) in means.items())
    return f"Dot plot of {len(page)} cases, speed-up over {over} on a logarithmic axis. {told}."


def _draw(
    result: ResultSet,
    over: str,
    page: list[dots.Line],
    means: Mapping[str, tuple[float, int]],
    missing: list[str],
    place: tuple[int, int, bool],
) -> Figure:
    marks = style.marks(means)
    legend = [
        series_entry(name, marks[name], words=f"{style.label(name, 34)}  {text.ratio(mean)} ({n})")
        for name, (mean, n) in means.items()
    ]
    if any(dot.hollow for line in page for dot in line.dots):
        hollow = {"color": INK, "marker": "o", "linestyle": "none", "markerfacecolor": PAPER}
        legend.append(Entry("hollow: launch-bound", hollow))
    if any(dot.crossed for line in page for dot in line.dots):
        legend.append(CROSSED)
    host = " numpy runs on the host, so its time is the host's." if over in HOST_CONTENDERS else ""
    notes = [
        f"Dashed lines with a mark on top, figures beside the names: the geometric mean (over how many cases).{host}",
        *missing,
    ]
    number, last, simulated = place
    made = sheet(
        f"Speed-up over {over}" + (f" ({number} of {last})" if last > 1 else ""),
        subtitle(result),
        dots.body_height(page),
        legend=legend,
        notes=notes,
        simulated=simulated,
    )
    low, high = dots.reach([dot.x for line in page for dot in line.dots], OUTLIER, "log")
    ends = [1.0, low, high, *(mean for mean, _ in means.values())]
    low, high = min(ends), max(ends)
    shown = dots.within(page, low, high, text.ratio)
    axes = dots.draw(made, shown, marks, connect=True, scale="log")
    log_axis(axes, low, high)
    for name, (mean, _) in means.items():
        axes.axvline(mean, color=marks[name].color, linewidth=1.2, linestyle=(0, (4, 2)), zorder=1.4)
        axes.plot([mean], [axes.get_ylim()[1]], **marks[name].point, clip_on=False, zorder=4)
    dots.draw_reference(axes, 1.0)
    dots.name_axis(axes, f"times as fast as {style.label(over, 24)} (log scale):  \u25c2 slower | faster \u25b8", shown)
    return made.figure


def log_axis(axes: Axes, low: float, high: float, unit: str = "x") -> None:
    """Give the x axis a logarithmic scale over these values, with ticks that read as factors."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(low / 1.15, high * 1.15)
    ticks = _factors(low / 1.15, high * 1.15)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}{unit}")


def _factors(low: float, high: float) -> list[float]:
    """Return round factors between the ends: 1, 2, 5 in each decade, or decades alone where there are many."""
    import math

    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    steps = (1, 1.5, 2, 3, 5, 7) if decades <= 1 else (1, 2, 5) if decades <= 4 else (1,)
    skip = 1 if decades <= 8 else -(-decades // 8)
    ticks = [step * 10.0**power for power in range(first, last + 1, skip) for step in steps]
    return [tick for tick in ticks if low <= tick <= high] or [low, high]
