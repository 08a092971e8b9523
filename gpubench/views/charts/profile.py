"""`profile`: performance profiles (Dolan and More, Mathematical Programming 91, 2002): who loses, how often, how much.

A contender's factor on a case is its time over that of the fastest there. Its line says in which share of the cases its
factor is at most what the axis says; a case that it did not do, or got wrong, is a factor without end.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpubench.model import ResultSet
from gpubench.names import AUTO
from gpubench.standing import Standing, standings
from gpubench.views import style
from gpubench.views.charts.page import MARGIN, series_entry, sheet, subtitle
from gpubench.views.charts.sheets import Chart, file_name
from gpubench.views.charts.speedup import log_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

END = 10.0
"""The largest factor that a chart shows, and up to which the area is taken."""
NEAR = 1.05
_LEFT, _HEIGHT = 0.78, 3.4


def charts(results: Sequence[ResultSet], least: int = 2) -> list[Chart]:
    """Return a chart an operator, over all its cases of all results; none where fewer than `least` can be compared."""
    operators: dict[str, list[Standing]] = {}
    for standing in standings(results):
        operators.setdefault(standing.case.operator, []).append(standing)
    return [
        Chart(
            file_name("profile", operator),
            f"Performance profile of {operator}",
            _alt(operator, found),
            partial(_draw, operator, found, _below(results)),
        )
        for operator, found in operators.items()
        if len(found) >= least
    ]


def factors(found: Sequence[Standing]) -> dict[str, list[float]]:
    """Return the factors of each contender that has a time at all, in ascending order, ours first."""
    names = dict.fromkeys(name for standing in found for name in standing.times)
    ordered = sorted(names, key=lambda name: (name != AUTO, name))
    return {name: sorted(standing.factor(name) for standing in found) for name in ordered}


def share(ascending: Sequence[float], limit: float) -> float:
    """Return the share of the factors that are at most `limit`."""
    return bisect.bisect_right(ascending, limit) / len(ascending)


def area(ascending: Sequence[float]) -> float:
    """Return the area under the line on the logarithmic axis from 1 to END, 1 for a contender that is always first."""
    return sum(max(0.0, 1 - math.log(factor) / math.log(END)) for factor in ascending) / len(ascending)


def _below(results: Sequence[ResultSet]) -> str:
    if len(results) == 1:
        return subtitle(results[0])
    return f"{len(results)} results, the first: {subtitle(results[0])}"


def _alt(operator: str, found: Sequence[Standing]) -> str:
    told = "; ".join(f"{name}: {_figures(line)}" for name, line in factors(found).items())
    return (
        f"Performance profile of {operator} over {len(found)} cases: the share of cases in which each contender is "
        f"within a factor of the fastest, from 1 to {END:g}. {told}."
    )


def _figures(ascending: Sequence[float]) -> str:
    return f"{100 * share(ascending, NEAR):.0f} % within {NEAR:g}, area {area(ascending):.2f}"


def _draw(operator: str, found: Sequence[Standing], below: str) -> Figure:
    lines = factors(found)
    marks = style.marks(lines)
    legend = [
        series_entry(name, marks[name], line=True, words=f"{style.label(name, 26)}  {_figures(line)}")
        for name, line in lines.items()
    ]
    made = sheet(
        f"Performance profile of {operator}",
        f"{len(found)} cases; {below}",
        _HEIGHT + 0.6,
        legend=legend,
        notes=[
            f"Read upwards at 1: the share of cases in which a contender is the fastest. Area: under its line, up to "
            f"{END:g} times. {_beyond(lines)}"
        ],
    )
    axes = made.axes(_LEFT, 0.1, style.page().width - _LEFT - MARGIN - 0.1, _HEIGHT)
    log_axis(axes, 1.15, END / 1.15)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.grid(axis="both")
    for name, line in lines.items():
        inside = [factor for factor in line if factor <= END]
        across = [1.0, *inside, END]
        up = [share(line, factor) for factor in across]
        axes.plot(across, up, drawstyle="steps-post", color=marks[name].color, linestyle=marks[name].dashes, zorder=2.2)
        places = [1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0]
        axes.plot(places, [share(line, place) for place in places], **marks[name].point, zorder=3)
    axes.set_xlabel("times as slow as the fastest (log scale)")
    axes.set_ylabel("share of the cases")
    return made.figure


def _beyond(lines: Mapping[str, Sequence[float]]) -> str:
    """Say of whom the chart does not show every case."""
    told = []
    for name, line in lines.items():
        missing, slow = sum(map(math.isinf, line)), sum(END < factor < math.inf for factor in line)
        parts = [f"{missing} without a time"] * (missing > 0) + [f"{slow} slower still"] * (slow > 0)
        if parts:
            told.append(f"{style.label(name, 26)} {' and '.join(parts)}")
    return f"Right of the chart: {'; '.join(told)}." if told else ""
