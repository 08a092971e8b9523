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
from gpubench.views.charts.page import CROSSED, series_entry, sheet, subtitle, unnumbered
from gpubench.views.charts.sheets import Chart, numbered
from gpubench.views.rows import NO_SHARE, OF_CEILING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Share of the measured memory ceiling"


def charts(result: ResultSet) -> list[Chart]:
    """Return the sheets of the chart; none when no case has a share of the ceiling."""
    found = points(result)
    drawn = [point for point in found if point.fraction is not None]
    lines = _lines(drawn)
    missing = unnumbered(*_missing(found))
    return [
        Chart(
            name=numbered("ceiling", number),
            title=TITLE,
            alt=_alt(drawn, page),
            draw=partial(_draw, result, drawn, page, missing if number == last else [], number, last),
        )
        for last in [len(dots.pages(lines))]
        for number, page in enumerate(dots.pages(lines), 1)
    ]


def _missing(found: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """Return the points without a share, and all that could have one."""
    on_device = [point for point in found if point.row.contender not in HOST_CONTENDERS]
    return [point for point in on_device if point.fraction is None], on_device


def _lines(drawn: Sequence[Point]) -> list[dots.Line]:
    """Return a row a case: operators in the order of the result, the case nearest to the ceiling first."""
    operators = {name: place for place, name in enumerate(dict.fromkeys(point.row.operator for point in drawn))}
    cases: dict[tuple[str, str], list[dots.Dot]] = {}
    for point in drawn:
        dot = dots.Dot(point.row.contender, 100 * (point.fraction or 0.0), crossed=point.row.inaccurate)
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
    """Return what 100 % is: `OF_CEILING`, or the copy rate in a run that measured nothing else."""
    copy = result.ceiling.copy_GBps
    if copy and not result.ceiling.sweep and all(point.row.ceiling_GBps for point in drawn):
        return f"100 %: the copy rate measured in this run, {text.rate(copy)} GB/s"
    return f"100 %: {OF_CEILING.removeprefix('of ')}"


def _draw(
    result: ResultSet, drawn: Sequence[Point], page: list[dots.Line], missing: list[str], number: int, last: int
) -> Figure:
    names = contenders(drawn)
    marks = style.marks(names)
    limit = launch_bound_us(result)
    legend = [series_entry(name, marks[name]) for name in names]
    if any(dot.crossed for line in page for dot in line.dots):
        legend.append(CROSSED)
    notes = []
    if limit and any(point.row.ceiling_GBps and point.fraction is None for point in points(result)):
        notes.append(f"Small: {NO_SHARE} (under 3 times an empty launch, {style.duration(limit)}).")
    if any(dot.x > 101 for line in page for dot in line.dots):
        notes.append("Over 100 %: faster than the plain kernels that measure the ceiling.")
    if any(point in HOST_CONTENDERS for point in dict.fromkeys(record.contender for record in result.records)):
        notes.append("numpy runs on the host, so it has no share of the device's ceiling.")
    made = sheet(
        TITLE + (f" ({number} of {last})" if last > 1 else ""),
        f"{subtitle(result)}; {_whole(result, drawn)}",
        dots.body_height(page),
        legend=legend,
        notes=[*notes, *missing],
        simulated=is_simulated(drawn),
    )
    _, high = dots.reach([0.0, 100.0, *(dot.x for line in page for dot in line.dots)], 50.0)
    shown = dots.within(page, 0.0, high, "{:.0f} %".format)
    axes = dots.draw(made, shown, marks, connect=True)
    axes.set_xlim(-1, max(103.0, high * 1.03))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    dots.draw_reference(axes, 100)
    dots.name_axis(axes, "achieved bandwidth, % of the measured ceiling", shown)
    return made.figure
