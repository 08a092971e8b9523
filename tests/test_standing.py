"""Standings: who is behind whom on a case, from times that may be trusted only."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gpubench.model import Record
from gpubench.names import AUTO, NUMPY
from gpubench.standing import standing_of, standings, worst
from tests.views.samples import record, result


def timed(case: str, contender: str, us: float) -> Record:
    """Return a record of a median."""
    return record(case, contender, median_us=us)


def test_a_contender_is_held_against_the_fastest_other() -> None:
    """The factor is over the fastest of all, the ratio over the fastest other; a missing time is behind everything."""
    one = standing_of([timed("a", AUTO, 2.0), timed("a", "torch", 4.0), timed("a", "jax", 3.0)])
    assert (one.factor(AUTO), one.factor("torch"), one.factor("cub")) == (1, 2, math.inf)
    assert (one.best_other(AUTO), one.versus(AUTO)) == ("jax", 1.5)
    assert one.best_other("jax") == AUTO
    assert one.versus("jax") == pytest.approx(2 / 3)
    assert one.versus("cub") is None


def test_times_that_say_nothing_are_left_out() -> None:
    """The host's times, simulated ones, wrong answers and missing medians take no part; nor do cases of one time."""
    alone = [timed("a", AUTO, 2.0), timed("a", NUMPY, 1.0)]
    wrong = [timed("b", AUTO, 2.0), replace(timed("b", "torch", 1.0), status="wrong")]
    simulated = [replace(timed("c", name, 1.0), simulated=True) for name in (AUTO, "torch")]
    fine = [timed("d", AUTO, 2.0), timed("d", "torch", 1.0), replace(timed("d", "jax", 1), summary=None)]
    [only] = standings([result(*alone, *wrong, *simulated, *fine)])
    assert (only.case.id, dict(only.times), only.contenders) == ("d", {AUTO: 2.0, "torch": 1.0}, (AUTO, "torch", "jax"))


def test_the_worst_come_first_and_equal_ones_by_name() -> None:
    """Cases are ranked by the ratio, of all results together."""
    ratios = {"b": 0.5, "a": 0.5, "c": 2.0, "d": 0.9}
    found = [standing_of([timed(case, AUTO, 1.0), timed(case, "torch", ratio)]) for case, ratio in ratios.items()]
    assert [standing.case.id for standing in worst(found, AUTO)] == ["a", "b", "d", "c"]
    assert [standing.case.id for standing in worst(found, AUTO, 2)] == ["a", "b"]
    assert [standing.case.id for standing in worst(found, "torch", 1)] == ["c"]
    assert worst(found, "jax") == []
