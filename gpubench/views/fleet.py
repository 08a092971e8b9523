"""What was found of a fleet, as text for a terminal and as JSON for a script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from gpubench.findings import BAD, FINDINGS, Effect, Findings, Gpu, Group, percent
from gpubench.model import Json
from gpubench.views import text
from gpubench.views.columns import Look

MOST_ROWS = 40
"""A larger fleet shows its bad members, and this many of the slowest and the fastest together."""
MOST_ANSWERS = 5
STRIP_WIDTH = 33
_COLORS = {
    "WRONG": "31",
    "FAILED": "31",
    "SLOW": "31",
    "MISSING": "31",
    "SUSPECT": "33",
    "FINE": "32",
    "UNJUDGED": "33",
}


def signed(log: float | None) -> str:
    """Return a log ratio as a signed percentage: `+2.1 %`."""
    return text.MISSING if log is None else f"{100 * percent(log):+.2f} %"


def span(effect: Effect | None) -> str:
    """Return an effect's interval: `-0.11 .. +0.31 %`."""
    if effect is None:
        return text.MISSING
    return f"{100 * percent(effect.low):+.2f} .. {100 * percent(effect.high):+.2f} %"


def rule(group: Group) -> str:
    """Return what the members of a model were held to, in a sentence."""
    gpus = f"{text.printable(group.model)}: {group.count} GPU{'s' * (group.count > 1)}"
    if group.against is None:
        return f"{gpus}, not judged"
    against = "each other" if group.against == "peers" else "a stored profile"
    return (
        f"{gpus} against {against}: slow is more than {signed(group.threshold)} "
        f"({group.k:.2f} x {100 * group.scale:.2f} %, and at least the least effect)"
    )


def totals(findings: Findings) -> str:
    """Return how many members have each finding: `256 GPUs: 1 SLOW, 255 FINE`."""
    counts = Counter(gpu.finding for gpu in findings.gpus)
    told = ", ".join(f"{counts[name]} {name}" for name in FINDINGS if counts[name])
    return f"{len(findings.gpus)} GPU{'s' * (len(findings.gpus) > 1)}: {told}"


def why(gpu: Gpu) -> list[str]:
    """Return what is told of a member beside its numbers: status, answers, second measurement, reasons."""
    told = []
    if gpu.finding == "MISSING":
        told.append(f"{gpu.member.status}: {text.printable(gpu.member.message or 'not measured yet')}")
    for words in (gpu.wrong, gpu.failed):
        told += [text.printable(word) for word in words[:MOST_ANSWERS]]
        if len(words) > MOST_ANSWERS:
            told.append(f"and {len(words) - MOST_ANSWERS} more")
    if gpu.again is not None:
        beside = f" beside {gpu.again.control}" if gpu.again.control else ", with no healthy GPU beside it"
        told.append(f"measured again{beside}: {signed(gpu.again.value)}")
    elif gpu.finding == "SUSPECT":
        told.append("not measured again yet: `gpubench fleet repeat` does it")
    return [*told, *map(text.printable, gpu.reasons)]


def check_lines(findings: Findings, look: Look) -> list[str]:
    """Return the lines of a check: one for each member that is not fine, then the rule and the totals."""
    lines = []
    for name in FINDINGS:
        for gpu in findings.having(name) if name != "FINE" else ():
            head = f"{name:<8} {gpu.member.key}"
            effect = f" {signed(gpu.effect.value)}" if gpu.effect is not None else ""
            lines.append(_painted(f"{head}{effect}", name, look) + _joined(why(gpu)))
    return [*lines, *map(rule, findings.groups), *findings.notes, totals(findings)]


def _joined(words: Sequence[str]) -> str:
    return f": {'; '.join(words)}" if words else ""


