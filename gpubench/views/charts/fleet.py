"""A fleet's charts: a dot a GPU by its effect, and a heat map GPU x case. GPUs stand in the order of their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gpubench.findings import Findings, Gpu, percent
from gpubench.views import style
from gpubench.views.charts.page import MARGIN, Entry, Sheet, sheet
from gpubench.views.charts.sheets import Chart, numbered
from gpubench.views.style import FAINT, INK, MUTED, PAPER, SHADE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = 128
"""GPUs beside each other in one panel: on the page each has some four pixels."""
STRIP_HEIGHT, HOST_HEIGHT, GAP = 1.5, 0.36, 0.22
ROW_HEIGHT = 0.135
MOST_ROWS = 48
LABEL_SIZE, HOST_SIZE, NAME_SIZE = 7.5, 7.0, 7.0
_LEFT_STRIP = 0.72
_WIDEST_LABEL = 2.6
_WIDE_COLUMN, _TURNED_ROOM = 0.16, 0.1
"""Inches that a GPU's number, and a host's name on its side, need."""
MOST_NAMED = 12
NOTE = (
    "White: not measured. Under the columns: the host, and the GPU's number there. A mark above a column: the GPU is "
    "not fine."
)

_MARKS = {
    "FINE": style.Mark("#6e7781", "o"),
    "UNJUDGED": style.Mark("#a87500", "o"),
    "SUSPECT": style.Mark("#a87500", "D"),
    "SLOW": style.Mark("#d55e00", "^"),
    "FAILED": style.Mark("#b0568b", "s"),
    "WRONG": style.Mark("#d55e00", "X"),
}


@dataclass(frozen=True, slots=True)
class Shade:
    """The cells whose share of more time lies below `below`, and above those of the shade before."""

    below: float
    color: str
    words: str


SHADES = (
    Shade(-0.05, "#08519c", "faster by 5 %"),
    Shade(-0.02, "#3f8fc5", "2 %"),
    Shade(-0.005, "#a6cfe6", "0.5 %"),
    Shade(0.005, SHADE, "alike"),
    Shade(0.02, "#f6c9a0", "slower by 0.5 %"),
    Shade(0.05, "#e5813c", "2 %"),
    Shade(0.20, "#b8440b", "5 %"),
    Shade(float("inf"), "#6b2205", "20 %"),
)


def charts(findings: Findings) -> list[Chart]:
    """Return the strip and the heat map, a sheet for each PANEL of GPUs; none where nothing was timed."""
    places = [place for place, gpu in enumerate(findings.gpus) if gpu.effect is not None]
    panels = [places[start : start + PANEL] for start in range(0, len(places), PANEL)]
    drawn = [_strip(findings, panels)] if panels else []
    for number, panel in enumerate(panels, 1):
        title = "Each GPU on each case" + (f" ({number} of {len(panels)})" if len(panels) > 1 else "")
        alt = (
            f"Heat map of {len(panel)} GPUs and {min(len(findings.works), MOST_ROWS)} pieces of work: how much slower "
            "or faster each was than a healthy GPU. The table has every GPU's effect."
        )
        drawn.append(Chart(numbered("heat", number), title, alt, partial(_draw_heat, findings, panel, title)))
    return drawn


def _below(findings: Findings) -> str:
    fleet = findings.fleet
    hosts = len(fleet.hosts)
    return f"{fleet.suite.get('name') or 'suite'}, {len(fleet.members)} GPUs of {hosts} host{'s' * (hosts > 1)}"


# --- The strip -------------------------------------------------------------------------------------------------------


def _strip(findings: Findings, panels: Sequence[Sequence[int]]) -> Chart:
    bad = findings.having("WRONG", "FAILED", "SLOW", "SUSPECT")
    names = ", ".join(f"{gpu.member.key} {gpu.finding}" for gpu in bad[:MOST_NAMED])
    alt = (
        f"Dot plot of the effects of {sum(map(len, panels))} GPUs: how much slower than a healthy one each is over all "
        f"cases, with its 95 % interval. Not fine: {names or 'none'}."
    )
    title = "How much slower than a healthy GPU each one is"
    return Chart("strip", title, alt, partial(_draw_strip, findings, panels, title))


def _draw_strip(findings: Findings, panels: Sequence[Sequence[int]], title: str) -> Figure:
    gpus = [findings.gpus[place] for panel in panels for place in panel]
    found = [name for name in _MARKS if any(gpu.finding == name for gpu in gpus)]
    legend = [Entry(name, _MARKS[name].point) for name in found]
    thresholds = [group.threshold for group in findings.groups if group.against is not None]
    if thresholds:
        legend.append(Entry("slow beyond this", {"color": INK, "linestyle": (0, (4, 2))}))
    values = [percent(end) for gpu in gpus if gpu.effect for end in (gpu.effect.low, gpu.effect.high, gpu.effect.value)]
    values += [percent(limit) for limit in thresholds]
    low, high = min([*values, -0.005]), max([*values, 0.005])
    pad = 0.06 * (high - low)
    step = STRIP_HEIGHT + HOST_HEIGHT + GAP
    made = sheet(title, _below(findings), len(panels) * step, legend=legend)
    widest = max(map(len, panels))
    for number, panel in enumerate(panels):
        axes = _axes(made, _LEFT_STRIP, number * step + 0.1, STRIP_HEIGHT, len(panel), widest)
        axes.set_ylim(100 * (low - pad), 100 * (high + 2.5 * pad))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:+g} %")
        axes.axhline(0, color=MUTED, linewidth=0.8, zorder=1.5)
        for threshold in thresholds:
            axes.axhline(100 * percent(threshold), color=INK, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1.5)
        _dots(axes, [findings.gpus[place] for place in panel])
        _hosts(axes, [findings.gpus[place] for place in panel], _width(made, _LEFT_STRIP, len(panel), widest))
    return made.figure


def _dots(axes: Axes, gpus: Sequence[Gpu]) -> None:
    """Draw the GPUs of one panel, each with its interval, and name those that are not fine."""
    size = 4.2 if len(gpus) <= PANEL / 2 else 3.0
    named = 0
    for name, mark in _MARKS.items():
        mine = [(x, gpu.effect) for x, gpu in enumerate(gpus) if gpu.finding == name and gpu.effect is not None]
        for x, effect in mine:
            ends = 100 * percent(effect.low), 100 * percent(effect.high)
            axes.plot([x, x], ends, color=mark.color, linewidth=0.9, zorder=2)
        points = [100 * percent(effect.value) for _, effect in mine]
        bold = size * (1.0 if name in ("FINE", "UNJUDGED") else 1.7)
        axes.plot([x for x, _ in mine], points, **mark.point, markersize=bold, zorder=3)
    last = -1e9
    for x, gpu in enumerate(gpus):
        if gpu.finding in ("FINE", "UNJUDGED") or gpu.effect is None or named >= MOST_NAMED:
            continue
        room = 0.12 * len(gpus)
        if x - last > room:
            at = "right" if x > 0.8 * len(gpus) else "left"
            where = (x, 100 * percent(gpu.effect.high))
            axes.annotate(
                style.label(gpu.member.key, 28), where, (0, 3), textcoords="offset points", size=NAME_SIZE, ha=at
            )
            last, named = x, named + 1


def _axes(made: Sheet, left: float, top: float, height: float, count: int, most: int) -> Axes:
    """Return axes whose columns are as wide in every panel."""
    axes = made.axes(left, top, _width(made, left, count, most), height)
    axes.set_xlim(-0.5, count - 0.5)
    axes.grid(visible=False, axis="x")
    axes.set_xticks([])
    return axes


def _width(made: Sheet, left: float, count: int, most: int) -> float:
    """Return the inches of so many columns, where the fullest panel has `most` and fills the page."""
    return (made.width - left - MARGIN - 0.1) * max(count / max(most, 8), 0.02)


def _hosts(axes: Axes, gpus: Sequence[Gpu], inches: float) -> None:
    """Separate the hosts and name those that have room, under columns that take so many inches together.

    Where a column is wide enough, the GPU's number in its host stands under it.
    """
    under = axes.get_xaxis_transform()
    numbered = inches / len(gpus) > _WIDE_COLUMN
    for x, gpu in enumerate(gpus if numbered else ()):
        _under(axes, x, f"{gpu.member.position}", 3, under, size=HOST_SIZE)
    for start, end, host in _runs([gpu.member.host for gpu in gpus]):
        if start:
            axes.axvline(start - 0.5, color=FAINT, linewidth=0.6, zorder=1)
        room = (end - start) / len(gpus) * inches
        words = style.label(host, 40)
        turned = style.text_width(words, HOST_SIZE) > room
        if not turned:
            _under(axes, (start + end - 1) / 2, words, 14 if numbered else 3, under, size=HOST_SIZE)
        elif room >= _TURNED_ROOM:
            _under(axes, (start + end - 1) / 2, style.label(host, 9), 3, under, size=5.5, rotation=90)


def _under(axes: Axes, x: float, words: str, points: float, transform: Any, **how: Any) -> None:
    """Write under the axes, so many points below them."""
    axes.annotate(
        words, (x, 0), (0, -points), xycoords=transform, textcoords="offset points", color=MUTED, ha="center", va="top",
        annotation_clip=False, **how,
    )  # fmt: skip


def _runs(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and word of each run of equal words."""
    start = 0
    for word, group in groupby(words):
        end = start + len(list(group))
        yield start, end, word
        start = end


