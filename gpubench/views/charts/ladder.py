"""`ladder`: the variants of one operator on one case, from the naive one to the best, and what each step gained."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from gpubench.model import ResultSet
from gpubench.names import AUTO, NAIVE, is_ours, variant_of
from gpubench.views import style, text
from gpubench.views.charts.data import Point, device_number, is_simulated, points
from gpubench.views.charts.page import MARGIN, sheet, subtitle, unnumbered
from gpubench.views.charts.sheets import Chart, file_name
from gpubench.views.rows import OF_CEILING
from gpubench.views.style import INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR = 0.36
_TOP = 0.36
LEAST_GAIN = 0.01
"""A step under this is not told: medians of one launch repeat no better."""
SHOWN = 0.25
"""The theoretical peak is drawn where a bar or the ceiling reaches this part of it: else it would flatten them."""


def charts(result: ResultSet) -> list[Chart]:
    """Return a chart for each operator that has a case with two variants or more: the case that shows the most."""
    found = points(result)
    made = []
    for operator in dict.fromkeys(point.row.operator for point in found):
        cases: dict[str, list[Point]] = {}
        for point in found:
            if point.row.operator == operator and is_ours(point.row.contender):
                cases.setdefault(point.row.case, []).append(point)
        best = max(cases.values(), key=_tells, default=[])
        steps = rungs(best)
        if len(steps) >= 2:
            missing = unnumbered([point for point in best if point.rate is None], best)
            auto = next((point.row.variant for point in best if point.row.contender == AUTO), None)
            made.append(
                Chart(
                    name=file_name("ladder", operator),
                    title=f"{operator}: from naive to best",
                    alt=_alt(operator, steps),
                    draw=partial(_draw, result, operator, steps, missing, auto),
                )
            )
    return made


def _tells(mine: Sequence[Point]) -> tuple[bool, int, float, int]:
    """Return how much a case shows: steps that the launch does not hide, how many steps that gain, the gain in all."""
    steps = rungs(mine)
    if len(steps) < 2:
        return False, 0, 0.0, 0
    gains = [_gain(before, after) for before, after in pairwise(steps)]
    clear = sum(gain is not None for gain in gains)
    whole = (steps[-1].rate or 0.0) / (steps[0].rate or 1.0)
    return not any(point.row.launch_bound for point in steps), clear, whole, steps[0].row.bytes or 0


def _gain(before: Point, after: Point) -> float | None:
    """Return how many times as fast a step is as the one before; None where that is no more than noise."""
    earlier, later = before.rate_interval, after.rate_interval
    ratio = (after.rate or 0.0) / (before.rate or 1.0)
    apart = earlier is None or later is None or later[0] > earlier[1] or later[1] < earlier[0]
    return ratio if apart and abs(ratio - 1) >= LEAST_GAIN else None


def rungs(mine: Sequence[Point]) -> list[Point]:
    """Return the variants that have a rate: the naive one, then the slower before the faster.

    A rule that chooses (`auto` and its like) is one only where the variant chosen was not timed under its own name.
    """
    named = {_variant(point) for point in mine}
    steps = [
        point
        for point in mine
        if point.rate is not None and (_variant(point) == point.row.variant or point.row.variant not in named)
    ]
    return sorted(steps, key=lambda point: (point.row.contender != NAIVE, point.rate or 0.0, point.row.contender))


def _alt(operator: str, steps: Sequence[Point]) -> str:
    told = ", ".join(f"{_variant(point)} {text.rate(point.rate or 0.0)} GB/s" for point in steps)
    return f"Bars: the variants of {operator} on {steps[0].row.case}, slowest to fastest: {told}."


def _variant(point: Point) -> str:
    return variant_of(point.row.contender)


def _name(point: Point, auto: str | None) -> str:
    if point.row.contender == AUTO:
        return f"{auto or 'auto'} (auto's choice)"
    return _variant(point) + (" (auto's choice)" if _variant(point) == auto else "")


def _draw(result: ResultSet, operator: str, steps: Sequence[Point], missing: Sequence[str], auto: str | None) -> Figure:
    case = steps[0].row.case
    moved = steps[0].row.bytes or 0
    peak = None if is_simulated(steps) else device_number(result, "theoretical_GBps")
    limit = next((point.row.ceiling_GBps for point in steps if point.row.ceiling_GBps), None)
    made = sheet(
        f"{operator}: from naive to best",
        f"{case}, {text.size(moved)} moved; {subtitle(result)}",
        _TOP + len(steps) * _BAR + 0.5,
        notes=[
            f"Gain or loss: over the bar above; none is told that is noise or under {text.percent(LEAST_GAIN)}. "
            f"Percentages and ceiling: {OF_CEILING}. Whiskers: 95 % interval.",
            *missing,
        ],
        simulated=is_simulated(steps),
    )
    names = [_name(point, auto) for point in steps]
    left = MARGIN + min(max(style.text_width(style.label(name, 60), 9) for name in names), 2.6) + 0.14
    axes = made.axes(left, _TOP, made.width - left - MARGIN - 0.15, len(steps) * _BAR)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    axes.set_yticks(range(len(steps)), [style.fitted(name, left - MARGIN - 0.14, 9) for name in names], size=9)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    rates = [point.rate or 0.0 for point in steps]
    shown_peak = peak if peak and max([*rates, limit or 0.0]) > SHOWN * peak else None
    axes.set_xlim(0, max([*rates, limit or 0.0, shown_peak or 0.0]) * (1.04 if limit else 1.3))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_xlabel("GB/s")
    _bars(axes, steps, rates, limit)
    for rate, dashes, words in ((limit, "-", "ceiling"), (shown_peak, (0, (5, 2)), "theoretical peak")):
        if rate:
            axes.axvline(rate, color=INK, linewidth=1.1, linestyle=dashes, zorder=2.5)
            axes.annotate(
                f"{words} {text.rate(rate)}",
                (rate, 1.0),
                xycoords=axes.get_xaxis_transform(),
                xytext=(3 if rate == peak else 0, 12 if rate == peak else 2),
                textcoords="offset points",
                size=7.5,
                color=MUTED,
                ha="right",
                va="bottom",
            )
    return made.figure


def _bars(axes: Axes, steps: Sequence[Point], rates: Sequence[float], limit: float | None) -> None:
    from matplotlib.colors import to_rgb

    blue = to_rgb("#0072b2")
    for y, (point, rate) in enumerate(zip(steps, rates, strict=True)):
        light = 0.62 * (1 - y / max(len(steps) - 1, 1))
        color = tuple(part + (1 - part) * light for part in blue)
        axes.barh(y, rate, height=0.66, color=color, zorder=2)
        if point.rate_interval:
            axes.hlines(y, *point.rate_interval, color=INK, linewidth=1.4, zorder=3)
        share = f", {text.percent(point.row.fraction)}" if point.row.fraction else ""
        step = _gain(steps[y - 1], point) if y else None
        gain = f"; {'gain' if step > 1 else 'loss'} {text.ratio(step)}" if step else ""
        bound = ", launch-bound" if point.row.launch_bound else ""
        inside = rate > 0.55 * axes.get_xlim()[1]
        # words on a bar end before the line of the ceiling, which would strike them through
        end = limit if inside and limit and rate > 0.985 * limit else rate
        axes.annotate(
            f"{text.rate(rate)} GB/s{share}{bound}{gain}",
            (end, y),
            xytext=(-6 if inside else 6, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            size=8,
            weight="bold" if step and step > 1 else "normal",
            color="#fefefe" if inside and light < 0.2 else INK,
            bbox=None if inside else {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
            zorder=4,
        )
