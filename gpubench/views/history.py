"""A history as text: one series drawn in the terminal, with its last runs, and the steps of all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from gpubench.past import Line, MachineStep, Run, StepTold, Timed
from gpubench.views import text
from gpubench.views.columns import Look

HEIGHT = 12
LAST = 8
WIDTH = 100
"""Columns where the output is no terminal."""

LEAST_RANGE = 0.02
"""The drawing spans at least 2 % of the time, so that noise does not fill it."""


def line_text(line: Line, look: Look) -> str:
    """Return a series: its name, the drawing, its steps, and its last runs."""
    timed = [point for point in line.points if point.us is not None]
    lines = [text.printable(f"{line.case} {line.contender}")]
    kind = ", simulated on the host: says nothing about a GPU" if line.group.simulated else ""
    lines.append(text.printable(f"{line.group.suite} on {line.group.device}{kind}: {_span(line.points)}"))
    lines += ["", *_drawing(timed, line.steps or (), look), ""] if timed else ["", "(never timed)", ""]
    if line.steps is None:
        lines.append("`gpubench history steps` looks for steps; then they are shown here, too.")
    elif line.steps:
        lines += [row for told in line.steps for row in _step(told)]
    else:
        lines.append("No step: no change beyond the threshold is certain.")
    return "\n".join([*lines, "", *_table(line.points[-LAST:], look)]) + "\n"


def _span(points: Sequence[Timed]) -> str:
    if not points:
        return "no runs"
    first, last = points[0].run.created[:10], points[-1].run.created[:10]
    return f"{len(points)} run{'s' * (len(points) != 1)}, {text.printable(first)} to {text.printable(last)}"


def _drawing(timed: Sequence[Timed], steps: Sequence[StepTold], look: Look) -> list[str]:
    """Return the times over the runs, HEIGHT rows high; a column is one run, or as many as it takes to fit."""
    width = min(look.width or WIDTH, 200) - 13
    each = -(-len(timed) // max(width, 8))
    columns = [timed[start : start + each] for start in range(0, len(timed), each)]
    values = [median(point.us for point in column if point.us is not None) for column in columns]
    middle = median(values)
    low, high = min(values), max(values)
    reach = max(high - low, LEAST_RANGE * middle) * 1.08
    bottom = (low + high - reach) / 2
    rows = [[" "] * len(columns) for _ in range(HEIGHT)]
    marked = {told.at.path for told in steps}
    bar, dot = ("\u2506", "\u2022") if look.unicode else ("|", "*")
    for number, column in enumerate(columns):
        if any(point.run.path in marked for point in column):
            for row in rows:
                row[number] = bar
        place = min(int((values[number] - bottom) / reach * HEIGHT), HEIGHT - 1)
        rows[HEIGHT - 1 - place][number] = dot
    scale, unit = text.time_unit(middle)
    edge = "\u2524" if look.unicode else "|"
    drawn = []
    for number, row in enumerate(rows):
        us = bottom + reach * (HEIGHT - number - 0.5) / HEIGHT
        label = f"{text.significant(us / scale)} {unit}" if number % 3 == 0 else ""
        drawn.append(f"{label:>11} {edge}{''.join(row)}".rstrip())
    first, last = columns[0][0].run.created[:10], columns[-1][-1].run.created[:10]
    gap = max(len(columns) - len(first) - len(last), 1)
    ends = f"{first}{' ' * gap}{last}" if len(columns) > len(first) + 3 else first
    drawn.append(" " * 13 + text.printable(ends))
    if each > 1:
        drawn.append(" " * 13 + f"{each} runs a column")
    return drawn


def _step(told: StepTold) -> list[str]:
    step = told.step
    old, new = text.duration(step.before_us), text.duration(step.after_us)
    size = f"{step.ratio:.3f} x ({step.low:.3f} - {step.high:.3f})"
    head = f"{step.verdict}  {told.at.created[:16]}  {size}  {old} -> {new}  ({step.runs[0]} and {step.runs[1]} runs)"
    causes = [f"    {cause}" for cause in told.causes]
    return [text.printable(line) for line in (head, *causes)]


def _table(points: Sequence[Timed], look: Look) -> list[str]:
    """Return the last runs, the newest last."""
    rows: list[tuple[str, ...]] = [("run", "commit", "median", "95 % interval", "status")]
    for point in points:
        us = point.us
        interval = text.MISSING
        if us is not None and point.low_us is not None and point.high_us is not None:
            interval = text.interval(point.low_us, point.high_us, us)
        commit = point.run.commit or text.MISSING
        cells = (point.run.created[:16], commit, text.quantity(us, "us"), interval, point.status)
        rows.append(tuple(text.printable(cell) for cell in cells))
    widths = [max(text.cell_width(row[i]) for row in rows) for i in range(5)]
    lines = []
    for row in rows:
        padded = [cell + " " * (width - text.cell_width(cell)) for cell, width in zip(row, widths, strict=True)]
        lines.append(text.shorten("  ".join(padded).rstrip(), look.width or 10_000))
    return lines


def steps_text(
    steps: Sequence[StepTold],
    machines: Sequence[tuple[MachineStep, Run, tuple[str, ...]]],
    runs: int,
    sees: Sequence[float],
) -> str:
    """Return all steps of a group, the newest last.

    machines: steps of the machine, with the first run and what changed. sees: of each series, the least change that a
    few more runs would show, as a share; NaN where nothing is known.
    """
    lines = []
    for moved, run, causes in machines:
        factor, low, high = moved.factor
        added, least, most = moved.added_us
        words = f"the machine changed: {factor:.3f} x ({low:.3f} - {high:.3f}), "
        words += f"{added:+.2f} us ({least:+.2f} - {most:+.2f})"
        lines += [text.printable(f"{run.created[:16]}  {words}"), *(text.printable(f"    {cause}") for cause in causes)]
    for told in steps:
        head, *rest = _step(told)
        lines += [
            text.printable(f"{told.step.case} {told.step.contender}"),
            f"  {head}",
            *(f"  {cause}" for cause in rest),
        ]
    counts = [f"{sum(told.step.verdict == word for told in steps)} {word}" for word in ("SLOWER", "FASTER", "DRIFTED")]
    lines.append(f"{', '.join(counts)} in {len(sees)} series of {runs} runs")
    known = sorted(seen for seen in sees if not math.isnan(seen))
    if known:
        common, noisy = (text.percent(known[len(known) * part // 100]) for part in (50, 95))
        lines.append(f"Four more runs show, in 4 of 5 cases: {common} in half of the series, {noisy} in 19 of 20.")
    return "\n".join(lines) + "\n"