# --- The heat map ----------------------------------------------------------------------------------------------------


def _rows(findings: Findings) -> tuple[list[int], int]:
    """Return the columns of the table that are shown, in its order, and how many are left out: the calmest ones."""
    count = len(findings.works)
    if count <= MOST_ROWS:
        return list(range(count)), 0
    spread = [
        max((abs(row[work] or 0.0) for row in findings.ratios if row[work] is not None), default=0.0)
        for work in range(count)
    ]
    kept = sorted(sorted(range(count), key=lambda work: -spread[work])[:MOST_ROWS])
    return kept, count - MOST_ROWS


def _draw_heat(findings: Findings, panel: Sequence[int], title: str) -> Figure:
    rows, left_out = _rows(findings)
    several = len({contender for _, contender in findings.works}) > 1
    names = [f"{case} {contender}" if several else case for case, contender in (findings.works[row] for row in rows)]
    wide = max((style.text_width(style.label(name, 90), LABEL_SIZE) for name in names), default=1.0)
    left = MARGIN + min(wide, _WIDEST_LABEL) + 0.1
    notes = [NOTE]
    if left_out:
        notes.append(f"The {MOST_ROWS} pieces of work on which GPUs differ most; {left_out} more differ less.")
    legend = [Entry(shade.words, patch={"facecolor": shade.color, "edgecolor": FAINT}) for shade in SHADES]
    body = 0.22 + len(rows) * ROW_HEIGHT + HOST_HEIGHT + 0.2
    made = sheet(title, _below(findings), body, legend=legend, notes=notes)
    axes = _axes(made, left, 0.22, len(rows) * ROW_HEIGHT, len(panel), len(panel))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0, pad=3)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    room = left - MARGIN - 0.1
    axes.set_yticks(range(len(rows)), [style.fitted(name, room, LABEL_SIZE) for name in names], fontsize=LABEL_SIZE)
    _cells(axes, findings, panel, rows)
    gpus = [findings.gpus[place] for place in panel]
    for x in range(1, len(gpus) if len(gpus) <= PANEL / 4 else 0):
        axes.axvline(x - 0.5, color=PAPER, linewidth=1.2, zorder=2)
    for x, gpu in enumerate(gpus):
        if gpu.finding not in ("FINE", "UNJUDGED"):
            mark = _MARKS[gpu.finding]
            axes.plot([x], [-0.5 - 0.07 / ROW_HEIGHT], **mark.point, markersize=4.5, clip_on=False)
    _hosts(axes, gpus, _width(made, left, len(panel), len(panel)))
    return made.figure


def _cells(axes: Axes, findings: Findings, panel: Sequence[int], rows: Sequence[int]) -> None:
    """Fill the cells: one path a shade, so that ten thousand cells are eight shapes."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    boxes: list[list[tuple[float, float]]] = [[] for _ in SHADES]
    for x, place in enumerate(panel):
        for y, work in enumerate(rows):
            ratio = findings.ratios[place][work]
            if ratio is not None:
                boxes[_shade(percent(ratio))].append((x - 0.5, y - 0.5))
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    for shade, corners in zip(SHADES, boxes, strict=True):
        if corners:
            points = [(x + dx, y + dy) for x, y in corners for dx, dy in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))]
            path: Any = Path(points, codes * len(corners))
            axes.add_patch(PathPatch(path, facecolor=shade.color, edgecolor="none", linewidth=0))


def _shade(value: float) -> int:
    return next(number for number, shade in enumerate(SHADES) if value < shade.below)
