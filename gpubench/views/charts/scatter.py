"""`scatter`: the time of each case over the least that the device's memory allows at its size."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpubench.model import ResultSet
from gpubench.names import HOST_CONTENDERS, TRUSTED
from gpubench.views import style
from gpubench.views.charts.data import Point, contenders, launch_bound_us, points
from gpubench.views.charts.page import MARGIN, Entry, series_entry, sheet, subtitle
from gpubench.views.charts.sheets import Chart, file_name
from gpubench.views.style import BAND, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = {1: "-", 2: (0, (5, 2)), 5: (0, (1, 2))}
"""Times as slow as the ceiling, and the dashes of that line."""
_LEFT, _HEIGHT = 0.92, 4.2

Place = tuple[float, float]


def charts(result: ResultSet, least: int = 1) -> list[Chart]:
    """Return a chart an operator; none where fewer than `least` times have a ceiling beside them."""
    placed = [(point, place) for point in points(result) if (place := _place(point)) is not None]
    found: dict[str, dict[str, list[Place]]] = {point.row.operator: {} for point, _ in placed}
    for name in contenders(point for point, _ in placed):
        for point, place in placed:
            if point.row.contender == name:
                found[point.row.operator].setdefault(name, []).append(place)
    return [
        Chart(
            file_name("scatter", operator),
            f"Times of {operator} over the ceiling's",
            _alt(operator, mine),
            partial(_draw, operator, mine, subtitle(result), launch_bound_us(result)),
        )
        for operator, mine in found.items()
        if max(map(len, mine.values())) >= least
    ]


def _place(point: Point) -> Place | None:
    """Return (least time at the ceiling, median), microseconds."""
    summary, median = point.record.summary or {}, point.row.median_us
    share = summary.get("fraction_of_ceiling")
    least = summary.get("ceiling_us") or (share * median if share and median else None)
    fine = point.row.status in TRUSTED and point.row.contender not in HOST_CONTENDERS and not point.row.simulated
    if not fine or not median or not isinstance(least, int | float) or least <= 0:
        return None
    return float(least), median


def _alt(operator: str, found: Mapping[str, Sequence[Place]]) -> str:
    told = "; ".join(f"{name} {_typical(places):.2f} times" for name, places in found.items())
    return (
        f"Scatter plot of {operator}: the time of each case over the least time for its bytes at the measured ceiling, "
        f"both axes logarithmic. Geometric means of the two's ratio: {told}."
    )


def _typical(places: Sequence[Place]) -> float:
    return statistics.geometric_mean(median / least for least, median in places)


def _draw(operator: str, found: Mapping[str, Sequence[Place]], below: str, launch_us: float | None) -> Figure:
    marks = style.marks(found)
    legend = [
        series_entry(name, marks[name], words=f"{style.label(name, 26)}  {_typical(places):.2f} x ({len(places)})")
        for name, places in found.items()
    ]
    if launch_us:
        legend.append(Entry("launch-bound", patch={"facecolor": BAND}))
    made = sheet(
        f"Times of {operator} over the ceiling's",
        below,
        _HEIGHT + 0.6,
        legend=legend,
        notes=[
            "Lines: at the ceiling, twice and five times as slow. Figures: the geometric mean of time over ceiling "
            "(over how many cases)."
        ],
    )
    axes = made.axes(_LEFT, 0.1, style.page().width - _LEFT - MARGIN - 0.1, _HEIGHT)
    _scales(axes, [place for places in found.values() for place in places], launch_us)
    for name, places in found.items():
        across, up = zip(*places, strict=True)
        axes.plot(across, up, **marks[name].point, alpha=0.8, zorder=3)
    axes.set_xlabel("least time for its bytes at the measured ceiling, \u00b5s (log scale)")
    axes.set_ylabel("time, \u00b5s (log scale)")
    return made.figure


def _scales(axes: Axes, places: Sequence[Place], launch_us: float | None) -> None:
    """Give both axes logarithmic scales around all places, and draw the lines and the launch's band."""
    from matplotlib.ticker import LogLocator, NullFormatter

    left, right = min(x for x, _ in places) / 1.3, max(x for x, _ in places) * 1.3
    low, high = min(min(y for _, y in places) / 1.3, left), max(y for _, y in places) * 1.3
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    for axis, reach in ((axes.xaxis, right / left), (axes.yaxis, high / low)):
        # Under two decades powers of ten alone are too few; of minor ticks matplotlib writes powers, as markup.
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if reach < 100 else (1.0,)))
        axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        axis.set_minor_formatter(NullFormatter())
    axes.grid(axis="both")
    if launch_us:
        axes.axhspan(low, min(max(launch_us, low), high), color=BAND, linewidth=0, zorder=0.5)
    for times, dashes in LINES.items():
        axes.plot([left, right], [left * times, right * times], color=INK, linewidth=0.9, linestyle=dashes, zorder=1.6)
