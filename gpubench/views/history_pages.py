"""Static pages of a history: one a suite and GPU with a small chart for each series, and an index of them.

Everything is in the page: charts as SVG, the runs as a block of JSON that the script reads to say, under the pointer,
which commit and interval a point has. The policy of a page allows its own style sheet and script, and no network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.past import Group, Line, MachineStep, Run, StepTold, Timed
from gpubench.views import text
from gpubench.views.charts.history import LEAST_RANGE, segments
from gpubench.views.charts.sheets import file_name
from gpubench.views.report import own, policy, template_text, templates

WIDTH, HEIGHT, TOP, BOTTOM = 340, 112, 8, 10
"""Of a small chart, in its own units."""


@dataclass(frozen=True, slots=True)
class Small:
    """A small chart: the series, SVG attributes of its parts, and what is written beside it."""

    number: int
    case: str
    contender: str
    operator: str
    now: str
    alt: str
    ranges: str
    dots: str
    levels: str
    cuts: Sequence[tuple[str, str]]
    top: str
    bottom: str
    steps: Sequence[dict[str, Any]]


def page_name(group: Group) -> str:
    """Return the file name of a group's page."""
    kind = "-simulated" if group.simulated else ""
    return file_name("history", f"{group.suite}-{group.device}{kind}".lower().replace(" ", "-")) + ".html"


def group_page(
    group: Group,
    lines: Sequence[Line],
    machines: Sequence[tuple[MachineStep, Run, tuple[str, ...]]],
    threshold: float,
) -> str:
    """Return the page of a group: series with steps first, then all by operator."""
    runs = {run.path: run for line in lines for run in (point.run for point in line.points)}
    order = {path: number for number, path in enumerate(sorted(runs, key=lambda path: (runs[path].created, path)))}
    small = [_small(number, line, order) for number, line in enumerate(lines)]
    css, script = template_text("report.css") + template_text("history.css"), template_text("history.js")
    data = {
        "runs": [_run(runs[path]) for path in order],
        "series": [_series(line, order) for line in lines],
        "box": [WIDTH, HEIGHT],
    }
    return (
        templates()
        .get_template("history.html.j2")
        .render(
            title=f"{text.printable(group.suite)} on {text.printable(group.device)}",
            policy=policy(css, script),
            style=own(css),
            script=own(script),
            simulated=group.simulated,
            data=own(_block(data)),
            count=len(order),
            span=_span([runs[path] for path in order]),
            threshold=f"{100 * threshold:g} %",
            stepped=[chart for chart in small if chart.steps],
            operators=[
                (name, [chart for chart in small if chart.operator == name])
                for name in dict.fromkeys(chart.operator for chart in small)
            ],
            machines=[_machine(*machine) for machine in machines],
            box=f"0 0 {WIDTH} {HEIGHT}",
        )
    )


def index_page(groups: Sequence[tuple[Group, str, Sequence[Run], Sequence[StepTold]]]) -> str:
    """Return the page that leads to the others: for each its runs and its newest steps."""
    css = template_text("report.css") + template_text("history.css")
    rows = [
        {
            "name": name,
            "suite": text.printable(group.suite),
            "device": text.printable(group.device) + " (simulated)" * group.simulated,
            "runs": len(runs),
            "span": _span(runs),
            "steps": len(steps),
            "newest": [_step(step) for step in list(steps)[-3:][::-1]],
        }
        for group, name, runs, steps in groups
    ]
    page = templates().get_template("history_index.html.j2")
    return page.render(policy=policy(css, ""), style=own(css), rows=rows)


