"""`bandwidth`: GB/s over bytes moved for every sweep over sizes, and a row for every other case, under its ceiling."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpubench.model import ResultSet
from gpubench.names import HOST_CONTENDERS
from gpubench.views import style, text
from gpubench.views.charts import dots, rate_rows
from gpubench.views.charts.ceiling import short
from gpubench.views.charts.data import (
    Point,
    contenders,
    family,
    is_simulated,
    points,
)
from gpubench.views.charts.frame import Frame, ceiling_of, frame, launch_edge
from gpubench.views.charts.page import CROSSED, MARGIN, Entry, series_entry, sheet, subtitle, unnumbered
from gpubench.views.charts.rate_rows import REAL, dtype_order, hollow_entry, series_words
from gpubench.views.charts.sheets import Chart, file_name, numbered
from gpubench.views.style import CROSS, INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SWEEP = 3
"""Sizes that a sweep must have at least to be joined by a line."""

GAP = 64
"""A size may be at most this many times the one before it: a longer line would claim what nobody measured."""

NARROW = 6.0
"""Inches: a page under this has two panels side by side, not three."""

_EDGE: dict[str, Any] = {"color": MUTED, "linewidth": 1.0, "linestyle": (0, (4, 1.2, 1, 1.2))}

_BACK: dict[str, Any] = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1.2}
"""Paper behind words that stand on something."""


def charts(result: ResultSet) -> list[Chart]:
    """Return the charts of each operator that has a rate: its sweeps over sizes first, then its other cases in rows."""
    made = []
    found = points(result)
    for operator in dict.fromkeys(point.row.operator for point in found):
        mine = [point for point in found if point.row.operator == operator]
        drawn = [point for point in mine if point.rate is not None and point.row.bytes]
        if drawn:
            missing = unnumbered([point for point in mine if point.rate is None or not point.row.bytes], mine)
            made += _operator(result, operator, drawn, missing)
    return made


def _operator(result: ResultSet, operator: str, drawn: Sequence[Point], missing: Sequence[str]) -> list[Chart]:
    panels = _panels(drawn)
    swept = {id(point) for panel in panels.values() for point in panel}
    sheets = dots.pages(rate_rows.lines([point for point in drawn if id(point) not in swept]))
    last = len(sheets) + bool(panels)
    draws: list[Callable[[str, Sequence[str]], Figure]] = []
    if panels:
        draws.append(partial(_draw_sweeps, result, panels))
    draws += [partial(rate_rows.draw, result, drawn, page) for page in sheets]
    made = []
    for number, draw in enumerate(draws, 1):
        about = "over bytes moved" if panels and number == 1 else "a row a case"
        title = f"{operator}: achieved bandwidth, {about}" + (f" ({number} of {last})" if last > 1 else "")
        name = numbered(file_name("bandwidth", operator), number)
        notes = missing if number == last else []
        made.append(Chart(name, title, _alt(operator, drawn, result), partial(draw, title, notes)))
    return made


def _panels(drawn: Sequence[Point]) -> dict[str, list[Point]]:
    """Return the cases of each sweep over sizes that some contender has, under the words that name the sweep."""
    found: dict[tuple[str, ...], list[Point]] = {}
    for point in drawn:
        found.setdefault(family(point.record), []).append(point)
    order = sorted(found.values(), key=lambda mine: (dtype_order(mine[0].row.dtype), mine[0].row.dtype))
    panels: dict[str, list[Point]] = {}
    for mine in order:
        if any(sweeps([point for point in mine if point.row.contender == name]) for name in contenders(mine)):
            panels.setdefault(_named(mine), []).extend(mine)
    return panels


def _named(mine: Sequence[Point]) -> str:
    """Return a sweep in words: the case ids with what differs in their sizes written as n."""
    ids = [short(point.row.case, point.row.operator) for point in mine]
    first, *others = (re.split(r"(\d+)", name) for name in dict.fromkeys(ids))
    if any(len(other) != len(first) for other in others):
        return f"{mine[0].row.dtype}, {len(ids)} sizes"
    return "".join(part if all(other[i] == part for other in others) else "n" for i, part in enumerate(first))


def _alt(operator: str, drawn: Sequence[Point], result: ResultSet) -> str:
    top = max(drawn, key=lambda point: point.rate or 0.0)
    scale = frame(result, drawn)
    against = f"; the {scale.memory} is {text.rate(scale.copy)} GB/s" if scale.copy else ""
    if is_simulated(drawn):
        against += "; simulated, but for numpy"
    return (
        f"Bandwidth of {operator} over bytes moved, {len(drawn)} measurements of {', '.join(contenders(drawn))}. "
        f"The highest rate is {text.rate(top.rate or 0.0)} GB/s, by {top.row.contender} on {top.row.case}{against}."
    )


# --- Drawing ---------------------------------------------------------------------------------------------------------


def _draw_sweeps(
    result: ResultSet, panels: Mapping[str, Sequence[Point]], title: str, missing: Sequence[str]
) -> Figure:
    drawn = [point for mine in panels.values() for point in mine]
    across = style.page().width
    columns = min(len(panels), 2 if len(panels) == 4 or across < NARROW else 3)
    rows = -(-len(panels) // columns)
    height = {1: 3.6, 2: 2.9, 3: 2.35}[columns]
    left, gap, down = 0.78, 0.3, 0.58
    width = (across - left - MARGIN - 0.16 - (columns - 1) * gap) / columns
    scale = frame(result, drawn)
    names = contenders(drawn)
    marks = style.marks(names)
    made = sheet(
        title,
        subtitle(result),
        rows * (height + down) + 0.12,
        legend=_legend(drawn, names, marks, scale),
        notes=[*_notes(result, drawn, scale), *missing],
        simulated=is_simulated(drawn),
    )
    for number, (words, mine) in enumerate(panels.items()):
        row, column = divmod(number, columns)
        axes = made.axes(left + column * (width + gap), 0.22 + row * (height + down), width, height)
        axes.set_title(style.fitted(words, width, 9, bold=True))
        _scales(axes, scale, width)
        _limits(axes, scale, words=column == 0)
        for name in reversed(names):
            _series(axes, [point for point in mine if point.row.contender == name], marks[name])
        if column:
            axes.tick_params(labelleft=False)
        else:
            axes.set_ylabel("GB/s")
        if number + columns >= len(panels):
            axes.set_xlabel("bytes moved (log scale)")
    return made.figure


def _legend(drawn: Sequence[Point], names: Sequence[str], marks: Mapping[str, style.Mark], scale: Frame) -> list[Entry]:
    simulated = {point.row.contender for point in drawn if point.row.simulated}
    entries = [series_entry(name, marks[name], line=True, words=series_words(name, simulated)) for name in names]
    if any(point.row.launch_bound for point in drawn):
        entries.append(hollow_entry())
    if any(point.row.inaccurate for point in drawn):
        entries.append(CROSSED)
    if scale.launch_us is not None and launch_edge(scale) > scale.left:
        entries.append(Entry("launch-bound to the left", dict(_EDGE)))
    if len(scale.sweep) > 1:
        entries.append(Entry("copy of the same size", {"color": INK, "linewidth": 1.1}))
    return entries


def _notes(result: ResultSet, drawn: Sequence[Point], scale: Frame) -> list[str]:
    ceiling = ceiling_of(result, drawn)
    rates = [
        f"{name} {text.rate(rate)}"
        for name, rate in (("copy", ceiling.copy_GBps), ("read", ceiling.read_GBps), ("write", ceiling.write_GBps))
        if rate
    ]
    notes = []
    if rates:
        whose = " of the host's memory" if is_simulated(drawn) else ""
        notes.append(f"Ceilings{whose} measured in this run, GB/s: {', '.join(rates)}.")
    if scale.launch_us is not None:
        notes.append(f"Launch-bound: the median is under {style.duration(scale.launch_us)}, 3 times an empty launch.")
    method = "Cases that fit in L2 start with a flushed cache when timed cold." if scale.l2 else ""
    notes.append(
        f"A mark a case; bands and bars: 95 % interval of the median; lines join sweeps over one size. {method}".strip()
    )
    if any(point.row.contender in HOST_CONTENDERS for point in drawn):
        notes.append(REAL if is_simulated(drawn) else "numpy runs on the host.")
    return [" ".join(notes)]


def _scales(axes: Axes, scale: Frame, width: float) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_xlim(scale.left, scale.right)
    axes.set_ylim(-0.012 * scale.top, scale.top)
    axes.xaxis.set_major_locator(FixedLocator(_size_ticks(scale.left, scale.right, max(int(width / 0.55), 2))))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: text.size(value))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _size_ticks(left: float, right: float, most: int) -> list[float]:
    """Return powers of two between the ends, at most `most`, as many doublings apart as that takes."""
    first, last = math.ceil(math.log2(left)), math.floor(math.log2(right))
    step = next((step for step in (1, 2, 5, 10, 20, 40) if (last - first) // step < most), 80)
    aligned = math.ceil(first / step) * step
    return [2.0**power for power in range(aligned, last + 1, step)] or [left]


def _limits(axes: Axes, scale: Frame, words: bool) -> None:
    """Draw what limits a kernel: the ceilings across, the launch to the left, the size of the L2 cache."""
    import numpy as np

    for rate, dashes, name, below in (
        (scale.peak, (0, (5, 2)), "theoretical peak", False),
        (scale.copy, "-", scale.memory, True),
    ):
        if rate:
            axes.axhline(rate, color=INK, linewidth=1.1, linestyle=dashes, zorder=1.6)
            if words:
                placed = {"xytext": (4, -3.5 if below else 3.5), "va": "top" if below else "bottom"}
                _said(axes, f"{name} {text.rate(rate)}", (0.0, rate), axes.get_yaxis_transform(), placed)
    if scale.launch_us is not None and launch_edge(scale) > scale.left:
        across = np.geomspace(scale.left, scale.right, 200)
        edge = across / scale.launch_us / 1e3
        axes.plot(across[edge <= scale.top], edge[edge <= scale.top], **_EDGE, zorder=1.4)
    if len(scale.sweep) > 1:
        sizes, rates = zip(*scale.sweep, strict=True)
        axes.plot(sizes, rates, color=INK, linewidth=1.1, zorder=1.7)
    if scale.l2 and scale.left < scale.l2 < scale.right:
        axes.axvline(scale.l2, color=MUTED, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1.5)
        if words:
            placed = {"xytext": (-3, -2), "ha": "right", "va": "top"}
            fits = f"\u25c2 fits in L2 ({text.size(scale.l2)})"
            _said(axes, fits, (scale.l2, 1.0), axes.get_xaxis_transform(), placed)


def _said(axes: Axes, words: str, at: tuple[float, float], transform: Any, placed: Mapping[str, Any]) -> None:
    """Write words on paper beside a line; `placed`: how far from its point, in points, and on which side."""
    axes.annotate(
        words, at, xycoords=transform, textcoords="offset points", size=7.5, color=INK, bbox=_BACK, zorder=4, **placed
    )


def _series(axes: Axes, mine: Sequence[Point], mark: style.Mark) -> None:
    """Draw one contender: a line and a band for each sweep, and a mark with its interval for every case."""
    for sweep in sweeps(mine):
        sizes = [float(point.row.bytes or 0) for point in sweep]
        rates = [point.rate or 0.0 for point in sweep]
        bounds = [point.rate_interval or (point.rate or 0.0, point.rate or 0.0) for point in sweep]
        axes.fill_between(
            sizes, [low for low, _ in bounds], [high for _, high in bounds], color=mark.color, alpha=0.25, linewidth=0
        )
        axes.plot(sizes, rates, color=mark.color, linestyle=mark.dashes, zorder=2.2)
    intervals = [(float(point.row.bytes or 0), *both) for point in mine if (both := point.rate_interval)]
    if intervals:
        sizes_, lows, highs = zip(*intervals, strict=True)
        axes.vlines(sizes_, lows, highs, color=mark.color, linewidth=1.2, zorder=2.1)
    for hollow in (False, True):
        chosen = [point for point in mine if point.row.launch_bound is hollow]
        if chosen:
            axes.plot(
                [float(point.row.bytes or 0) for point in chosen],
                [point.rate or 0.0 for point in chosen],
                **mark.point,
                markerfacecolor=PAPER if hollow else mark.color,
                zorder=3,
            )
    crossed = [(float(point.row.bytes or 0), point.rate or 0.0) for point in mine if point.row.inaccurate]
    if crossed:
        axes.plot(*zip(*crossed, strict=True), **CROSS, zorder=3.2)


def sweeps(mine: Sequence[Point]) -> list[list[Point]]:
    """Return the points of each sweep over sizes, in order of size: SWEEP or more different sizes, none twice, each at
    most GAP times the one before.
    """
    families: dict[tuple[str, ...], list[Point]] = {}
    for point in mine:
        families.setdefault(family(point.record), []).append(point)
    found = []
    for members in families.values():
        if len({point.row.bytes for point in members}) == len(members):
            found += _without_gaps(sorted(members, key=lambda point: point.row.bytes or 0))
    return [series for series in found if len(series) >= SWEEP]


def _without_gaps(ordered: Sequence[Point]) -> list[list[Point]]:
    pieces: list[list[Point]] = []
    for point in ordered:
        if pieces and (point.row.bytes or 0) <= GAP * (pieces[-1][-1].row.bytes or 0):
            pieces[-1].append(point)
        else:
            pieces.append([point])
    return pieces
