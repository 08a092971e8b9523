"""From verdicts to the exit code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from gpubench.comparison import Comparison, Row
from gpubench.errors import ExitCode
from gpubench.names import FAILED

FailOn = Literal["none", "wrong", "slower", "missing"]
LEVELS: tuple[FailOn, ...] = get_args(FailOn)
"""Each level fails on what the one before it fails on, and more."""

DECIDED = ("SLOWER", "FASTER", "SAME", "BROKEN", "FIXED")

PRECEDENCE = (
    ExitCode.WRONG_ANSWER,
    ExitCode.FAILED_CASE,
    ExitCode.REGRESSION,
    ExitCode.NOT_COMPARABLE,
    ExitCode.FINE,
)
"""Where several apply, the first of these is returned. A refusal (3) or bad usage (2) ends the command before."""


def row_code(row: Row, fail_on: FailOn) -> ExitCode:
    """Return what this row alone would make the command return: FINE, REGRESSION, WRONG_ANSWER or FAILED_CASE.

    A case that the baseline lacks fails like any other: the baseline did not have that wrong answer or crash.
    """
    level = LEVELS.index(fail_on)
    added = row.verdict == "ADDED" and (row.new_status == "wrong" or row.new_status in FAILED)
    if (row.verdict == "BROKEN" or added) and level >= LEVELS.index("wrong"):
        return ExitCode.WRONG_ANSWER if row.new_status == "wrong" else ExitCode.FAILED_CASE
    if row.verdict == "SLOWER" and level >= LEVELS.index("slower"):
        return ExitCode.REGRESSION
    if row.verdict == "REMOVED" and level >= LEVELS.index("missing"):
        return ExitCode.REGRESSION
    return ExitCode.FINE


def exit_code(comparisons: Iterable[Comparison], fail_on: FailOn) -> ExitCode:
    """Return the exit code of the command: the first of PRECEDENCE that any row of any comparison calls for.

    A comparison in which nothing could be decided calls for NOT_COMPARABLE whatever `fail_on` says.
    """
    codes = {ExitCode.FINE}
    for comparison in comparisons:
        codes.update(row_code(row, fail_on) for row in comparison.rows)
        if not any(row.verdict in DECIDED for row in comparison.rows):
            codes.add(ExitCode.NOT_COMPARABLE)
    return next(code for code in PRECEDENCE if code in codes)
