"""The sheet that a chart is drawn on: title, legend, room for axes, and notes, placed in inches from the top.

The width is that of the page asked for and the height follows from what is on it, so that letters have one size on
every chart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpubench.model import ResultSet
from gpubench.names import MEASURED
from gpubench.views import style
from gpubench.views.charts.data import Point
from gpubench.views.style import CROSS, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN = 0.12
TITLE_SIZE, SUBTITLE_SIZE, LEGEND_SIZE, NOTE_SIZE = 11.5, 8.5, 8.5, 7.5
_NOTE_LINE = 0.15
_LEGEND_LINE = 0.2
_MARK_EVERY = 5.0

SIMULATED = "SIMULATED"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a legend: what `Line2D` or `Patch` takes, and its words."""

    words: str
    line: dict[str, Any] = field(default_factory=dict)
    patch: dict[str, Any] | None = None


CROSSED = Entry("crossed: inaccurate, beyond the error that ours are allowed", dict(CROSS))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A figure and the part of it that is left for axes: inches from the left and from the top."""

    figure: Figure
    width: float
    height: float
    top: float
    bottom: float

    def axes(self, left: float, top: float, width: float, height: float, **options: Any) -> Axes:
        """Add axes; `left` and `top` are inches from the sheet's upper left corner of what is left for axes."""
        bottom = self.height - self.top - top - height
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, width / self.width, height / self.height), **options
        )


def subtitle(result: ResultSet) -> str:
    """Return the line under a title: the suite, the device, and when it was measured."""
    device = result.environment.get("device")
    name = device.get("name") if isinstance(device, dict) else None
    suite = result.suite.get("name")
    words = [str(suite or "suite"), "on", str(name or "unknown device") + ",", result.created[:10]]
    return " ".join(words)


def sheet(
    title: str,
    below: str,
    body: float,
    *,
    legend: Sequence[Entry] = (),
    notes: Sequence[str] = (),
    simulated: bool = False,
) -> Sheet:
    """Return a sheet with `body` inches of room for axes between its legend and its notes."""
    from matplotlib.figure import Figure

    asked = style.page()
    room = asked.width - 2 * MARGIN
    if simulated:
        below += " - simulated on the host: says nothing about a GPU"
    told = [] if asked.bare else notes
    lines = [line for note in told for line in style.wrapped(note, room, NOTE_SIZE)]
    title = title if asked.title is None else asked.title
    top = 0.0 if asked.bare else 0.44 if title else 0.2
    rows = _legend_rows(legend, room)
    head = MARGIN + top + len(rows) * _LEGEND_LINE + (0.1 if rows else 0.04)
    foot = MARGIN + len(lines) * _NOTE_LINE + (0.06 if lines else 0.0)
    height = head + body + foot
    figure = Figure(figsize=(asked.width, height))
    if asked.bare:
        figure.set_label(" ".join([f"{title}: {below}.", *notes]))
    made = Sheet(figure, asked.width, height, head, foot)

    def write(y: float, words: str, **options: Any) -> None:
        figure.text(MARGIN / asked.width, 1 - y / height, words, va="top", ha="left", **options)

    if title and not asked.bare:
        write(MARGIN, style.fitted(title, room, TITLE_SIZE, bold=True), size=TITLE_SIZE, weight="bold", color=INK)
    if not asked.bare:
        write(MARGIN + top - 0.2, style.fitted(below, room, SUBTITLE_SIZE), size=SUBTITLE_SIZE, color=MUTED)
    for number, row in enumerate(rows):
        _legend(made, row, MARGIN + top + 0.03 + number * _LEGEND_LINE)
    for number, line in enumerate(lines):
        write(head + body + 0.06 + number * _NOTE_LINE, line, size=NOTE_SIZE, color=MUTED)
    if simulated:
        _watermark(made, head, body)
    return made


def _legend_rows(entries: Sequence[Entry], room: float) -> list[list[Entry]]:
    """Break the legend into rows that fit the width."""
    rows: list[list[Entry]] = []
    left = 0.0
    for entry in entries:
        need = style.text_width(entry.words, LEGEND_SIZE) + 0.62
        if not rows or left < need:
            rows.append([])
            left = room
        rows[-1].append(entry)
        left -= need
    return rows


def _legend(made: Sheet, entries: Sequence[Entry], top: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = [
        Patch(**entry.patch) if entry.patch is not None else Line2D([], [], **entry.line) for entry in entries
    ]
    made.figure.legend(
        handles,
        [entry.words for entry in entries],
        loc="upper left",
        bbox_to_anchor=(MARGIN / made.width, 1 - top / made.height),
        ncols=len(entries),
    )


def _watermark(made: Sheet, top: float, body: float) -> None:
    count = max(round(body / _MARK_EVERY), 1)
    for number in range(count):
        y = 1 - (top + body * (number + 0.5) / count) / made.height
        made.figure.text(
            0.5,
            y,
            SIMULATED,
            size=64,
            weight="bold",
            color="#b42318",
            alpha=0.22,
            rotation=18,
            ha="center",
            va="center",
        )


KINDS_TOLD = 12


def unnumbered(
    missing: Sequence[Point], found: Sequence[Point], what: str = "Without a number here", why: str | None = None
) -> list[str]:
    """Return the note that counts what has no number on this chart: `cub 9 of 12 unsupported`, the most first.

    found: all that could have one. why: the reason, where it is not the record's own.
    """
    if not missing:
        return []
    all_of = Counter(point.row.contender for point in found)
    counts = Counter((point.row.contender, _reason(point) if why is None else why) for point in missing)
    told = [
        f"{style.label(name, 48)} {count} of {all_of[name]} {reason}".rstrip()
        for (name, reason), count in counts.most_common(KINDS_TOLD)
    ]
    rest = sum(count for _, count in counts.most_common()[KINDS_TOLD:])
    more = f"; {rest} of other contenders" if rest else ""
    return [f"{what} ({len(missing)}): {'; '.join(told)}{more}."]


def _reason(point: Point) -> str:
    if point.row.status not in MEASURED:
        return point.row.status
    return "small" if point.row.bytes else "moving no bytes"


def series_entry(name: str, mark: style.Mark, line: bool = False, words: str | None = None) -> Entry:
    """Return the legend's entry of a contender."""
    shown = style.label(words or name, 48)
    if shown.startswith("_"):
        shown = "\u200a" + shown  # matplotlib leaves names that begin with an underscore out of legends
    return Entry(shown, {**mark.point, "linestyle": mark.dashes if line else "none"})
