"""From the verdicts of comparisons to the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gpubench.comparison import DECIDED, Comparison, Row
from gpubench.errors import ExitCode
from gpubench.names import FAILED, REFUTED

FailOn = Literal["none", "wrong", "slower", "missing"]

LEVELS: tuple[FailOn, ...] = get_args(FailOn)
"""Each level fails on what the one before it fails on, and more."""

NEARLY_ALL = 0.9
"""A comparison in which more than this share of the baseline's timed pairs is missing compares nothing."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What makes the exit code other than 0. `min_decided`: the least share of the rows that could be decided that must
    be. `mean`: the largest mean slow-down that passes, None for any.
    """

    fail_on: FailOn = "slower"
    min_decided: float = 0.0
    mean: float | None = None


def row_code(row: Row, fail_on: FailOn) -> ExitCode:
    """Return what this row alone would make the command return: FINE, REGRESSION, WRONG_ANSWER or FAILED_CASE.

    A case that the baseline lacks fails like any other: the baseline did not have that wrong answer or crash.
    """
    level = LEVELS.index(fail_on)
    added = row.verdict == "ADDED" and (row.new_status in (*REFUTED, *FAILED))
    if (row.verdict == "BROKEN" or added) and level >= LEVELS.index("wrong"):
        return ExitCode.WRONG_ANSWER if row.new_status in REFUTED else ExitCode.FAILED_CASE
    if row.verdict == "SLOWER" and level >= LEVELS.index("slower"):
        return ExitCode.REGRESSION
    if row.verdict == "REMOVED" and level >= LEVELS.index("missing"):
        return ExitCode.REGRESSION
    return ExitCode.FINE


def exit_code(comparisons: Sequence[Comparison], gate: Gate) -> ExitCode:
    """Return the exit code of the command, the first that applies: a wrong answer, a failure, a machine that changed, a
    regression, too little decided.
    """
    codes = {row_code(row, gate.fail_on) for comparison in comparisons for row in comparison.rows}
    for code in (ExitCode.WRONG_ANSWER, ExitCode.FAILED_CASE):
        if code in codes:
            return code
    if any(machine_refused(comparison) for comparison in comparisons):
        return ExitCode.NOT_COMPARABLE
    slower = any(_mean_slower(comparison, gate.mean) for comparison in comparisons)
    if ExitCode.REGRESSION in codes or (slower and LEVELS.index(gate.fail_on) >= LEVELS.index("slower")):
        return ExitCode.REGRESSION
    return ExitCode.NOT_COMPARABLE if any(undecided(comparison, gate) for comparison in comparisons) else ExitCode.FINE


def machine_refused(comparison: Comparison) -> bool:
    """Return whether the machine changed and nobody said to judge what is left."""
    machine = comparison.machine
    return machine is not None and machine.changed and not comparison.adjusted


def _mean_slower(comparison: Comparison, limit: float | None) -> bool:
    return limit is not None and any(mean.gated and mean.low > 1 + limit for mean in comparison.means)


def undecided(comparison: Comparison, gate: Gate) -> str | None:
    """Return why the comparison decides too little to pass, None when it does not."""
    rows = comparison.rows
    if not any(row.verdict in DECIDED for row in rows):
        return "nothing could be decided"
    missing = sum(row.verdict == "REMOVED" for row in rows)
    if missing > NEARLY_ALL * sum(row.verdict != "ADDED" for row in rows):
        return f"nearly all is missing: {missing} of the baseline's {sum(row.verdict != 'ADDED' for row in rows)} pairs"
    if comparison.decided < gate.min_decided * comparison.decidable:
        return (
            f"{comparison.decided} of {comparison.decidable} rows that could be decided are, "
            f"and --min-decided asks for {gate.min_decided:.0%}"
        )
    if gate.mean is not None and comparison.means and not any(mean.gated for mean in comparison.means):
        return (
            "no mean can be a gate: it takes unchanged pairs of the same contender, which hold the machine's part of it"
        )
    return None
