"""The cases of a bandwidth chart that belong to no sweep: a row each, GB/s across, under the ceiling of the case."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gpubench.dtypes import NAMES
from gpubench.model import ResultSet
from gpubench.names import HOST_CONTENDERS
from gpubench.views import style, text
from gpubench.views.charts import dots
from gpubench.views.charts.ceiling import short
from gpubench.views.charts.data import Point, contenders, is_simulated
from gpubench.views.charts.frame import frame
from gpubench.views.charts.page import CROSSED, Entry, series_entry, sheet, subtitle
from gpubench.views.charts.speedup import log_axis
from gpubench.views.rows import OF_CEILING
from gpubench.views.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAR = 0.4
"""Rates that stay under this part of the copy's would be pressed together beside it: then it is left out."""
SMALL = 0.02
"""Where half of the rates lie under this part of the highest, a linear scale would put them on one spot."""

REAL = (
    "numpy's times are real: it runs on the host, over the ceiling where the data stay in the processor's caches. "
    "The others are simulated, and no ceiling is theirs."
)


def lines(rest: Sequence[Point]) -> list[dots.Line]:
    """Return a row a case: by dtype, then by the bytes that it moves, most first."""
    cases: dict[str, list[Point]] = {}
    for point in rest:
        cases.setdefault(point.row.case, []).append(point)
    ordered = sorted(cases.values(), key=lambda mine: (dtype_order(mine[0].row.dtype), -(mine[0].row.bytes or 0)))
    return [_line(mine) for mine in ordered]


def _line(mine: Sequence[Point]) -> dots.Line:
    row = mine[0].row
    words = short(row.case, row.operator).removesuffix(f"/{row.dtype}")
    limit = next((point.row.ceiling_GBps for point in mine if point.row.ceiling_GBps), None)
    marks = tuple(
        dots.Dot(
            point.row.contender, point.rate or 0.0, low, high, point.row.launch_bound, crossed=point.row.inaccurate
        )
        for point in mine
        for low, high in [point.rate_interval or (None, None)]
    )
    return dots.Line(row.dtype, f"{words}  {text.size(row.bytes or 0)}", marks, limit=limit)


def draw(
    result: ResultSet, drawn: Sequence[Point], page: list[dots.Line], title: str, missing: Sequence[str]
) -> Figure:
    """Draw one sheet of rows. `missing`: notes on what has no rate."""
    scale = frame(result, drawn)
    names = [name for name in contenders(drawn) if any(dot.series == name for line in page for dot in line.dots)]
    marks = style.marks(contenders(drawn))
    simulated = {point.row.contender for point in drawn if point.row.simulated}
    legend = [series_entry(name, marks[name], words=series_words(name, simulated)) for name in names]
    if any(dot.hollow for line in page for dot in line.dots):
        legend.append(hollow_entry())
    if any(dot.crossed for line in page for dot in line.dots):
        legend.append(CROSSED)
    notes = ["Bars through the marks: 95 % interval of the median."]
    if any(line.limit for line in page):
        legend.append(Entry("ceiling of the case", {"color": INK, "marker": "|", "markersize": 9, "linestyle": "none"}))
        notes.append(f"The ceiling is the rate {OF_CEILING.removeprefix('of the rate ')}.")
    if any(point.row.contender in HOST_CONTENDERS for point in drawn):
        notes.append(REAL if is_simulated(drawn) else "numpy runs on the host.")
    made = sheet(
        title,
        subtitle(result),
        dots.body_height(page),
        legend=legend,
        notes=[" ".join(notes), *missing],
        simulated=is_simulated(drawn),
    )
    rates = [value for line in page for value in (*(dot.x for dot in line.dots), line.limit or 0.0)]
    top = max(rates)
    small = top < FAR * (scale.copy or 0.0)
    kind: dots.Scale = (
        "log" if statistics.median(dot.x for line in page for dot in line.dots) < SMALL * top else "linear"
    )
    axes = dots.draw(made, page, {name: marks[name] for name in names}, scale=kind)
    if kind == "log":
        log_axis(axes, min(rate for rate in rates if rate), top if small else scale.top, " GB/s")
    else:
        axes.set_xlim(-0.01 * top, 1.04 * top if small else scale.top)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    for rate, dashes in ((scale.peak, (0, (5, 2))), (scale.copy, "-")):
        if rate and not small:
            axes.axvline(rate, color=INK, linewidth=0.9, linestyle=dashes, zorder=0.7)
    limits = [f"{name} {text.rate(rate)}" for name, rate in ((scale.memory, scale.copy), ("peak", scale.peak)) if rate]
    words = "GB/s (log scale)" if kind == "log" else "GB/s"
    dots.name_axis(axes, f"{words}; lines: {', '.join(limits)}" if limits and not small else words, page)
    return made.figure


def hollow_entry() -> Entry:
    """Return the legend's entry for launch-bound marks."""
    hollow = {"color": INK, "marker": "o", "linestyle": "none", "markerfacecolor": PAPER}
    return Entry("hollow: launch-bound", hollow)


def series_words(name: str, simulated: Collection[str]) -> str:
    """Return a contender as the legend names it: what is real and what is not, where both stand side by side."""
    if name in simulated:
        return f"{name} (simulated)"
    return f"{name} (real)" if simulated else name


def dtype_order(dtype: str) -> int:
    """Return the place of a dtype in lists; strangers come last."""
    return NAMES.index(dtype) if dtype in NAMES else len(NAMES)