def _block(data: Any) -> str:
    """Return JSON that cannot end the block it stands in."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")


def _span(runs: Sequence[Run]) -> str:
    return f"{text.printable(runs[0].created[:10])} to {text.printable(runs[-1].created[:10])}" if runs else "no runs"


def _run(run: Run) -> list[str]:
    facts = (
        run.created[:16].replace("T", " "),
        run.commit or "not recorded",
        run.facts.get("branch"),
        run.facts.get("driver"),
    )
    return [text.printable(str(fact)) if fact else "" for fact in facts]


def _series(line: Line, order: dict[str, int]) -> list[list[Any]]:
    """Return the points of a series for the script: [run, x, y, time, interval, status]."""
    low, high = _range(line)
    found = []
    for point in line.points:
        if point.us is None:
            continue
        interval = ""
        if point.low_us is not None and point.high_us is not None:
            interval = text.interval(point.low_us, point.high_us, point.us)
        place = order[point.run.path]
        x, y = round(_x(place, len(order)), 1), round(_y(point.us, low, high), 1)
        found.append([place, x, y, text.duration(point.us), interval, point.status])
    return found


def _range(line: Line) -> tuple[float, float]:
    values = [
        us for point in line.points for us in (point.us, point.low_us, point.high_us) if us is not None and point.us
    ]
    low, high = min(values), max(values)
    more = max(LEAST_RANGE * low - (high - low), 0.0) / 2
    return low - more, high + more


def _x(place: int, runs: int) -> float:
    return WIDTH * (place + 0.5) / runs


def _y(us: float, low: float, high: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (us - low) / (high - low)) if high > low else HEIGHT / 2


def _small(number: int, line: Line, order: dict[str, int]) -> Small:
    timed = [point for point in line.points if point.us is not None]
    low, high = _range(line)

    def x(point: Timed) -> float:
        return _x(order[point.run.path], len(order))

    ranges = "".join(
        f"M{x(shown):.1f} {_y(shown.low_us, low, high):.1f}V{_y(shown.high_us, low, high):.1f}"
        for shown in timed
        if shown.low_us is not None and shown.high_us is not None
    )
    dots = "".join(f"M{x(shown):.1f} {_y(shown.us, low, high):.1f}h0" for shown in timed if shown.us is not None)
    half = WIDTH / len(order) / 2
    levels = "".join(
        f"M{x(timed[start]) - half:.1f} {_y(mean, low, high):.1f}H{x(timed[end - 1]) + half:.1f}"
        for start, end, mean in segments(line, timed)
    )
    steps = list(line.steps or ())
    cuts = [
        (f"{_x(order[told.at.path], len(order)) - half:.1f}", told.step.verdict)
        for told in steps
        if told.at.path in order
    ]
    last = timed[-1].us or 0.0
    words = "; ".join(f"{told.step.verdict} {told.step.ratio:.3f} x on {told.at.created[:10]}" for told in steps)
    return Small(
        number=number,
        case=text.printable(line.case),
        contender=text.printable(line.contender),
        operator=text.printable(line.case.partition("/")[0]),
        now=text.duration(last),
        alt=text.printable(
            f"{line.case} {line.contender}: {len(timed)} runs, now {text.duration(last)}; {words or 'no step'}"
        ),
        ranges=ranges,
        dots=dots,
        levels=levels,
        cuts=cuts,
        top=text.duration(high),
        bottom=text.duration(low),
        steps=[_step(told) for told in reversed(steps)],
    )


def _step(told: StepTold) -> dict[str, Any]:
    step = told.step
    return {
        "verdict": step.verdict,
        "case": text.printable(f"{step.case} {step.contender}"),
        "when": text.printable(told.at.created[:16].replace("T", " ")),
        "size": f"{step.ratio:.3f} x ({step.low:.3f} - {step.high:.3f})",
        "causes": [text.printable(cause) for cause in told.causes],
    }


def _machine(moved: MachineStep, run: Run, causes: tuple[str, ...]) -> dict[str, Any]:
    factor, low, high = moved.factor
    return {
        "when": text.printable(run.created[:16].replace("T", " ")),
        "size": f"{factor:.3f} x ({low:.3f} - {high:.3f}), {moved.added_us[0]:+.2f} us",
        "causes": [text.printable(cause) for cause in causes],
    }
