"""Dot plots with a row a case: what the charts of the ceiling, of speed-ups and of comparisons have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Literal

from gpubench.views import style
from gpubench.views.charts.page import MARGIN, Sheet
from gpubench.views.style import BAND, CROSS, FAINT, INK, MUTED, PAPER, SHADE, Mark

Scale = Literal["linear", "log"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = 60
"""Rows on one sheet; more go on further sheets."""

ROW_HEIGHT = 0.185
AXIS_HEIGHT = 0.45
LABEL_SIZE, GROUP_SIZE = 8.0, 8.5
_WIDEST_LABEL = 3.6
_LABEL_SHARE = 0.42
OUTLIERS = 0.03
_NEAR = 0.014
"""Marks closer together than this share of all that is drawn would hide each other: they step out of line."""
_STEP, _REACH = 0.32, 0.27
"""How far, in rows: from one to the next, and at most from the middle of the row."""
_LEAST_STEP = 0.02
"""Inches from one to the next where all marks of a row crowd: rows with more than six marks are higher for that."""
_TOP = 0.2
_LINES = 1.0


@dataclass(frozen=True, slots=True)
class Dot:
    """One mark: where it stands, its interval if it has one, `hollow` where it should be taken with care, and `crossed`
    where the answer was inaccurate.

    beyond: the value in words of a mark that stands at the edge because its own place is off the scale.
    """

    series: str
    x: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    beyond: str | None = None
    crossed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One row: the group it belongs to, its words, its marks, a band of its own around 1 (forest plots), and a `limit`
    that its marks are read against.
    """

    group: str
    words: str
    dots: tuple[Dot, ...]
    band: tuple[float, float] | None = None
    limit: float | None = None


