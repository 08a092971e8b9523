"""The rounds of a plan, for the cases of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.errors import UsageError

if TYPE_CHECKING:
    from gpubench.model import TimingOptions


def planned_rounds(plan: Path | None, rounds: int | None) -> dict[str, int]:
    """Return the rounds of a plan by case; empty without one. UsageError beside `rounds`, which says them too."""
    if plan is None:
        return {}
    if rounds is not None:
        raise UsageError("--rounds and --rounds-from both say how many rounds: give one of the two.")
    from gpubench.results.plans import read_rounds

    return read_rounds(plan)


def with_planned(timing: TimingOptions, rounds: int | None) -> TimingOptions:
    """Return the options with so many rounds, each as long as before."""
    if rounds is None:
        return timing
    longer = max(rounds / timing.rounds, 1.0)
    least = math.ceil(timing.min_samples * longer)
    limit, most = timing.time_limit_s * longer, max(timing.max_samples, least)
    return replace(timing, rounds=rounds, time_limit_s=limit, min_samples=least, max_samples=most)
