"""`samples`: every sample of one case, in the order of time and as a distribution, with the clock under it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from gpubench.model import ResultSet, Sample, Timing
from gpubench.views import style, text
from gpubench.views.charts.data import Point, contenders, is_simulated, points
from gpubench.views.charts.page import MARGIN, Entry, Sheet, sheet, subtitle, unnumbered
from gpubench.views.charts.sheets import Chart, file_name, numbered
from gpubench.views.style import INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUND_MARKS = (
    style.Mark("#08519c", "o"),
    style.Mark("#d55e00", "^"),
    style.Mark("#4db38f", "s"),
    style.Mark("#b0568b", "D"),
    style.Mark("#a87500", "v"),
)
"""Rounds are told apart by these (the first three in grey, too), again from the first after the last."""

_TIMES, _CLOCK, _GAP, _BETWEEN = 1.7, 0.58, 0.1, 0.55
_LEFT, _RIGHT = 0.78, 1.75
_HIGHEST = 9.6
"""Inches of blocks on one sheet: with title and notes a sheet then fits A4 and Letter."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One sample in its place: counted from 1 in the order of time; a discarded one stands at its round's end."""

    place: int
    round: int
    sample: Sample
    discarded: bool


def charts(result: ResultSet) -> list[Chart]:
    """Return the sheets for each case that has samples: as many contenders on one as fit a printed page."""
    found = points(result)
    cases: dict[str, list[Point]] = {}
    for point in found:
        cases.setdefault(point.row.case, []).append(point)
    made = []
    for case, mine in cases.items():
        order = contenders(mine)
        drawn = sorted(
            (point for point in mine if point.record.timing and in_order(point.record.timing)),
            key=lambda point: order.index(point.row.contender),
        )
        if drawn:
            missing = unnumbered([point for point in mine if point not in drawn], mine)
            sheets = _pages(drawn)
            for number, page in enumerate(sheets, 1):
                alt = f"Every sample of {case}. " + " ".join(_told(point) for point in page)
                title = f"Samples of {case}" + (f" ({number} of {len(sheets)})" if len(sheets) > 1 else "")
                notes = missing if number == len(sheets) else []
                name = numbered(file_name("samples", case), number)
                made.append(Chart(name, title, alt, partial(_draw, result, title, page, notes)))
    return made


