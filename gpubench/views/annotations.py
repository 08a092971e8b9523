"""Annotations of GitHub Actions: lines on standard output that the run's page shows as errors, warnings and notices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpubench.comparison import Comparison, Row
from gpubench.past import StepTold
from gpubench.views import text
from gpubench.views.machine import machine_lines

MOST = 10
"""GitHub shows so many annotations of a kind and step, and drops the others without a word."""


def row_annotations(comparisons: Sequence[Comparison], fails: Callable[[Row], bool]) -> list[str]:
    """Return an error for each row that fails and a warning for each that drifted, the worst first, and the machine's
    change as a warning.
    """
    lines = []
    for comparison in comparisons:
        failed = sorted((row for row in comparison.rows if fails(row)), key=_ratio, reverse=True)
        drifted = sorted((row for row in comparison.rows if row.verdict == "DRIFTED"), key=_ratio, reverse=True)
        lines += _most([line("error", _title(row), _words(row)) for row in failed], "error", "fail")
        lines += _most([line("warning", _title(row), _words(row)) for row in drifted], "warning", "drifted")
        if comparison.machine is not None and comparison.machine.changed:
            lines.append(line("warning", "The machine changed", " ".join(machine_lines(comparison)[:2])))
    return lines


def step_annotations(steps: Sequence[StepTold]) -> list[str]:
    """Return an error for each step to slower times, a warning for each of unchanged work, a notice for the others."""
    kinds = {"SLOWER": "error", "DRIFTED": "warning", "FASTER": "notice"}
    found: dict[str, list[str]] = {}
    for told in steps:
        step = told.step
        words = (
            f"{step.ratio:.3f} x ({step.low:.3f} - {step.high:.3f}) since {told.at.created}: {'; '.join(told.causes)}"
        )
        kind = kinds[step.verdict]
        title = f"{step.verdict}: {step.case} {step.contender}"
        found.setdefault(kind, []).append(line(kind, title, words))
    return [annotation for kind, lines in found.items() for annotation in _most(lines, kind, "have a step")]


def line(kind: str, title: str, message: str) -> str:
    """Return one annotation; what would end it early, or begin another, is escaped as GitHub asks."""
    head = _escaped(text.printable(title)).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={head}::{_escaped(text.printable(message))}"


def _escaped(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _most(lines: list[str], kind: str, what: str) -> list[str]:
    if len(lines) <= MOST:
        return lines
    kept = MOST - 1
    return [
        *lines[:kept],
        line(kind, "gpubench", f"{len(lines) - kept} more series {what}: see the table of this step."),
    ]


def _ratio(row: Row) -> float:
    return row.estimate.ratio if row.estimate is not None else float("inf")


def _title(row: Row) -> str:
    return f"{row.verdict}: {row.case} {row.contender}"


def _words(row: Row) -> str:
    parts = []
    if row.estimate is not None:
        one = row.estimate
        parts.append(f"{one.ratio:.3f} x ({one.low:.3f} - {one.high:.3f})")
    if row.old_us is not None and row.new_us is not None:
        parts.append(f"{text.duration(row.old_us)} -> {text.duration(row.new_us)}")
    return "; ".join([*parts, *row.reasons]) or row.verdict
