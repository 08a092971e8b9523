"""`compare`: a forest plot. How much slower or faster each case became, with its interval and verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpubench.comparison import Comparison, Row, Verdict
from gpubench.views import text
from gpubench.views.charts import dots
from gpubench.views.charts.page import Entry, sheet
from gpubench.views.charts.sheets import Chart, numbered
from gpubench.views.comparison import totals
from gpubench.views.machine import machine_lines
from gpubench.views.style import BAND, PAPER, VERDICT_MARKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORDER: tuple[Verdict, ...] = ("SLOWER", "FASTER", "DRIFTED", "UNDECIDED", "SAME")

OUTLIER = 1.5
"""A factor: an outlier stands off the others by more than this."""


def charts(comparison: Comparison) -> list[Chart]:
    """Return the sheets of the chart; none when no pair has a ratio."""
    drawn = [row for row in comparison.rows if row.estimate is not None and row.verdict in VERDICT_MARKS]
    left = Counter(row.verdict for row in comparison.rows if row.estimate is None or row.verdict not in VERDICT_MARKS)
    told = ", ".join(f"{count} {verdict}" for verdict, count in left.most_common())
    missing = [f"Without a ratio here ({left.total()}): {told}."] if left else []
    sheets = dots.pages(_lines(drawn))
    return [
        Chart(
            name=numbered("compare", number),
            title="What changed",
            alt=f"Forest plot of {len(page)} ratios, new time over old. {totals(comparison)}.",
            draw=partial(_draw, comparison, page, missing if number == len(sheets) else [], (number, len(sheets))),
        )
        for number, page in enumerate(sheets, 1)
    ]


def _lines(drawn: Sequence[Row]) -> list[dots.Line]:
    """Return a row a pair: by verdict, those that changed first, and within by how much."""
    contenders = {row.contender for row in drawn}
    found = []
    for row in sorted(drawn, key=lambda row: (_ORDER.index(row.verdict), _by_size(row), row.case, row.contender)):
        one = row.estimate
        if one is None:
            continue
        name = row.case if len(contenders) == 1 else f"{row.case}  {row.contender}"
        hollow = row.verdict == "UNDECIDED" or (row.verdict == "SAME" and row.unchanged)
        dot = dots.Dot(row.verdict, one.ratio, one.low, one.high, hollow=hollow)
        band = (1 / (1 + one.threshold), 1 + one.threshold)
        found.append(dots.Line(row.verdict, name, (dot,), band))
    return found


def _by_size(row: Row) -> float:
    ratio = row.estimate.ratio if row.estimate else 1.0
    return ratio if row.verdict == "FASTER" else -ratio


def _legend(page: Sequence[dots.Line]) -> list[Entry]:
    words = {
        "SLOWER": "slower",
        "FASTER": "faster",
        "SAME": "same",
        "DRIFTED": "unchanged work that drifted",
        "UNDECIDED": "undecided",
    }
    entries = []
    for verdict in _ORDER:
        if verdict == "DRIFTED" and not any(dot.series == verdict for line in page for dot in line.dots):
            continue
        mark = VERDICT_MARKS[verdict]
        face = PAPER if verdict == "UNDECIDED" else mark.color
        entries.append(Entry(words[verdict], {**mark.point, "markerfacecolor": face}))
    if any(dot.hollow and dot.series == "SAME" for line in page for dot in line.dots):
        entries.append(Entry("same: unchanged work", {**VERDICT_MARKS["SAME"].point, "markerfacecolor": PAPER}))
    return [*entries, Entry("within the threshold", patch={"facecolor": BAND, "edgecolor": "none"})]


def _draw(comparison: Comparison, page: list[dots.Line], missing: list[str], place: tuple[int, int]) -> Figure:
    number, last = place
    notes = [*machine_lines(comparison)[:1]]
    notes += [f"{totals(comparison)}. A change counts from {100 * comparison.threshold:g} %."]
    for mean in comparison.means[:1]:
        interval = f"{text.significant(mean.low)} to {text.significant(mean.high)}"
        notes.append(
            f"Geometric mean of {mean.pairs} changed pairs: {text.significant(mean.ratio)} (95 % interval {interval})."
        )
    made = sheet(
        f"What changed: {comparison.old} -> {comparison.new}" + (f" ({number} of {last})" if last > 1 else ""),
        "median time of new over old beyond the machine's change, with its 95 % interval; a mark a case and contender",
        dots.body_height(page),
        legend=_legend(page),
        notes=[*notes, *missing],
        simulated=comparison.simulated,
    )
    low, high = dots.reach(
        [end for line in page for dot in line.dots for end in (dot.x, dot.low, dot.high) if end], OUTLIER, "log"
    )
    farthest = max(1 / low, high, *(end for line in page for end in line.band or ()))
    shown = dots.within(page, 1 / farthest, farthest, lambda ratio: f"{text.significant(ratio, 3)}x")
    axes = dots.draw(made, shown, {str(verdict): mark for verdict, mark in VERDICT_MARKS.items()}, scale="log")
    _scale(axes, shown)
    dots.draw_reference(axes, 1.0)
    dots.name_axis(axes, "new time / old time (log scale):  \u25c2 faster | slower \u25b8", shown)
    return made.figure


def _scale(axes: Axes, page: Sequence[dots.Line]) -> None:
    """Give the axis a logarithmic scale, as wide to the left of 1 as to the right, that holds every interval."""
    import math

    from matplotlib.ticker import FixedLocator, NullLocator

    ends = [value for line in page for dot in line.dots for value in (dot.x, dot.low or dot.x, dot.high or dot.x)]
    ends += [value for line in page for value in line.band or ()]
    reach = max([math.log(1.02), *(abs(math.log(value)) for value in ends)]) * 1.08
    axes.set_xscale("log")
    axes.set_xlim(math.exp(-reach), math.exp(reach))
    axes.xaxis.set_major_locator(FixedLocator(_ticks(reach)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.4g}x" if value >= 0.001 else f"{value:.1e}x")


_STEPS = (1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 1e6)


def _ticks(reach: float) -> list[float]:
    """Return 1 and up to four ticks to each side, the same way apart."""
    import math

    step = next((step for step in _STEPS if reach / math.log(step) < 5), 1e9)
    count = int(reach / math.log(step))
    if step >= 1.5:
        return [step**power for power in range(-count, count + 1)]
    plain = [1 + i * (step - 1) for i in range(-count - 1, count + 2)]
    return [value for value in plain if value > 0 and abs(math.log(value)) <= reach]
