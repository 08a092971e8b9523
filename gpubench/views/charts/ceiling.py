"""`ceiling`: how near each case comes to the rate that the device reached in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpubench.model import ResultSet
from gpubench.names import HOST_CONTENDERS
from gpubench.views import style, text
from gpubench.views.charts import dots
from gpubench.views.charts.data import Point, contenders, is_simulated, launch_bound_us, points
from gpubench.views.charts.page import Entry, series_entry, sheet, subtitle, unnumbered
from gpubench.views.charts.sheets import Chart, numbered
from gpubench.views.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Share of the measured memory ceiling"
OWN_RATE = "copy, read and write rates of this run, at the case's own size and mix"


def charts(result: ResultSet) -> list[Chart]:
    """Return the sheets of the chart; none when no case has a share of the ceiling."""
    found = points(result)
    drawn = [point for point in found if point.fraction is not None]
    lines = _lines(drawn)
    return [
        Chart(
            name=numbered("ceiling", number),
            title=TITLE,
            alt=_alt(drawn, page),
            draw=partial(_draw, result, drawn, page, _missing(found) if number == last else [], number, last),
        )
        for last in [len(dots.pages(lines))]
        for number, page in enumerate(dots.pages(lines), 1)
    ]


def _missing(found: Sequence[Point]) -> list[str]:
    return [p.why for p in found if p.fraction is None and p.row.contender not in HOST_CONTENDERS]


def _lines(drawn: Sequence[Point]) -> list[dots.Line]:
    """Return a row a case: operators in the order of the result, the case nearest to the ceiling first."""
    operators = {name: place for place, name in enumerate(dict.fromkeys(point.row.operator for point in drawn))}
    cases: dict[tuple[str, str], list[dots.Dot]] = {}
    for point in drawn:
        dot = dots.Dot(point.row.contender, 100 * (point.fraction or 0.0), hollow=point.row.launch_bound)
        cases.setdefault((point.row.operator, point.row.case), []).append(dot)
    lines = [dots.Line(operator, short(case, operator), tuple(marks)) for (operator, case), marks in cases.items()]
    return sorted(lines, key=lambda line: (operators[line.group], -max(dot.x for dot in line.dots), line.words))


def short(case: str, operator: str) -> str:
    """Return the case's id without its operator, which the group names already."""
    return case.removeprefix(f"{operator}/") or case


def _alt(drawn: Sequence[Point], page: Sequence[dots.Line]) -> str:
    best = max((dot.x for line in page for dot in line.dots), default=0.0)
    worst = min((dot.x for line in page for dot in line.dots), default=0.0)
    names = ", ".join(contenders(drawn))
    return (
        f"Dot plot of {len(page)} cases, the share of the measured ceiling that each contender reaches "
        f"({names}): from {worst:.1f} % to {best:.1f} %. The table has every figure."
    )


def _whole(result: ResultSet, drawn: Sequence[Point]) -> str:
    """Return what 100 % is: what the device did with as many bytes, as many of them read, where the run measured that,
    or its copy rate.
    """
    copy = result.ceiling.copy_GBps
    if any(point.row.of_copy is not None and point.row.of_copy != point.row.fraction for point in drawn):
        return f"100 %: {OWN_RATE}"
    return f"100 %: the copy rate measured in this run, {text.rate(copy)} GB/s" if copy else "100 %: the measured rate"


def _draw(
    result: ResultSet, drawn: Sequence[Point], page: list[dots.Line], missing: list[str], number: int, last: int
) -> Figure:
    names = contenders(drawn)
    marks = style.marks(names)
    limit = launch_bound_us(result)
    hollow = any(dot.hollow for line in page for dot in line.dots)
    legend = [series_entry(name, marks[name]) for name in names]
    notes = []
    if hollow and limit:
        grey = {"color": INK, "marker": "o", "linestyle": "none", "markerfacecolor": PAPER}
        legend.append(Entry("hollow: launch-bound", grey))
        notes.append(
            f"Launch-bound: under 3 times an empty launch ({style.duration(limit)}), so the launch sets the time."
        )
    if any(dot.x > 101 for line in page for dot in line.dots):
        notes.append("Over 100 %: faster than the plain kernels that measure the ceiling.")
    if any(point in HOST_CONTENDERS for point in dict.fromkeys(r.contender for r in result.records)):
        notes.append("numpy runs on the host, so it has no share of the device's ceiling.")
    made = sheet(
        TITLE + (f" ({number} of {last})" if last > 1 else ""),
        f"{subtitle(result)}; {_whole(result, drawn)}",
        dots.body_height(page),
        legend=legend,
        notes=[*notes, *unnumbered(missing)],
        simulated=is_simulated(drawn),
    )
    axes = dots.draw(made, page, marks, connect=True)
    right = max([103.0, *(dot.x * 1.03 for line in page for dot in line.dots)])
    axes.set_xlim(-1, right)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    dots.draw_reference(axes, 100)
    dots.name_axis(axes, "achieved bandwidth, % of the measured ceiling")
    return made.figure