def _pages(drawn: Sequence[Point]) -> list[list[Point]]:
    """Cut the contenders into sheets of nearly equal length, none higher than a printed page."""
    most = max(int(_HIGHEST / max(map(_height, drawn))), 1)
    count = -(-len(drawn) // most)
    length = -(-len(drawn) // count)
    return [list(drawn[start : start + length]) for start in range(0, len(drawn), length)]


def _height(point: Point) -> float:
    """Return the inches that a contender's block takes."""
    return 0.26 + _TIMES + (_GAP + _CLOCK if _has_clock(point) else 0.0) + _BETWEEN


def _has_clock(point: Point) -> bool:
    timing = point.record.timing
    return timing is not None and any(taken.sample.sm_mhz is not None for taken in in_order(timing))


def _told(point: Point) -> str:
    timing, row = point.record.timing, point.row
    kept, gone = (len(timing.samples), len(timing.discarded)) if timing else (0, 0)
    median = text.quantity(row.median_us, "us")
    return f"{row.contender}: {kept} samples kept, {gone} discarded, median {median}."


def in_order(timing: Timing) -> list[Taken]:
    """Return all samples of a timing in order: round by round, the kept ones of each, then those it discarded."""
    found: list[Taken] = []
    for number, kept in enumerate(timing.rounds):
        gone = [sample for owner, sample in timing.discarded if owner == number]
        for sample, discarded in [*zip(kept, repeat(False)), *zip(gone, repeat(True))]:
            found.append(Taken(len(found) + 1, number, sample, discarded))
    return found


def _draw(result: ResultSet, title: str, drawn: Sequence[Point], missing: Sequence[str]) -> Figure:
    taken = [in_order(point.record.timing) for point in drawn if point.record.timing]
    clocks = [_has_clock(point) for point in drawn]
    heights = [_height(point) for point in drawn]
    rounds = max(dot.round for mine in taken for dot in mine) + 1
    made = sheet(
        title,
        subtitle(result) + _method(drawn),
        sum(heights),
        legend=_legend(rounds, any(dot.discarded for mine in taken for dot in mine)),
        notes=[
            "Line and band: the median and its 95 % interval, over the kept samples. A discarded sample (its clock had "
            "fallen) stands at the end of its round.",
            *missing,
        ],
        simulated=is_simulated(drawn),
    )
    top = 0.0
    for point, mine, clock, height in zip(drawn, taken, clocks, heights, strict=True):
        _block(made, point, mine, top + 0.26, clock)
        top += height
    return made.figure


def _method(drawn: Sequence[Point]) -> str:
    return f", timed {drawn[0].record.case.timing.method}"


def _legend(rounds: int, discarded: bool) -> list[Entry]:
    shown = min(rounds, len(ROUND_MARKS))
    entries = [Entry(f"round {number + 1}", ROUND_MARKS[number].point) for number in range(shown)]
    if rounds > shown:
        entries.append(Entry("and so on", {"linestyle": "none"}))
    if discarded:
        entries.append(
            Entry("hollow: discarded", {"color": INK, "marker": "o", "linestyle": "none", "markerfacecolor": PAPER})
        )
    return entries


def _block(made: Sheet, point: Point, taken: Sequence[Taken], top: float, clock: bool) -> None:
    """Draw one contender: times on the left, their distribution beside, clocks below."""
    from matplotlib.ticker import MaxNLocator

    row = point.row
    width = made.width - _LEFT - _RIGHT - MARGIN
    times = made.axes(_LEFT, top, width, _TIMES)
    median = style.duration(row.median_us)
    words = f"{style.label(row.contender, 48)}: median {median}, {row.status}"
    if point.record.timing:
        words += f", {len(point.record.timing.samples)} samples"
    times.set_title(words)
    scale, unit = text.time_unit(row.median_us or taken[0].sample.us)
    _scatter(times, taken, lambda timed: timed.sample.us / scale)
    _median(times, point, scale)
    times.set_ylabel(unit if unit != "us" else "\u00b5s")
    times.set_xlim(0.2, len(taken) + 0.8)
    _zoom(times, taken, scale)
    lowest = times
    if clock:
        times.tick_params(labelbottom=False)
        lowest = made.axes(_LEFT, top + _TIMES + _GAP, width, _CLOCK, sharex=times)
        _scatter(lowest, taken, lambda timed: timed.sample.sm_mhz, size=3.2)
        lowest.set_ylabel("SM clock\nMHz", fontsize=8)
        lowest.yaxis.set_label_coords(-0.42 / width, 0.5)
        lowest.margins(y=0.25)
        lowest.yaxis.set_major_locator(MaxNLocator(nbins=2, integer=True))
        lowest.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    lowest.set_xlabel("samples in the order taken")
    lowest.xaxis.set_major_locator(MaxNLocator(integer=True))
    _distribution(made, times, point, taken, top, scale)


def _zoom(axes: Axes, taken: Sequence[Taken], scale: float) -> None:
    """Set the height to what most kept samples need; what lies above is counted at the upper edge, not dropped."""
    kept = sorted(dot.sample.us / scale for dot in taken if not dot.discarded)
    if not kept:
        return
    middle = kept[len(kept) // 2]
    usual = kept[min(len(kept) * 9 // 10, len(kept) - 1)]
    reach = max(usual - kept[0], 0.004 * middle)
    top = min(kept[-1], usual + 1.5 * reach) + 0.22 * reach
    axes.set_ylim(kept[0] - 0.15 * reach, top)
    above = [dot for dot in taken if dot.sample.us / scale > top]
    for dot in above:
        mark = ROUND_MARKS[dot.round % len(ROUND_MARKS)]
        face = PAPER if dot.discarded else mark.color
        axes.plot([dot.place], [top], **mark.point, markerfacecolor=face, clip_on=False, zorder=5)
    if above:
        times = sorted(dot.sample.us for dot in above)
        gone = sum(dot.discarded for dot in above)
        words = f"{len(above)} above the scale ({gone} discarded): {style.duration(times[0])}"
        words += f" to {style.duration(times[-1])}" if len(times) > 1 else ""
        start = style.text_width(axes.get_title(loc="left"), 9, bold=True) + 0.15
        axes.annotate(
            style.fitted(words, style.page().width - _LEFT - MARGIN - start, 7.5),
            (0.0, 1.0),
            xycoords="axes fraction",
            xytext=(72 * start, 4.5),
            textcoords="offset points",
            size=7.5,
            color=MUTED,
        )


def _scatter(
    axes: Axes, taken: Sequence[Taken], value: Callable[[Taken], float | None], size: float | None = None
) -> None:
    extra: dict[str, Any] = {} if size is None else {"markersize": size}
    for number in dict.fromkeys(dot.round for dot in taken):
        mark = ROUND_MARKS[number % len(ROUND_MARKS)]
        for discarded in (False, True):
            chosen = [
                (dot.place, y)
                for dot in taken
                if dot.round == number and dot.discarded is discarded and (y := value(dot)) is not None
            ]
            if chosen:
                across, up = zip(*chosen, strict=True)
                face = PAPER if discarded else mark.color
                axes.plot(across, up, **mark.point, markerfacecolor=face, **extra)
        first = next(dot.place for dot in taken if dot.round == number)
        if first > 1:
            axes.axvline(first - 0.5, color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)))


def _median(axes: Axes, point: Point, scale: float) -> None:
    row = point.row
    if row.low_us is not None and row.high_us is not None:
        axes.axhspan(row.low_us / scale, row.high_us / scale, color=INK, alpha=0.12, linewidth=0, zorder=0.5)
    if row.median_us is not None:
        axes.axhline(row.median_us / scale, color=INK, linewidth=1.0, zorder=1)


def _distribution(made: Sheet, times: Axes, point: Point, taken: Sequence[Taken], top: float, scale: float) -> None:
    """Draw the kept samples' histogram on its side, the rounds upon each other, on the axis of the times."""
    from matplotlib.ticker import MaxNLocator

    kept = [dot for dot in taken if not dot.discarded]
    axes = made.axes(made.width - MARGIN - _RIGHT + 0.12, top, _RIGHT - 0.2, _TIMES, sharey=times)
    axes.tick_params(labelleft=False)
    axes.set_xlabel("samples")
    if kept:
        values = [dot.sample.us / scale for dot in kept]
        low, high = min(values), max(values)
        bins = min(max(int(len(values) ** 0.5 * 2), 6), 30)
        edges = [low + (high - low) * i / bins for i in range(bins + 1)] if high > low else [low * 0.999, low * 1.001]
        numbers = sorted({dot.round for dot in kept})
        axes.hist(
            [[dot.sample.us / scale for dot in kept if dot.round == number] for number in numbers],
            bins=edges,
            orientation="horizontal",
            stacked=True,
            color=[ROUND_MARKS[number % len(ROUND_MARKS)].color for number in numbers],
            edgecolor=PAPER,
            linewidth=0.3,
        )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
    _median(axes, point, scale)
