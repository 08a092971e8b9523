"""One series over the runs: each median with its interval, the level of each segment, and what changed at its steps."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from gpubench.past import Line, Timed
from gpubench.views import style, text
from gpubench.views.charts.page import MARGIN, Entry, sheet
from gpubench.views.charts.sheets import Chart, file_name
from gpubench.views.style import BAND, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BODY = 3.0
LEAST_RANGE = 0.02
"""The time axis spans at least 2 % of the time, so that noise does not fill it."""

COLORS = {"SLOWER": "#d55e00", "FASTER": "#00805c", "DRIFTED": "#a87500"}
POINT = style.Mark("#0072b2", "o")


def chart(line: Line) -> Chart:
    """Return the chart of a series."""
    timed = [point for point in line.points if point.us is not None]
    title = f"{line.case}, {line.contender}"
    words = "; ".join(
        f"{told.step.verdict} {told.step.ratio:.3f} x on {told.at.created[:10]}" for told in line.steps or ()
    )
    span = (
        f"{text.duration(min(us))} to {text.duration(max(us))}"
        if (us := [shown.us for shown in timed if shown.us])
        else "none"
    )
    alt = f"Medians of {len(timed)} runs of {title} on {line.group.device}: {span}. Steps: {words or 'none'}."
    return Chart(file_name("history", f"{line.case} {line.contender}"), title, alt, partial(_draw, line, timed, title))


def segments(line: Line, timed: list[Timed]) -> list[tuple[int, int, float]]:
    """Return (first place, place after the last, mean time in microseconds) of each segment between steps."""
    starts = {told.at.path for told in line.steps or ()}
    edges = [0, *(n for n, point in enumerate(timed) if n and point.run.path in starts), len(timed)]
    parts = pairwise(edges)
    return [(a, b, fmean(point.us for point in timed[a:b] if point.us is not None)) for a, b in parts if b > a]


def _draw(line: Line, timed: list[Timed], title: str) -> Figure:
    span = f"{line.points[0].run.created[:10]} to {line.points[-1].run.created[:10]}" if line.points else "no runs"
    made = sheet(
        title,
        f"{line.group.suite} on {line.group.device}, {len(timed)} runs, {span}",
        BODY + 0.5,
        legend=_legend(line),
        notes=[style.label(note, 600) for note in _notes(line)],
        simulated=line.group.simulated,
    )
    left = 0.72
    axes = made.axes(left, 0.08, made.width - left - MARGIN - 0.1, BODY)
    if not timed:
        axes.set_axis_off()
        return made.figure
    _series(axes, line, timed)
    _dates(axes, timed)
    return made.figure


def _notes(line: Line) -> list[str]:
    if line.steps is None:
        return ["Nobody looked for steps yet: gpubench history steps."]
    return [
        f"{told.step.verdict} {told.step.ratio:.3f} x ({told.step.low:.3f} - {told.step.high:.3f}) from "
        f"{told.at.created[:16]} on: {'; '.join(told.causes)}."
        for told in line.steps
    ]


def _legend(line: Line) -> list[Entry]:
    met = {told.step.verdict for told in line.steps or ()}
    return [
        Entry("median of a run, with its 95 % interval", dict(POINT.point)),
        Entry("level between steps", {"color": INK, "linewidth": 1.4}),
        *(Entry(word, {"color": color, "linestyle": (0, (4, 2))}) for word, color in COLORS.items() if word in met),
    ]


def _series(axes: Axes, line: Line, timed: list[Timed]) -> None:
    """Draw medians with their intervals, the levels between steps, and the steps."""
    scale, unit = text.time_unit(timed[0].us or 1.0)
    axes.set_ylabel(f"time, {unit}".replace("us", "\u00b5s"))
    axes.set_xlabel("runs in order of time")
    for number, point in enumerate(timed):
        if point.low_us is not None and point.high_us is not None:
            ends = [point.low_us / scale, point.high_us / scale]
            axes.plot([number] * 2, ends, color=BAND, linewidth=1.6, zorder=1.5)
    medians = [(shown.us or 0.0) / scale for shown in timed]
    axes.plot(range(len(timed)), medians, **{**POINT.point, "markersize": 3.4}, zorder=3)
    for start, end, mean in segments(line, timed):
        axes.plot([start - 0.4, end - 0.6], [mean / scale] * 2, color=INK, linewidth=1.4, zorder=2.5)
    places = {point.run.path: number for number, point in enumerate(timed)}
    for told in line.steps or ():
        if told.at.path in places:
            color = COLORS[told.step.verdict]
            axes.axvline(places[told.at.path] - 0.5, color=color, linestyle=(0, (4, 2)), linewidth=1.2, zorder=2)
    values = [us / scale for shown in timed for us in (shown.us, shown.low_us, shown.high_us) if us is not None]
    middle, reach = (min(values) + max(values)) / 2, max(max(values) - min(values), LEAST_RANGE * min(values)) * 0.55
    axes.set_ylim(middle - reach, middle + reach)


def _dates(axes: Axes, timed: list[Timed]) -> None:
    """Write the days of a few runs under the axis."""
    count = len(timed)
    every = max(-(-count // 7), 1)
    ticks = list(range(0, count, every))
    axes.set_xlim(-0.8, count - 0.2)
    axes.set_xticks(ticks, [style.label(timed[tick].run.created[:10], 10) for tick in ticks])
    axes.tick_params(axis="x", colors=MUTED)
