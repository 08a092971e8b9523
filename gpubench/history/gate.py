"""A new run against the history: with the whole segment since a series' last step, not with one run before.

The threshold comes from many runs, so single odd ones matter little, and a drift by small steps adds up until it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.controls import Change, Machine, tick
from gpubench.analysis.estimate import Estimated, too_few
from gpubench.analysis.pairing import Pair
from gpubench.analysis.rounds import NORMAL, Noise
from gpubench.analysis.rule import Effect, Rule
from gpubench.history.runs import Shifts, run_variance, shifts
from gpubench.history.steps import segmented
from gpubench.past import Panel

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Past:
    """A history with the new run as the last one of `panel`, and the runs of each series since its last step."""

    panel: Panel
    since: Sequence[tuple[int, ...]]


def past(panel: Panel, rule: Rule) -> Past:
    """Return a panel, whose last run is the new one, with the segments that the runs before it have."""
    before = Panel(panel.runs[:-1], panel.series, panel.points[:, :-1], panel.ceilings[:, :-1])
    return Past(panel, [own[-1] for own in segmented(before, rule).segments])


def against(timed: Sequence[Pair], known: Past) -> Estimated:
    """Return what the new run says of pairs; their old side only explains, the times come from the history."""
    panel, new = known.panel, len(known.panel.runs) - 1
    place = {key: number for number, key in enumerate(panel.series)}
    at = np.asarray([place[pair.either.case.id, pair.either.contender] for pair in timed], dtype=np.int64)
    moved = shifts(panel)
    rest = panel.points["log_us"] - moved.shift
    usual = np.asarray([rest[i, list(runs)].mean() if runs else np.nan for i, runs in enumerate(known.since)])
    time_us = np.exp(np.where(np.isnan(usual), 0.0, usual))
    spread = run_variance(rest, time_us, [(runs,) for runs in known.since])
    count = np.maximum([len(runs) for runs in known.since], 1)
    points = panel.points[:, new]
    own = np.nan_to_num(points["variance"].astype(np.float64)) / np.maximum(points["rounds"], 1)
    machine = moved.variance[:, new].copy()
    for i, runs in enumerate(known.since):
        machine[i] += moved.variance[i, list(runs)].sum() / count[i] ** 2
    effect = Effect(
        value=(rest[:, new] - usual)[at],
        rounds=(np.maximum(spread.variance, own) + spread.variance / count)[at],
        rounds_freedom=np.maximum(spread.freedom, 1.0)[at],
        runs=tick(time_us[at]),
        weights=NORMAL,
        machine=machine[at],
        machine_freedom=30.0,
    )
    last = np.asarray([runs[-1] if runs else new for runs in known.since])
    code = panel.points["code"]
    unchanged = (code[:, new] == code[np.arange(len(last)), last]) & (code[:, new] != 0)
    return Estimated(
        pairs=timed,
        log_us=(usual[at], panel.points["log_us"][at, new]),
        measured=panel.points["log_us"][at, new] - usual[at],
        expected=moved.shift[at, new],
        effect=effect,
        rounds=points["rounds"][at].astype(np.int64),
        few=[too_few(pair) for pair in timed],
        unchanged=unchanged[at],
        calibrated=np.ones(len(timed), dtype=bool),
        machine=_machine(moved, new, spread.variance, time_us),
        controls=int(moved.controls[new]),
        ceilings=int(moved.ceilings[new]),
    )


def _machine(moved: Shifts, new: int, variance: Array, time_us: Array) -> Machine:
    """Return the machine's change in the new run, against what is usual, as a comparison tells it."""
    from scipy.optimize import nnls

    change = Change(moved.change[new], moved.covariance[new], 30.0)
    (share, jitter), _ = nnls(np.stack([np.ones(len(time_us)), time_us**-2.0], axis=1), variance)
    noise = Noise(float(np.sqrt(share)), float(np.sqrt(jitter)), NORMAL, same_device=True)
    return Machine(change, dict.fromkeys(moved.families, change), change, noise, moved.span_us)
