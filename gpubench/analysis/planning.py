"""What a change takes to be seen: a plan of rounds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.calibration import calibrated
from gpubench.analysis.controls import UNKNOWN, tick
from gpubench.analysis.estimate import ceilings, result_times
from gpubench.analysis.rounds import DOUBT, TAILS, Noise, Rounds, is_timed, prior
from gpubench.analysis.rule import Effect, Rule, rounds_to_see, sees
from gpubench.comparison import Planned
from gpubench.errors import ComparisonError
from gpubench.model import Record, ResultSet
from gpubench.names import HOST_CONTENDERS

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


def plan(result: ResultSet, change: float, rule: Rule, kept: Sequence[Record] | None = None) -> tuple[Planned, ...]:
    """Return what each timed contender takes, so that two runs on this GPU show a relative change in 4 of 5 cases.

    kept: the records to plan for, all of them without it. The machine is taken to be as well known as this result's own
    ceilings and libraries let it be; runs to differ as H200s do, or as the result's calibration says. ComparisonError
    when nothing was timed.
    """
    wanted = [record for record in (result.records if kept is None else kept) if _counts(record)]
    if not wanted:
        raise ComparisonError("Nothing in the result was timed in two rounds or more: there is nothing to plan from.")
    effect, time_us, rounds = _hypothetical(result, wanted)
    band = rule.band(time_us)
    needed = rounds_to_see(effect, rounds, band, change, rule.alpha, len(wanted))
    least = np.expm1(sees(effect.with_rounds(0.0), band, rule.alpha, len(wanted)))
    second = _seconds_a_sample(result)
    return tuple(
        Planned(
            record.case.id,
            record.contender,
            float(time_us[number]),
            int(rounds[number]),
            int(needed[number]) or None,
            float(least[number]),
            None if second is None or not needed[number] else second * _samples(record) * int(needed[number]),
        )
        for number, record in enumerate(wanted)
    )


def _counts(record: Record) -> bool:
    rounds = record.timing.rounds if record.timing is not None else ()
    return is_timed(record) and record.contender not in HOST_CONTENDERS and len(rounds) > 1


def _hypothetical(result: ResultSet, wanted: Sequence[Record]) -> tuple[Effect, Array, Array]:
    """Return the effects of comparing two runs like this one in which nothing changed, their times, and the rounds."""
    swept: dict[Hashable, Rounds] = {name: rounds for name, (rounds, _) in ceilings(result, result).items()}
    known = result_times(result, swept)
    at = known.at([id(record) for record in wanted])
    time_us, noise = np.exp(known.log_us), _typical()
    device = np.ones(len(time_us), dtype=bool)
    host = [
        id(candidate)
        for candidate in result.records
        if candidate.contender in HOST_CONTENDERS and id(candidate) in known.place
    ]
    device[known.at(host)] = False
    information = np.stack([np.ones(len(time_us)), 1 / time_us], axis=1)[device]  # of (mu, a) in log t_new
    weight = 1 / (2 * known.variance + noise.variance(time_us))[device]
    covariance = np.linalg.inv((information * weight[:, None]).T @ information + np.linalg.inv(UNKNOWN))
    x = np.stack([np.ones(len(at)), 1 / time_us[at]], axis=1)
    runs = noise.variance(time_us[at]) + tick(time_us[at])
    repeated = calibrated(result)
    for number, record in enumerate(wanted):
        found = repeated.spread.get((record.case.id, record.contender)) if repeated else None
        if found is not None:
            own = known.variance[at[number]] * repeated.runs if repeated else 0.0  # of one run's rounds
            runs[number] = max(2 * (found[0] - own), tick(time_us[at[number]])[()])
    effect = Effect(
        np.zeros(len(at)),
        2 * known.variance[at],
        2 * known.freedom[at],
        runs,
        noise.weights,
        np.einsum("ni,ij,nj->n", x, covariance, x),
        4.0,
    )
    return effect, time_us[at], known.rounds[at]


def _typical() -> Noise:
    """Return what two runs on one GPU are expected to differ by before any was made."""
    start = prior(same_device=True)
    weights = (1 - DOUBT[True]) * start.weights
    weights[TAILS.argmin()] += DOUBT[True]
    return replace(start, weights=weights)


def _seconds_a_sample(result: ResultSet) -> float | None:
    """Return what one sample took of the timed phase, everything around it included; None where it is not recorded."""
    timings = result.extra.get("timings")
    whole = timings.get("time") if isinstance(timings, dict) else None
    count = sum(len(record.timing.samples) for record in result.records if record.timing is not None)
    return float(whole) / count if isinstance(whole, int | float) and count else None


def _samples(record: Record) -> float:
    """Return how many samples a round of the record has."""
    timing = record.timing
    return len(timing.samples) / max(len(timing.rounds), 1) if timing is not None else 0.0
