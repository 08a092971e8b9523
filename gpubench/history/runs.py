"""How the machine changed from run to run of a history, and how much one run of a series differs from the next.

The method of `controls` over many runs at once: in each run the work whose code did not change (and the ceilings) says
what the machine does to all times, log t = log of the usual time + mu + a / t, by Tukey's bisquare about least absolute
deviations; each family of contenders a little by itself. What is left varies from run to run, and repeated runs show by
how much: the moderated variance of `rounds`, of runs in place of rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import BISQUARE, CEILINGS, OURS, UNKNOWN
from gpubench.analysis.rounds import JITTER_US, SHARE, Spread, moderated
from gpubench.names import HOST_CONTENDERS, is_ours
from gpubench.past import Panel

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

FEWEST = 3
"""Runs of one code from which its usual time is known well enough to be a control."""

APART = np.diag([0.003**2, 0.3**2])
"""The covariance of a family's own change about that of all: libraries launch in ways of their own."""

TURNS = 16


@dataclass(frozen=True)
class Shifts:
    """What the machine did to each run, against what is usual. `shift`, `variance`: of the log times, (series, runs);
    `change`, `covariance`: (mu, a in us) of the machine as a whole, (runs, 2) and (runs, 2, 2); `controls`: how many
    told it, (runs,); `ceilings`: how many of them are the harness's own, (runs,); `span_us`: their shortest and longest
    usual time; `families`: those that have controls.
    """

    shift: Array
    variance: Array
    change: Array
    covariance: Array
    controls: Array
    ceilings: Array
    span_us: tuple[float, float]
    families: frozenset[str]


def families(panel: Panel) -> Array:
    """Return the family of each series, (series,): those that launch in the same way."""
    return np.asarray([OURS if is_ours(name) else name for _, name in panel.series], dtype=object)


def shifts(panel: Panel) -> Shifts:
    """Return what the machine did to each run. Without any control nothing is known, and nothing is taken off."""
    log_us = np.where(_on_device(panel)[:, None], panel.points["log_us"], np.nan)
    rows = [
        *_same_code(log_us, panel.points["code"]),
        *(ceiling for ceiling in panel.ceilings if _count(ceiling) >= FEWEST),
    ]
    swept = sum(_count(ceiling) >= FEWEST for ceiling in panel.ceilings)
    own = families(panel)
    owner = [*_owners(log_us, panel.points["code"], own), *[CEILINGS] * swept]
    series, runs = log_us.shape
    if not rows:
        nothing = np.zeros((runs, 2)), np.zeros((runs, 2, 2))
        zero = np.zeros((series, runs))
        none = np.zeros(runs, dtype=np.int64)
        return Shifts(zero, zero, *nothing, none, none, (0.0, 0.0), frozenset())
    control, family = np.stack(rows), np.asarray(owner, dtype=object)
    usual = np.nanmedian(control, axis=1)
    shift = np.zeros_like(control)
    for _ in range(2):  # the usual time is better known once the machine's doings are off
        usual = np.nanmedian(control - shift, axis=1)
        change, covariance, by_family = _fits(control - usual[:, None], np.exp(usual), family)
        for name in dict.fromkeys(family.tolist()):
            at = family == name
            shift[at] = _lines(by_family[name][0], np.exp(usual[at]))
    time_us = np.exp(_usual(log_us))
    taken, variance = np.zeros((series, runs)), np.zeros((series, runs))
    for name in dict.fromkeys(own.tolist()):
        at = own == name
        found = by_family.get(name) or (by_family.get(CEILINGS) if name == OURS else None) or (change, covariance)
        taken[at] = _lines(found[0], time_us[at])
        x = np.stack([np.ones(int(at.sum())), 1 / time_us[at]], axis=1)
        variance[at] = np.einsum("ni,rij,nj->nr", x, found[1], x)
    span = float(np.exp(usual.min())), float(np.exp(usual.max()))
    known = ~np.isnan(control)
    own_sweep = known[len(known) - swept :].sum(axis=0)
    return Shifts(taken, variance, change, covariance, known.sum(axis=0), own_sweep, span, frozenset(by_family))


def _on_device(panel: Panel) -> Array:
    return np.asarray([name not in HOST_CONTENDERS for _, name in panel.series], dtype=bool)


def _count(values: Array) -> int:
    return int((~np.isnan(values)).sum())


