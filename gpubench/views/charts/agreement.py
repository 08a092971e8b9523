"""How far events, corrected events and NVBench are from CUPTI, over sizes: what `gpubench agreement` recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpubench.views import style
from gpubench.views.agreement import LEAST_US, PART, allowed
from gpubench.views.charts.page import MARGIN, Entry, series_entry, sheet
from gpubench.views.charts.sheets import Chart
from gpubench.views.style import BAND, INK, Mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

MARKS = {
    "events": Mark("#d55e00", "^", (0, (5, 1.5))),
    "corrected events": Mark("#0072b2", "o"),
    "NVBench": Mark("#a87500", "P", (0, (2.5, 1.5))),
}
LIMITS = (-3.2, 3.6)
"""Microseconds across which the panels reach."""
TITLE = "How far the clocks are from CUPTI"


def chart(document: Mapping[str, Any]) -> Chart:
    """Return the chart. KeyError or TypeError for what is no document of `gpubench agreement`."""
    rows: Sequence[Row] = document["rows"]
    worst = max(rows, key=lambda row: abs(_off(row, row["corrected_us"]) or 0.0))
    alt = (
        f"{TITLE}, in microseconds over the number of elements, for {', '.join(_operations(rows))}. "
        f"Events read more than the kernel takes at every size; corrected events are at most "
        f"{abs(_off(worst, worst['corrected_us']) or 0.0):.2f} us off ({worst['operation']} of {worst['elements']})."
    )
    return Chart("agreement", TITLE, alt, partial(_draw, document, rows))


def band(row: Row) -> tuple[float, float]:
    """Return how far from CUPTI's span a time may lie to agree with it: below, above."""
    least, longest = allowed(row)
    return least - row["cupti_span_us"], longest - row["cupti_span_us"]


def _off(row: Row, us: float | None) -> float | None:
    return None if us is None else us - row["cupti_span_us"]


def _operations(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["operation"]) for row in rows))


def _draw(document: Mapping[str, Any], rows: Sequence[Row]) -> Figure:
    device = document["environment"]["device"]
    operations = _operations(rows)
    left, gap, height = 0.62, 0.2, 2.6
    width = (style.page().width - left - MARGIN - 0.1 - (len(operations) - 1) * gap) / len(operations)
    made = sheet(
        TITLE,
        f"{device.get('name')}, driver {device.get('driver')}, {str(document['created'])[:10]}",
        height + 0.75,
        legend=[
            *(series_entry(name, mark, line=True) for name, mark in MARKS.items()),
            Entry(f"agrees: within {100 * PART:.0f} % or {LEAST_US} \u00b5s", patch={"facecolor": BAND}),
        ],
        notes=[
            "Medians of cold launches, less the span that CUPTI gives (from the start of the first kernel to the end "
            "of the last). Recording widens the gap between two launches: there the band reaches down to the sum of "
            "their durations."
        ],
    )
    for number, operation in enumerate(operations):
        axes = made.axes(left + number * (width + gap), 0.25, width, height)
        axes.set_title(style.label(operation, 24))
        _panel(axes, [row for row in rows if row["operation"] == operation])
        if number:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel("off CUPTI's span, \u00b5s")
        axes.set_xlabel("elements (log scale)")
    return made.figure


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    across = [row["elements"] for row in rows]
    axes.set_xscale("log", base=2)
    axes.set_ylim(*LIMITS)
    axes.xaxis.set_major_locator(FixedLocator(across[::3]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"2^{round(value).bit_length() - 1}")
    bounds = [band(row) for row in rows]
    axes.fill_between(across, [low for low, _ in bounds], [high for _, high in bounds], color=BAND, linewidth=0)
    axes.axhline(0.0, color=INK, linewidth=0.9, zorder=1.6)
    for name, mark in MARKS.items():
        pairs = [(row["elements"], off) for row in rows if (off := _off(row, _time(row, name))) is not None]
        if pairs:
            sizes, offs = zip(*pairs, strict=True)
            axes.plot(sizes, offs, color=mark.color, linestyle=mark.dashes, zorder=2.2)
            axes.plot(sizes, offs, **mark.point, zorder=3)


def _time(row: Row, name: str) -> float | None:
    """Return the median that a clock gives, None where it was not asked."""
    if name == "NVBench":
        return None if row["nvbench"] is None else float(row["nvbench"]["median_us"])
    return float(row["events_us"] if name == "events" else row["corrected_us"])