def pages(lines: Sequence[Line]) -> list[list[Line]]:
    """Cut the rows into sheets of nearly equal length, at most PAGE rows of usual height each."""
    count = math.ceil(len(lines) * row_height(lines) / (PAGE * ROW_HEIGHT))
    length = -(-len(lines) // count) if count else 0
    return [list(lines[start : start + length]) for start in range(0, len(lines), length or 1)]


def row_height(lines: Sequence[Line]) -> float:
    """Return the inches of a row, so that the marks of the fullest can stand beside each other."""
    most = max((len(line.dots) for line in lines), default=0)
    return max(ROW_HEIGHT, (most - 1) * _LEAST_STEP / (2 * _REACH))


def body_height(lines: Sequence[Line]) -> float:
    """Return the inches that `draw` needs for these rows."""
    return _TOP + (len(lines) + len(_groups(lines))) * row_height(lines) + AXIS_HEIGHT


def _groups(lines: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    return [(group, list(members)) for group, members in groupby(lines, key=lambda line: line.group)]


def draw(
    sheet: Sheet, lines: Sequence[Line], marks: Mapping[str, Mark], connect: bool = False, scale: Scale = "linear"
) -> Axes:
    """Draw the rows from top to bottom, each group under a line that names it, and return the axes.

    `connect`: draw a line through all marks of a row, so that the eye sees how far apart they are. `scale`: that of the
    axis to come, which says what lies close together.
    """
    width = max((style.text_width(style.label(line.words, 90), LABEL_SIZE) for line in lines), default=1.0)
    left = MARGIN + min(width, _WIDEST_LABEL, _LABEL_SHARE * sheet.width) + 0.14
    count = len(lines) + len(_groups(lines))
    axes = sheet.axes(left, _TOP, sheet.width - left - MARGIN - 0.18, count * row_height(lines))
    axes.set_ylim(count - 0.5, -0.5)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, pad=4)
    axes.grid(visible=False, axis="y")
    places: list[tuple[float, Line]] = []
    for y, group, line in _numbered(lines):
        if line is None:
            _name_group(axes, y, group, left)
        else:
            places.append((y, line))
    room = left - MARGIN - 0.14
    axes.set_yticks([y for y, _ in places], [style.fitted(line.words, room, LABEL_SIZE) for _, line in places])
    _lay_guides(axes, places, connect)
    aside = _aside([line for _, line in places], list(marks), scale)
    for series, mark in marks.items():
        _draw_series(axes, places, series, mark, aside)
    return axes


def _aside(lines: Sequence[Line], order: Sequence[str], scale: Scale) -> dict[int, float]:
    """Return how many rows a mark stands off the middle of its row, by the identity of the dot.

    Marks that would hide each other stand above one another, in the order of the series.
    """

    def place(dot: Dot) -> float:
        return math.log(dot.x) if scale == "log" else dot.x

    drawn = [place(dot) for line in lines for dot in line.dots]
    near = _NEAR * (max(drawn) - min(drawn)) if drawn else 0.0
    aside: dict[int, float] = {}
    for line in lines:
        crowd: list[Dot] = []
        for dot in [*sorted(line.dots, key=place), None]:
            if dot is not None and (not crowd or place(dot) - place(crowd[-1]) <= near):
                crowd.append(dot)
                continue
            step = min(_STEP, 2 * _REACH / max(len(crowd) - 1, 1))
            crowd.sort(key=lambda member: order.index(member.series))
            for number, point in enumerate(crowd):
                aside[id(point)] = step * (number - (len(crowd) - 1) / 2)
            crowd = [dot] if dot is not None else []
    return aside


def _numbered(lines: Sequence[Line]) -> Iterator[tuple[float, str, Line | None]]:
    """Yield each row's place; a group begins with a row of its own, whose line is None."""
    y = 0.0
    for group, members in _groups(lines):
        yield y, group, None
        y += _LINES
        for line in members:
            yield y, group, line
            y += _LINES


def _name_group(axes: Axes, y: float, group: str, left: float) -> None:
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = axes.get_figure(root=True)
    if figure is None:
        return
    place = blended_transform_factory(figure.transFigure, axes.transData)
    axes.axhspan(y - 0.46, y + 0.46, color=SHADE, linewidth=0, zorder=0.4)
    shifted = place + ScaledTranslation(MARGIN, 0, figure.dpi_scale_trans)
    words = style.fitted(group, left + 2.5, GROUP_SIZE, bold=True)
    axes.text(0, y, words, transform=shifted, size=GROUP_SIZE, weight="bold", color=INK, va="center", zorder=5)


def _lay_guides(axes: Axes, places: Sequence[tuple[float, Line]], connect: bool) -> None:
    from matplotlib.patches import Rectangle

    rows = [y for y, _ in places]
    axes.hlines(
        rows, 0, 1, transform=axes.get_yaxis_transform(), color=FAINT, linewidth=0.5, linestyle=(0, (1, 2)), zorder=0.5
    )
    for y, line in places:
        if line.band is not None:
            low, high = line.band
            axes.add_patch(Rectangle((low, y - 0.36), high - low, 0.72, facecolor=BAND, edgecolor="none", zorder=0.6))
        if line.limit is not None:
            axes.vlines(line.limit, y - 0.4, y + 0.4, color=INK, linewidth=1.6, zorder=1.8)
    if connect:
        spans = [(y, min(dot.x for dot in line.dots), max(dot.x for dot in line.dots)) for y, line in places]
        across, lows, highs = zip(*spans, strict=True)
        axes.hlines(across, lows, highs, color="#afb8c1", linewidth=1.2, zorder=1)


def _draw_series(
    axes: Axes, places: Sequence[tuple[float, Line]], series: str, mark: Mark, aside: Mapping[int, float]
) -> None:
    """Draw all marks of one series at once: full ones, then hollow ones, over their intervals."""
    found = [(y + aside[id(dot)], dot) for y, line in places for dot in line.dots if dot.series == series]
    intervals = [(y, dot.low, dot.high) for y, dot in found if dot.low is not None and dot.high is not None]
    if intervals:
        heights, lows, highs = zip(*intervals, strict=True)
        axes.hlines(heights, lows, highs, color=mark.color, linewidth=1.6, zorder=2)
    for hollow in (False, True):
        chosen = [(dot.x, y) for y, dot in found if dot.hollow is hollow]
        if chosen:
            across, down = zip(*chosen, strict=True)
            # a rim of paper parts full marks that touch; they are larger by what it covers
            face, edge, thick, size = (PAPER, mark.color, None, None) if hollow else (mark.color, PAPER, 0.5, 6.4)
            rim: dict[str, Any] = {
                "markerfacecolor": face,
                "markeredgecolor": edge,
                "markeredgewidth": thick,
                "markersize": size,
            }
            axes.plot(across, down, **mark.point, **rim, zorder=3)
    crossed = [(dot.x, y) for y, dot in found if dot.crossed]
    if crossed:
        axes.plot(*zip(*crossed, strict=True), **CROSS, zorder=3.2)


def reach(values: Sequence[float], gap: float, scale: Scale = "linear") -> tuple[float, float]:
    """Return the ends of what an axis should show: all values but outliers, which would press the others together.

    Outliers are at each end the last OUTLIERS of all values, one at least, that stand off the next one by more than
    `gap`: a distance, or a factor on a logarithmic scale.
    """
    places = sorted(math.log(value) if scale == "log" else value for value in values)
    most = max(round(OUTLIERS * len(places)), 1)
    far = math.log(gap) if scale == "log" else gap
    gaps = [after - before > far for before, after in pairwise(places)]
    first = max((i + 1 for i, is_far in enumerate(gaps[:most]) if is_far), default=0)
    last = min((i for i, is_far in enumerate(gaps) if is_far and i >= len(gaps) - most), default=len(places) - 1)
    low, high = (places[first], places[last]) if first <= last else (places[0], places[-1])
    return (math.exp(low), math.exp(high)) if scale == "log" else (low, high)


def within(lines: Sequence[Line], low: float, high: float, words: Callable[[float], str]) -> list[Line]:
    """Return the rows with the marks that lie off the scale moved to its edge, where their value is written."""
    slack = 1e-9 * max(abs(low), abs(high))

    def kept(dot: Dot) -> Dot:
        if low - slack <= dot.x <= high + slack:
            cut = (None if end is None else min(max(end, low), high) for end in (dot.low, dot.high))
            return replace(dot, low=next(cut), high=next(cut))
        return replace(dot, x=min(max(dot.x, low), high), low=None, high=None, beyond=words(dot.x))

    return [replace(line, dots=tuple(kept(dot) for dot in line.dots)) for line in lines]


def _tell_beyond(axes: Axes, y: float, line: Line) -> None:
    """Write the values of the marks at the edges beside them, towards the middle."""
    least = min(dot.x for dot in line.dots)
    for is_left in (True, False):
        told = [dot for dot in line.dots if dot.beyond and (dot.x == least and dot.x <= 1) is is_left]
        if told:
            words = ", ".join(str(dot.beyond) for dot in told)
            axes.annotate(
                f"\u25c2 {words}" if is_left else f"{words} \u25b8",
                (told[0].x, y),
                xytext=((1 if is_left else -1) * _clear(axes, told[0].x, line, len(words) + 2), 0),
                textcoords="offset points",
                ha="left" if is_left else "right",
                va="center",
                size=7.5,
                color=MUTED,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.6},
                zorder=3.5,
            )


def _clear(axes: Axes, edge: float, line: Line, letters: int) -> float:
    """Return how many points from the edge words of so many letters hide no other mark of the row."""
    places = axes.transData.transform([(dot.x, 0.0) for dot in line.dots])[:, 0]
    (origin,) = axes.transData.transform([(edge, 0.0)])[:, 0]
    start, width = 7.0, 4.4 * letters
    for away in sorted(abs(places - origin) * 72 / axes.figure.dpi):
        if start - 4 < away < start + width + 4:
            start = away + 7.0
    return float(start)


def name_axis(axes: Axes, words: str, lines: Sequence[Line]) -> None:
    """Label the axis under the rows, which has its scale by now, and show the scale above them too, for tall charts.

    The values of marks at its edges are written here: where they hide no other mark, the scale decides.
    """
    axes.set_xlabel(words)
    for y, _, line in _numbered(lines):
        if line is not None:
            _tell_beyond(axes, y, line)
    if axes.get_ylim()[0] > PAGE / 3:
        axes.tick_params(axis="x", labeltop=True)


def draw_reference(axes: Axes, x: float) -> None:
    """Draw the vertical line that the marks are read against."""
    axes.axvline(x, color=INK, linewidth=1.1, zorder=1.5)
