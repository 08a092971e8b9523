"""From estimates to outcomes: each pair's verdict, what it could have resolved, and what is to be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import Estimated, family
from gpubench.analysis.rounds import CONFIDENCE
from gpubench.analysis.rule import Effect, Rule, decidable, judge, rounds_to_decide, sees
from gpubench.comparison import Estimate, MachineChange, Mean, Verdict
from gpubench.distributions import t_quantile

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CALLED: Mapping[int, Verdict] = {-1: "FASTER", 0: "SAME", 1: "SLOWER", 2: "UNDECIDED"}

ADDED_US = 0.5
"""An added time that certainly exceeds this many microseconds is a change of the machine."""

LONG_US = 50.0
"""Over this time what a launch adds is nothing, and single kernels show what a card does to them."""

LARGEST_LOG = 500.0
"""Beyond e^500 an interval says nothing, and its ends would be infinite in the output."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the times of a pair say. `few`: why they are too few for any verdict, None when they suffice."""

    verdict: Verdict
    estimate: Estimate | None
    old_us: float
    new_us: float
    few: str | None
    unchanged: bool


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes by the pair's place, and the words that belong to each. `decidable`: how many could have been called
    SAME whatever the number of rounds; `decided`: how many of these were called something.
    """

    found: Mapping[int, tuple[Outcome, tuple[str, ...]]]
    decidable: int
    decided: int

    def of(self, number: int) -> tuple[Outcome, tuple[str, ...]]:
        """Return outcome and words of the pair at this place."""
        return self.found[number]


def outcomes(estimated: Estimated, picked: Array, rule: Rule) -> Outcomes:
    """Judge the pairs at these places. Unchanged pairs are corrected for apart: they are another question."""
    time_us = np.exp(np.minimum(*estimated.log_us))
    band = rule.band(time_us)
    few = np.asarray([why is not None for why in estimated.few], dtype=bool)
    found: dict[int, tuple[Outcome, tuple[str, ...]]] = {}
    can, did = 0, 0
    change = machine_change(estimated, rule)
    changed = change is not None and change.changed and not rule.adjust
    for same in (True, False):
        at = picked[(estimated.unchanged[picked] == same) & ~few[picked]]
        if len(at):
            group = _Group(estimated, at, band[at], rule, same and change is not None, changed)
            found.update(group.outcomes())
            can += int((group.decidable | (group.call != 2)).sum())
            did += int((group.call != 2).sum())
    for number in picked[few[picked]].tolist():
        old_us, new_us = _times(estimated, number)
        said, same = estimated.few[number], bool(estimated.unchanged[number])
        found[number] = (Outcome("UNDECIDED", None, old_us, new_us, said, same), ())
    return Outcomes(found, can, did)


def _times(estimated: Estimated, number: int) -> tuple[float, float]:
    old, new = (float(np.exp(side[number])) for side in estimated.log_us)
    return old, new


class _Group:
    """Pairs that are judged together, arrays of shape (group,). `control`: unchanged work of two results. `changed`:
    the machine changed, and its change is not taken off.
    """

    def __init__(self, estimated: Estimated, at: Array, band: Array, rule: Rule, control: bool, changed: bool) -> None:
        self.estimated, self.at, self.band, self.rule, self.control = estimated, at, band, rule, control
        self.effect = _taken(estimated.effect, at)
        self.rounds = estimated.rounds[at]
        self.judged = judge(self.effect, band, rule.alpha)
        self.call = self.judged.call.copy()
        raw = estimated.measured[at]
        self.moved = (np.abs(raw) > band) & (not rule.adjust)  # the machine's doing, but no longer the same time
        self.with_machine = np.zeros(len(at), dtype=bool)
        if control and changed:
            alone = replace(self.effect, value=raw, machine=np.zeros(len(at)))
            self.with_machine = np.isin(judge(alone, band, rule.alpha).call, (-1, 1))
        self.call[(self.call == 0) & self.moved] = 2
        self.decidable = decidable(self.effect, band)
        self.sees = sees(self.effect, band, rule.alpha, len(at))
        self.needed = rounds_to_decide(self.effect, self.rounds, band)

    def outcomes(self) -> dict[int, tuple[Outcome, tuple[str, ...]]]:
        """Return outcome and words by the pair's place."""
        half = self.effect.half()
        found = {}
        for number, place in enumerate(self.at.tolist()):
            verdict = CALLED[int(self.call[number])]
            if self.control and (verdict in ("SLOWER", "FASTER") or self.with_machine[number]):
                verdict = "DRIFTED"
            estimate = self._estimate(number, float(half[number]))
            old_us, new_us = _times(self.estimated, place)
            outcome = Outcome(
                verdict, estimate, old_us, new_us, None, self.control or bool(self.estimated.unchanged[place])
            )
            found[place] = (outcome, self._words(number, verdict))
        return found

    def _estimate(self, number: int, half: float) -> Estimate | None:
        centre = float(self.effect.value[number])
        if abs(centre) + half > LARGEST_LOG:
            return None
        ratio, low, high, threshold = np.exp([centre, centre - half, centre + half, self.band[number]]).tolist()
        sees, needed = float(self.sees[number]), int(self.needed[number])
        calibrated = bool(self.estimated.calibrated[self.at[number]])
        return Estimate(
            ratio,
            low,
            high,
            float(self.judged.p[number]),
            float(self.judged.q[number]),
            threshold - 1,
            float(np.exp(self.estimated.expected[self.at[number]])),
            float(np.expm1(min(sees, LARGEST_LOG))),
            needed if needed and not calibrated else None,
        )

    def _words(self, number: int, verdict: Verdict) -> tuple[str, ...]:
        """Return why an unchanged pair drifted, or why a pair is undecided and what would decide it."""
        if verdict == "DRIFTED":
            own = self.judged.call[number] in (-1, 1)
            how = "beyond what the machine's change explains" if own else "as the machine's change explains"
            return (f"unchanged work, {how}",)
        if verdict != "UNDECIDED":
            return ()
        if self.judged.call[number] == 0 and self.moved[number]:
            return ("within the threshold with the machine's change taken off (--adjust-machine)",)
        return (self._resolution(number),)

    def _resolution(self, number: int) -> str:
        """Return what an undecided pair could resolve, and what it would take to decide it."""
        seen = f"sees changes from {percent(float(np.expm1(min(self.sees[number], LARGEST_LOG))))}"
        threshold = percent(float(np.expm1(self.band[number])))
        needed = int(self.needed[number])
        if self.estimated.calibrated[self.at[number]]:
            return f"{seen}; its runs differ too much for {threshold}"
        if self.estimated.machine is None and not needed:
            return f"{seen}; no number of rounds decides {threshold}"
        if needed > self.rounds[number]:
            return f"{seen}; {needed} rounds decide {threshold}"
        if needed:
            return f"{seen}; lies at the threshold of {threshold}"
        return f"{seen}; no rounds decide {threshold}: {self._limit(number)}"

    def _limit(self, number: int) -> str:
        """Return what rounds cannot mend: the noise from run to run, or the machine's change not known well enough."""
        alone = replace(self.effect, machine=np.zeros(len(self.at)))
        machine = self.estimated.machine
        if machine is not None and bool(decidable(alone, self.band)[number]):
            shortest, longest = machine.span_us
            span = f"controls span {shortest:.2g} to {longest:.2g} us" if longest else "there are no controls"
            return f"the machine's change is not known well enough here ({span})"
        scale = float(np.sqrt(self.effect.runs[number]))
        spread = float(np.exp(self.estimated.log_us[0][self.at[number]])) * scale
        band = float(self.band[number])
        several = f", or {int(np.ceil((1.96 * scale / band) ** 2)) + 1} runs a side" if band > 0 else ""
        return f"runs differ by {spread:.2g} us; use ab{several}"