def _usual(log_us: Array) -> Array:
    """Return the median log time of each series, 0 of one that was never timed."""
    known = np.where(np.all(np.isnan(log_us), axis=1, keepdims=True), 0.0, log_us)
    return np.asarray(np.nanmedian(known, axis=1))


def _codes(log_us: Array, code: Array) -> Iterator[tuple[int, Array]]:
    """Yield (series, which of its runs) for each code that was timed in enough runs."""
    for number in range(len(log_us)):
        timed = ~np.isnan(log_us[number])
        for version in np.unique(code[number][timed]).tolist():
            at = timed & (code[number] == version)
            if version and at.sum() >= FEWEST:
                yield number, at


def _same_code(log_us: Array, code: Array) -> list[Array]:
    """Return the log times of each series while its code was one and the same, NaN in the other runs."""
    return [np.where(at, log_us[number], np.nan) for number, at in _codes(log_us, code)]


def _owners(log_us: Array, code: Array, family: Array) -> list[str]:
    return [str(family[number]) for number, _ in _codes(log_us, code)]


def _lines(change: Array, time_us: Array) -> Array:
    """Return mu + a / t of changes (runs, 2) at times (n,): (n, runs)."""
    return np.asarray(change[:, 0] + change[:, 1] / time_us[:, None])


def _fits(rest: Array, time_us: Array, family: Array) -> tuple[Array, Array, dict[str, tuple[Array, Array]]]:
    """Return change and covariance of all together, and of each family, from log ratios to the usual (controls, runs).

    A family's own change is that of all and what its own controls add, held in place by APART.
    """
    scale = np.sqrt(SHARE[True] ** 2 + (JITTER_US[True] / time_us) ** 2)
    deviation = 1.4826 * np.nanmedian(np.abs(rest - np.nanmedian(rest, axis=0)), axis=1)
    scale = np.maximum(scale, deviation)
    change, covariance = _robust(rest, time_us, scale, UNKNOWN)
    found = {}
    for name in dict.fromkeys(family.tolist()):
        at = family == name
        more, own = _robust(rest[at] - _lines(change, time_us[at]), time_us[at], scale[at], APART)
        found[name] = (change + more, covariance + own)
    return change, covariance, found


def _robust(rest: Array, time_us: Array, scale: Array, about: Array) -> tuple[Array, Array]:
    """Return (mu, a) of each run, (runs, 2), and its covariance, (runs, 2, 2), from log ratios (controls, runs).

    about: the covariance of the prior. Least absolute deviations first, then Tukey's bisquare. The variance is that of
    the ratios as they scatter here.
    """
    x = np.stack([np.ones(len(time_us)), 1 / time_us], axis=1)
    precision = np.linalg.inv(about)
    there = np.asarray(~np.isnan(rest))
    filled = np.where(there, rest, 0.0)
    change = np.zeros((rest.shape[1], 2))
    for turn in range(TURNS):
        score = (filled - x @ change.T) / scale[:, None]
        weight = (
            1 / np.maximum(np.abs(score), 0.3) if turn < TURNS // 2 else np.maximum(1 - (score / BISQUARE) ** 2, 0) ** 2
        )
        weight = np.where(there, weight, 0.0) / scale[:, None] ** 2
        information = np.einsum("nr,ni,nj->rij", weight, x, x) + precision
        change = np.linalg.solve(information, np.einsum("nr,ni,nr->ri", weight, x, filled)[..., None])[..., 0]
    return change, np.linalg.inv(information)


# --- What is left ----------------------------------------------------------------------------------------------------


def run_variance(rest: Array, time_us: Array, segments: Sequence[Sequence[tuple[int, ...]]]) -> Spread:
    """Return the variance of one run of each series and its degrees of freedom, (series,).

    rest: log times without the machine's shift, (series, runs). segments: of each series the runs between its steps,
    about whose means the runs scatter.
    """
    variance, freedom = np.zeros(len(rest)), np.zeros(len(rest), dtype=np.int64)
    for number, own in enumerate(segments):
        squares = sum(
            float(((part := rest[number, list(runs)]) - part.mean()) @ (part - part.mean())) for runs in own if runs
        )
        freedom[number] = sum(len(runs) - 1 for runs in own if runs)
        variance[number] = squares / freedom[number] if freedom[number] else 0.0
    return moderated(time_us, variance, freedom)
