"""What tests ask of a figure: its words, its marks, and what does not lie on the page."""

from __future__ import annotations

from typing import Any

from gpubench.views.charts.sheets import Chart
from tests.views.generated import sweep

SMALL = sweep("gpubench:auto", "torch", "numpy", dtypes=("float32", "bfloat16"))
"""A made-up result of three contenders."""


def words(figure: Any) -> str:
    """Return every text of a figure, a line each."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_text())


def marks(axes: Any, hollow: bool | None = None) -> list[tuple[float, float]]:
    """Return the places of all markers on the axes, hollow ones or full ones only when asked, never crosses."""
    found = []
    for line in axes.lines:
        if line.get_marker() == "x":
            continue
        if line.get_marker() in ("None", None, "") or line.get_linestyle() != "None":
            continue
        is_hollow = line.get_markerfacecolor() == "#ffffff"
        if hollow is None or hollow is is_hollow:
            found += list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    return found


def crosses(axes: Any) -> list[tuple[float, float]]:
    """Return the places that are crossed out: answers beyond the bound."""
    crossed = [line for line in axes.lines if line.get_marker() == "x"]
    return [place for line in crossed for place in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def named(charts: list[Chart], name: str) -> Any:
    """Draw the chart of this name."""
    return next(chart for chart in charts if chart.name == name).draw()


def outside(figure: Any) -> list[str]:
    """Return the words that do not lie wholly on the page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()  # type: ignore[no-untyped-call] # matplotlib's own stubs leave it out
    page = figure.bbox
    shown = [*figure.texts]
    for axes in figure.axes:
        shown += [*axes.texts, axes.xaxis.label, axes.yaxis.label, axes.title, axes._left_title]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            shown += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    found = []
    for artist in shown:
        if artist.get_visible() and artist.get_text():
            box = artist.get_window_extent()
            if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1:
                found.append(artist.get_text())
    return found
