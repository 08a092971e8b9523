"""The rule that turns changes into verdicts, and verdicts into the exit code.

One-sided tests against the threshold, corrected for many cases; and what they could resolve with how many rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from gpubench.analysis.distributions import benjamini_hochberg, t_quantile, t_tail
from gpubench.analysis.rounds import CONFIDENCE, TAILS, heavy
from gpubench.comparison import DECIDED, Comparison, Row
from gpubench.errors import ExitCode
from gpubench.names import FAILED, REFUTED

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What counts as a change. `threshold`: least relative change (0.01 is 1 %); `threshold_us`: least change in
    microseconds, where that is more; `alpha`: the level of significance; `adjust`: judge what is left when the machine
    has changed.
    """

    threshold: float = 0.01
    alpha: float = 0.01
    threshold_us: float = 0.0
    adjust: bool = False

    def band(self, time_us: Array) -> Array:
        """Return the logarithm of the least ratio that counts at these times, (n,)."""
        return np.asarray(np.log1p(np.maximum(self.threshold, self.threshold_us / time_us)))


@dataclass(frozen=True, slots=True)
class Effect:
    """How much slower than expected, as log ratios, arrays of shape (n,).

    `rounds`, `rounds_freedom`: variance that the rounds of both sides show, and its degrees of freedom. `runs`: the
    squared scale of what runs differ by; `weights` (4,) of its TAILS and `heavy`, its variance over the squared scale.
    `machine`, `machine_freedom`: the variance of what is expected.
    """

    value: Array
    rounds: Array
    rounds_freedom: Array
    runs: Array
    weights: Array
    machine: Array
    machine_freedom: float

    def with_rounds(self, factor: Array | float) -> Effect:
        """Return the effect with the variance of the rounds times a factor: what other numbers of rounds would see."""
        return replace(self, rounds=self.rounds * factor)

    def total(self) -> tuple[Array, Array]:
        """Return the whole variance, and its degrees of freedom by Satterthwaite.

        The tails of what runs differ by count fully where they are alone, and as a variance where they add to more.
        """
        tails = 1 / float((self.weights / TAILS).sum())
        other = self.rounds + self.machine
        share = np.divide(other, other + self.runs, out=np.zeros_like(other), where=other + self.runs > 0)
        runs = self.runs * (1 + (heavy(self.weights) - 1) * share)
        variance = other + runs
        parts = (
            self.rounds**2 / self.rounds_freedom
            + runs**2 * (1 - share) / tails
            + self.machine**2 / self.machine_freedom
        )
        freedom = np.divide(variance**2, parts, out=np.full_like(variance, 1e6), where=parts > 0)
        return variance, np.maximum(freedom, 1.0)

    def half(self) -> Array:
        """Return half the width of the 95 % interval."""
        variance, freedom = self.total()
        return t_quantile((1 + CONFIDENCE) / 2, freedom) * np.sqrt(variance)

    def beyond(self, band: Array) -> Array:
        """Return p (n,), one-sided, against an effect of at most `band` (logarithms): McCarthy and Smyth's TREAT.

        Far out the heaviest tail decides alone: a jump of one run is no change, however well its rounds agree.
        """
        variance, freedom = self.total()
        away = self.value - band
        p = t_tail(_over(away, variance), freedom)
        tails = sum(w * t_tail(_over(away, self.runs), nu) for w, nu in zip(self.weights, TAILS, strict=True))
        return np.asarray(np.maximum(p, tails))

    def turned(self) -> Effect:
        """Return the same seen from the other side: how much faster."""
        return replace(self, value=-self.value)


def _over(away: Array, variance: Array) -> Array:
    """Return `away` in standard errors; infinitely many where there is no variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0, away / np.sqrt(variance), np.where(away > 0, np.inf, -np.inf))


@dataclass(frozen=True, slots=True)
class Judged:
    """Arrays of shape (n,). `call`: 1 slower, -1 faster, 0 the same, 2 undecided. `p`, `q`: in the direction seen."""

    call: Array
    p: Array
    q: Array


def judge(effect: Effect, band: Array, alpha: float) -> Judged:
    """Judge effects against the bands (n,) around no change."""
    slower, faster = effect.beyond(band), effect.turned().beyond(band)
    q_slower, q_faster = benjamini_hochberg(slower), benjamini_hochberg(faster)
    up = effect.value >= 0
    half = effect.half()
    call = np.full(len(band), 2)
    call[np.abs(effect.value) + half <= band] = 0
    call[q_slower < alpha] = 1
    call[q_faster < alpha] = -1
    return Judged(call, np.where(up, slower, faster), np.where(up, q_slower, q_faster))


# --- What could be resolved ------------------------------------------------------------------------------------------

POWER = 0.8
"""A change that is said to be seen is called in so many of all repetitions."""

MOST_ROUNDS = 1000


def sees(effect: Effect, band: Array, alpha: float, pairs: int) -> Array:
    """Return the least change, as log ratios (n,), that is called SLOWER in 4 of 5 repetitions, alone among `pairs`."""
    variance, freedom = effect.total()
    error = np.sqrt(variance)
    level = alpha / max(pairs, 1)
    far = _far(tuple(effect.weights.tolist()), level) * np.sqrt(effect.runs)
    return np.asarray(band + np.maximum(-t_quantile(level, freedom) * error, far) + t_quantile(POWER, freedom) * error)


@lru_cache(maxsize=256)
def _far(weights: tuple[float, ...], level: float) -> float:
    """Return the quantile of the mixture of tails that is exceeded with this probability, in scales."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return float(np.log(sum(w * t_tail(x, nu) for w, nu in zip(weights, TAILS, strict=True)) / level))

    return float(brentq(excess, 0.0, 1e6)) if level < 0.5 else 0.0


def decidable(effect: Effect, band: Array) -> Array:
    """Return whether SAME could be shown with rounds without end, (n,): the runs and the machine allow it."""
    return np.asarray(effect.with_rounds(0.0).half() <= band)


def rounds_to_decide(effect: Effect, rounds: Array, band: Array) -> Array:
    """Return how many rounds a side would make the 95 % interval fit into the band, (n,); 0 where no number would."""
    return _fewest(lambda factor: effect.with_rounds(factor).half() <= band, rounds)


def rounds_to_see(effect: Effect, rounds: Array, band: Array, change: float, alpha: float, pairs: int) -> Array:
    """Return how many rounds a side would show this relative change in 4 of 5 repetitions, (n,); 0: no number would."""
    wanted = math.log1p(change)
    return _fewest(lambda factor: sees(effect.with_rounds(factor), band, alpha, pairs) <= wanted, rounds)


def _fewest(enough: Any, rounds: Array) -> Array:
    """Return the fewest rounds for which `enough`, asked with the factor on the rounds' variance, is true; else 0."""
    low, high = np.ones(len(rounds)), np.full(len(rounds), float(MOST_ROUNDS))
    possible = enough(rounds / high)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        fits = enough(rounds / middle)
        high, low = np.where(fits, middle, high), np.where(fits, low, middle)
    return np.where(possible, np.maximum(high, 2), 0).astype(np.int64)


# --- The gate --------------------------------------------------------------------------------------------------------

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