def percent(share: float) -> str:
    """Return a share in percent with two figures, and never with an exponent."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _taken(effect: Effect, at: Array) -> Effect:
    return replace(
        effect,
        value=effect.value[at],
        rounds=effect.rounds[at],
        rounds_freedom=effect.rounds_freedom[at],
        runs=effect.runs[at],
        machine=effect.machine[at],
    )


def machine_change(estimated: Estimated, rule: Rule) -> MachineChange | None:
    """Return how the machine changed; None within one result."""
    machine = estimated.machine
    if machine is None:
        return None
    (mu, added), (half_mu, half_added) = machine.change.value.tolist(), machine.change.half().tolist()
    certain = abs(mu) - half_mu > np.log1p(rule.threshold) or abs(added) - half_added > ADDED_US
    long = estimated.unchanged & (np.exp(estimated.log_us[0]) > LONG_US)
    moved = long & (np.abs(estimated.effect.value) > np.log1p(rule.threshold))
    low, high = np.exp([mu - half_mu, mu + half_mu]).tolist()
    return MachineChange(
        factor=(float(np.exp(mu)), low, high),
        added_us=(added, added - half_added, added + half_added),
        changed=bool(certain),
        controls=estimated.controls,
        ceilings=estimated.ceilings,
        span_us=machine.span_us,
        share=machine.noise.share,
        jitter_us=machine.noise.jitter_us,
        moved=int(moved.sum()),
        long=int(long.sum()),
    )


def geometric_means(estimated: Estimated, members: Array) -> tuple[Mean, ...]:
    """Return a mean for each contender with two or more pairs among `members`, and of all where there are several.

    The interval says how well this set of cases was measured, not how other cases would do.
    """
    groups: dict[str, list[int]] = {}
    for number in members.tolist():
        groups.setdefault(estimated.pairs[number].either.contender, []).append(number)
    found = [_mean("all", members.tolist(), estimated)] if len(groups) > 1 else []
    return (*found, *(_mean(name, group, estimated) for name, group in groups.items() if len(group) > 1))


def _mean(name: str, members: Sequence[int], estimated: Estimated) -> Mean:
    at = np.asarray(members, dtype=np.int64)
    centre, half = float(estimated.effect.value[at].mean()), mean_half(estimated.effect, at)
    ratio, low, high = np.exp([centre, centre - half, centre + half]).tolist()
    machine = estimated.machine
    held = machine is None or all(family(estimated.pairs[i].either) in machine.families for i in members)
    return Mean(name, len(at), ratio, low, high, held)


def mean_half(effect: Effect, at: Array) -> float:
    """Return half the width of the 95 % interval of the mean log ratio of the pairs at these places."""
    count = len(at)
    own = effect.total()[0][at] - effect.machine[at]
    # The machine's part is one and the same for all pairs of a family, and nearly so for all: it does not average out.
    shared = float(np.sqrt(effect.machine[at]).mean()) ** 2
    variance = float(own.sum()) / count**2 + shared
    parts = float((own**2 / effect.rounds_freedom[at]).sum()) / count**4 + shared**2 / effect.machine_freedom
    freedom = variance**2 / parts if parts > 0 else 1e6
    return float(t_quantile((1 + CONFIDENCE) / 2, max(freedom, 1.0)) * np.sqrt(variance))