def report_text(findings: Findings, look: Look) -> str:
    """Return the whole report: a row a GPU with its place in the fleet, then what is not fine, the rule and totals."""
    shown, left = _chosen(findings)
    name = max((text.cell_width(gpu.member.key) for gpu in shown), default=3)
    reach = max((abs(gpu.effect.value) for gpu in shown if gpu.effect), default=0.0)
    bounds = [group.threshold for group in findings.groups if math.isfinite(group.threshold)]
    reach = max([reach, *bounds, 1e-4])
    lines = [_heading(findings), ""]
    lines.append(f"{'GPU':<{name}}  {'effect':>8}  {'95 % interval':<21}  {_axis(reach)}  finding")
    for gpu in shown:
        value = gpu.effect.value if gpu.effect else None
        strip = _strip(value, reach, bounds, look)
        row = f"{gpu.member.key:<{name}}  {signed(value):>8}  {span(gpu.effect):<21}  {strip}  "
        lines.append(row + _painted(gpu.finding, gpu.finding, look))
    if left:
        lines.append(f"... {left} more, all FINE, lie between these")
    return "\n".join([*lines, "", *check_lines(findings, look)]) + "\n"


def _heading(findings: Findings) -> str:
    fleet = findings.fleet
    hosts = len(fleet.hosts)
    how = "at once" if fleet.at_once else "one after the other"
    soak = f", each warmed up for {fleet.soak_s:g} s" if fleet.soak_s else ""
    return (
        f"{text.printable(str(fleet.suite.get('name') or 'suite'))} on {len(fleet.members)} GPUs of {hosts} "
        f"host{'s' * (hosts > 1)}, {how}{soak}, {text.printable(fleet.created)}"
    )


def _chosen(findings: Findings) -> tuple[list[Gpu], int]:
    """Return the members to show, the slowest first, and how many fine ones are left out."""
    ordered = sorted(findings.gpus, key=lambda gpu: -(gpu.effect.value if gpu.effect else -math.inf))
    if len(ordered) <= MOST_ROWS:
        return ordered, 0
    fine = [gpu for gpu in ordered if gpu.finding == "FINE"]
    half = max(MOST_ROWS - (len(ordered) - len(fine)), 8) // 2
    kept = {gpu.member.key for gpu in (*fine[:half], *fine[-half:])} if len(fine) > 2 * half else None
    shown = [gpu for gpu in ordered if kept is None or gpu.finding != "FINE" or gpu.member.key in kept]
    return shown, len(ordered) - len(shown)


def _axis(reach: float) -> str:
    low, high = signed(-reach), signed(reach)
    return f"{low}{'0'.center(STRIP_WIDTH - len(low) - len(high))}{high}"


def _strip(value: float | None, reach: float, bounds: Sequence[float], look: Look) -> str:
    """Return a strip with a dot where the effect lies, the middle and the thresholds marked."""
    dot, line = ("\u25cf", "\u2502") if look.unicode else ("o", "|")
    cells = [" "] * STRIP_WIDTH

    def place(log: float) -> int:
        return min(max(round((log / reach + 1) / 2 * (STRIP_WIDTH - 1)), 0), STRIP_WIDTH - 1)

    cells[place(0.0)] = line
    for bound in bounds:
        cells[place(bound)] = ":"
    if value is not None:
        cells[place(value)] = dot
    return "".join(cells)


def _painted(words: str, finding: str, look: Look) -> str:
    return f"\x1b[{_COLORS[finding]}m{words}\x1b[0m" if look.color else words


def document(findings: Findings) -> Json:
    """Return the findings as JSON: effects as shares, so that 0.021 is 2.1 % slower than a healthy GPU."""
    return {
        "fleet": findings.fleet.id,
        "healthy": not findings.having(*BAD, "MISSING", "SUSPECT", "UNJUDGED"),
        "models": [
            {**asdict(group), "threshold": None if math.isinf(group.threshold) else percent(group.threshold)}
            for group in findings.groups
        ],
        "gpus": [
            {
                "key": gpu.member.key,
                "host": gpu.member.host,
                "uuid": gpu.member.uuid,
                "finding": gpu.finding,
                "effect": None if gpu.effect is None else percent(gpu.effect.value),
                "interval": None if gpu.effect is None else [percent(gpu.effect.low), percent(gpu.effect.high)],
                "again": None if gpu.again is None else percent(gpu.again.value),
                "why": why(gpu),
            }
            for gpu in findings.gpus
        ],
        "notes": list(findings.notes),
    }
