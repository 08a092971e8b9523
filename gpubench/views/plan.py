"""A plan of rounds as text, and as JSON that `gpubench run --rounds-from` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpubench.comparison import Planned
from gpubench.model import Json
from gpubench.views import text
from gpubench.views.tables import Look

VERSION = 1
"""Of the JSON document. 1: the first."""

HEADINGS = ("contender", "time", "rounds now", "rounds", "takes")


def plan_text(planned: Sequence[Planned], change: float, threshold: float, look: Look | None = None) -> str:
    """Return a line for each contender under a line a case, and what the whole run takes."""
    look = look or Look()
    cells = [_cells(row) for row in planned]
    widths = [max(text.cell_width(value) for value in column) for column in zip(HEADINGS, *cells, strict=True)]
    if look.width is not None:
        widths[0] = max(min(widths[0], look.width - sum(widths[1:]) - 2 * len(widths)), 12)
    lines = [
        f"rounds that show a change of {100 * change:g} % beyond the threshold of {100 * threshold:g} % in 4 of 5 "
        "comparisons of two runs on this GPU",
        "",
        _line(HEADINGS, widths),
    ]
    case = None
    for row, values in zip(planned, cells, strict=True):
        if row.case != case:
            case = row.case
            lines.append(text.shorten(text.printable(case), look.width or 10_000))
        lines.append(_line(values, widths))
    return "\n".join([*lines, "", *_totals(planned, change)]) + "\n"


def _cells(one: Planned) -> tuple[str, ...]:
    rounds = f"never: sees {100 * one.least:.2g} %" if one.rounds is None else str(one.rounds)
    taken = text.MISSING if one.seconds is None else text.duration(one.seconds * 1e6)
    return text.printable(one.contender), text.duration(one.time_us), str(one.rounds_now), rounds, taken


def _line(values: Sequence[str], widths: Sequence[int]) -> str:
    name, *rest = values
    padded = [value.rjust(width) for value, width in zip(rest, widths[1:], strict=True)]
    short = text.shorten(name, widths[0])
    return "  " + "  ".join([short + " " * (widths[0] - text.cell_width(short)), *padded])


def _totals(planned: Sequence[Planned], change: float) -> list[str]:
    never = sum(row.rounds is None for row in planned)
    rounds = rounds_by_case(planned)
    can, most = len(planned) - never, max(rounds.values())
    lines = [f"{can} of {len(planned)} can show {100 * change:g} %, with up to {most} rounds"]
    seconds = [row.seconds / row.rounds * rounds[row.case] for row in planned if row.seconds and row.rounds]
    if seconds:
        lines[0] += f"; a run takes about {text.duration(sum(seconds) * 1e6)} for these"
    if never:
        lines.append("never: runs differ by more than that; use `gpubench ab`, or compare several runs of each side")
    return lines


def rounds_by_case(planned: Sequence[Planned]) -> dict[str, int]:
    """Return the rounds of each case: the most that a contender needs; those of now where none would help."""
    found: dict[str, int] = {}
    for row in planned:
        found[row.case] = max(found.get(row.case, 0), row.rounds or row.rounds_now)
    return found


def plan_json(planned: Sequence[Planned], change: float, threshold: float, suite: Json) -> Mapping[str, Json]:
    """Return the plan as a document: the rounds by case, which is what a run takes, and what each contender needs."""
    from dataclasses import asdict

    return {
        "plan_version": VERSION,
        "suite": suite,
        "detect": change,
        "threshold": threshold,
        "rounds": rounds_by_case(planned),
        "contenders": [asdict(row) for row in planned],
    }
