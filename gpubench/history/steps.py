"""Steps in a history: `ruptures` proposes where times changed, the rule of a comparison decides whether they did.

Both sides of a proposal are segments of runs. The variance of a run comes from how runs scatter within the segments, as
repeated runs in a calibration tell it; the machine's shift of each run is off. So a step says what SLOWER says: by more
than the threshold, certainly, among all proposals judged at once. Proposals that are not certain are dropped, the
weakest of a series first, and the segments that they divided are one again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import tick
from gpubench.analysis.judge import ADDED_US
from gpubench.analysis.rounds import CONFIDENCE, NORMAL, TICK_US, Spread
from gpubench.analysis.rule import Effect, Judged, Rule, judge, sees
from gpubench.distributions import t_quantile
from gpubench.errors import MissingExtraError
from gpubench.history.runs import Shifts, run_variance, shifts
from gpubench.past import Found, MachineStep, Panel, Step

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

LEAST_RUNS = 3
"""Runs on each side of a step: one odd run is no step, nor are two."""

PENALTY = 3.0
"""Times the logarithm of the number of runs, in variances of a run: what a proposal must explain. Low, as the rule
decides."""

AFTER = 4
"""Runs after a change, for what a series is said to see."""


@dataclass(frozen=True)
class Segmented:
    """A panel with the machine's shifts off, `rest` (series, runs), and each series' `segments`: runs between steps."""

    panel: Panel
    shifts: Shifts
    rest: Array
    time_us: Array
    segments: Sequence[Sequence[tuple[int, ...]]]
    spread: Spread
    judged: Judged | None
    effect: Effect | None
    places: Sequence[tuple[int, int]]


def find(panel: Panel, rule: Rule) -> Found:
    """Return the steps of all series of a panel, and of the machine. MissingExtraError without ruptures."""
    found = segmented(panel, rule)
    return Found(
        steps=_steps(found, rule),
        machine_steps=_machine_steps(found, rule),
        machine=found.shifts.shift,
        noise=np.sqrt(found.spread.variance),
        sees=_sees(found, rule),
    )


def segmented(panel: Panel, rule: Rule) -> Segmented:
    """Return the panel with every series in segments that differ certainly. MissingExtraError without ruptures."""
    moved = shifts(panel)
    log_us = panel.points["log_us"]
    rest = log_us - moved.shift
    timed = [tuple(np.flatnonzero(~np.isnan(row)).tolist()) for row in log_us]
    time_us = np.exp(np.asarray([np.median(row[list(at)]) if at else 0.0 for row, at in zip(rest, timed, strict=True)]))
    segments = [_proposed(rest[number], at, time_us[number]) for number, at in enumerate(timed)]
    while True:
        spread = run_variance(rest, time_us, segments)
        places = [(i, j) for i, own in enumerate(segments) for j in range(1, len(own))]
        now = Segmented(panel, moved, rest, time_us, segments, spread, None, None, places)
        if not places:
            return now
        effect = _effect(now)
        judged = judge(effect, band(rule, time_us[[i for i, _ in places]]), rule.alpha)
        weakest: dict[int, int] = {}
        for number, (series, _) in enumerate(places):
            if judged.call[number] not in (-1, 1):
                best = weakest.get(series)
                if best is None or judged.p[number] > judged.p[best]:
                    weakest[series] = number
        if not weakest:
            return replace(now, judged=judged, effect=effect)
        for series, number in weakest.items():
            own, at = list(segments[series]), places[number][1]
            own[at - 1 : at + 1] = [own[at - 1] + own[at]]
            segments[series] = own


def _proposed(rest: Array, timed: tuple[int, ...], time_us: float) -> list[tuple[int, ...]]:
    """Return the runs of a series in the segments that ruptures proposes."""
    if len(timed) < 2 * LEAST_RUNS:
        return [timed]
    try:
        from ruptures import KernelCPD
    except ImportError as error:
        raise MissingExtraError("ruptures", "history") from error
    values = rest[list(timed)]
    steps = np.diff(values)
    scale = max(1.4826 * float(np.median(np.abs(steps))) / np.sqrt(2), TICK_US / time_us / np.sqrt(12), 1e-6)
    centred = np.clip((values - np.median(values)) / scale, -1e3, 1e3)
    search = KernelCPD(kernel="linear", min_size=LEAST_RUNS).fit(centred[:, None])
    ends = search.predict(pen=PENALTY * float(np.log(len(timed))))
    return [timed[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _effect(now: Segmented) -> Effect:
    """Return the change at each proposal, as log ratios."""
    series = np.asarray([i for i, _ in now.places], dtype=np.int64)
    sides = [(list(now.segments[i][j - 1]), list(now.segments[i][j])) for i, j in now.places]
    value, share, machine = (np.zeros(len(series)) for _ in range(3))
    for number, (i, (before, after)) in enumerate(zip(series.tolist(), sides, strict=True)):
        value[number] = now.rest[i, after].mean() - now.rest[i, before].mean()
        share[number] = 1 / len(before) + 1 / len(after)
        own = now.shifts.variance[i]
        machine[number] = own[before].sum() / len(before) ** 2 + own[after].sum() / len(after) ** 2
    freedom = np.maximum(now.spread.freedom[series], 1.0)
    time_us = now.time_us[series]
    return Effect(
        value,
        now.spread.variance[series] * share,
        freedom,
        unseen(now.spread.variance[series], time_us),
        NORMAL,
        machine,
        30.0,
    )


def unseen(variance: Array, time_us: Array) -> Array:
    """Return the variance that steps of the event clock add to a mean of runs, (n,); `variance` is that of one run.

    Where runs differ by more than the clock's step, their mean falls between steps; where they do not, all of them may
    be off by the same part of one.
    """
    return np.asarray(np.maximum(tick(time_us) - variance, 0.0))


def band(rule: Rule, time_us: Array) -> Array:
    """Return the logarithm of the least ratio that counts: the rule's, and never less than a tick of the clock."""
    return np.maximum(rule.band(time_us), np.log1p(TICK_US / time_us))


