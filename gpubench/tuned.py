"""What a tuning found, as plain data for views and files: one row a regime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TUNED = "tuned"
"""Where a result keeps what a tuning found: a list of rows, each with its `space`."""

STAGE = "/tune="
"""Behind a case's id: which stage of which contest it was run for, such as `/tune=sum.short-rows.race.1`."""

Decision = Literal["tuned", "kept", "undecided"]
"""tuned: other constants are better for certain. kept: the shipped ones, as none was; undecided: not looked into, or
not to its end."""

Interval = tuple[float, float, float]
"""A ratio with its 95 % interval: (ratio, low, high), under 1 is faster than shipped."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A case that the finalists were timed on; times in microseconds."""

    case: str
    shipped_us: float
    tuned_us: float
    ratio: Interval


@dataclass(frozen=True, slots=True)
class Row:
    """A regime. `ratio`: of the chosen constants, or of the best others where the shipped ones stayed, over its cases.

    configurations: all there are; tried: those with plans of their own that were timed; dropped: by constraints and the
    compiler's report; failed: with a wrong answer or none. why: in words, where it is not plain.
    """

    subject: str
    regime: str
    cases: int
    decision: Decision
    constants: Mapping[str, str] = field(default_factory=dict)
    ratio: Interval | None = None
    configurations: int = 0
    tried: int = 0
    dropped: int = 0
    failed: int = 0
    rounds: int = 0
    why: str = ""
    timed: tuple[Timed, ...] = ()