def _steps(found: Segmented, rule: Rule) -> list[Step]:
    del rule
    if found.judged is None or found.effect is None:
        return []
    half = found.effect.half()
    steps = []
    for number, (i, j) in enumerate(found.places):
        before, after = found.segments[i][j - 1], found.segments[i][j]
        code = found.panel.points["code"][i]
        same = code[before[-1]] == code[after[0]] != 0
        value, reach = float(found.effect.value[number]), float(half[number])
        steps.append(
            Step(
                *found.panel.series[i],
                before=before[-1],
                at=after[0],
                verdict="DRIFTED" if same else "SLOWER" if value > 0 else "FASTER",
                ratio=float(np.exp(value)),
                low=float(np.exp(value - reach)),
                high=float(np.exp(value + reach)),
                q=float(found.judged.q[number]),
                before_us=float(np.exp(found.rest[i, list(before)].mean())),
                after_us=float(np.exp(found.rest[i, list(after)].mean())),
                runs=(len(before), len(after)),
            )
        )
    return sorted(steps, key=lambda step: (step.at, step.case, step.contender))


def _sees(found: Segmented, rule: Rule) -> Array:
    """Return the least change of each series that AFTER more runs would show in 4 of 5 repetitions, as a share."""
    last = np.asarray([len(own[-1]) for own in found.segments], dtype=np.float64)
    share = 1 / np.maximum(last, 1) + 1 / AFTER
    zero = np.zeros(len(last))
    freedom = np.maximum(found.spread.freedom, 1.0)
    clock = unseen(found.spread.variance, found.time_us)
    effect = Effect(zero, found.spread.variance * share, freedom, clock, NORMAL, zero, 30.0)
    pairs = max(len(found.places), 1)
    least = np.expm1(np.minimum(sees(effect, band(rule, found.time_us), rule.alpha, pairs), 10.0))
    return np.where(last >= LEAST_RUNS, least, np.nan)


def _machine_steps(found: Segmented, rule: Rule) -> list[MachineStep]:
    """Return where the machine changed for all: by the rule of a comparison, of the means of segments of runs."""
    moved = found.shifts
    known = tuple(np.flatnonzero(moved.controls > 0).tolist())
    if len(known) < 2 * LEAST_RUNS:
        return []
    cuts = {
        runs[0] for column in (0, 1) for runs in _proposed(moved.change[:, column], known, 10.0 ** (4 - 4 * column))[1:]
    }
    edges = [known[0], *sorted(cuts), known[-1] + 1]
    parts = [[run for run in known if start <= run < end] for start, end in itertools.pairwise(edges)]
    parts = [part for part in parts if part]
    steps = []
    scatter = sum(((moved.change[part] - moved.change[part].mean(axis=0)) ** 2).sum(axis=0) for part in parts)
    freedom = max(len(known) - len(parts), 1)
    for before, after in itertools.pairwise(parts):
        value = moved.change[after].mean(axis=0) - moved.change[before].mean(axis=0)
        own = np.diagonal(moved.covariance, axis1=1, axis2=2)
        share = 1 / len(before) + 1 / len(after)
        variance = (
            scatter / freedom * share + own[before].mean(axis=0) / len(before) + own[after].mean(axis=0) / len(after)
        )
        half = t_quantile((1 + CONFIDENCE) / 2, freedom) * np.sqrt(variance)
        if abs(value[0]) - half[0] > np.log1p(rule.threshold) or abs(value[1]) - half[1] > ADDED_US:
            low, middle, high = np.exp([value[0] - half[0], value[0], value[0] + half[0]]).tolist()
            added = (float(value[1]), float(value[1] - half[1]), float(value[1] + half[1]))
            steps.append(MachineStep(before[-1], after[0], (middle, low, high), added))
    return steps
