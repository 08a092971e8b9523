"""The pairs that were timed on both sides, as arrays, and their verdicts by times alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.estimate import paired, unpaired, with_ranks
from gpubench.analysis.pairing import Pair, samples
from gpubench.analysis.ranks import benjamini_hochberg, least_p
from gpubench.analysis.rounds import difference, side
from gpubench.analysis.rule import Rule, judge, thresholds
from gpubench.comparison import Estimate, Verdict
from gpubench.model import Record

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

CALLED: Mapping[int, Verdict] = {-1: "FASTER", 0: "SAME", 1: "SLOWER", 2: "UNDECIDED"}

Rounds = Sequence[Sequence[float]]


class Timed:
    """Pairs, all timed on both sides, and what their times say. Arrays have the shape (pairs,).

    `old`, `new`: summaries of the sides. `few`: why a pair has too few samples, None when it has enough. `change`,
    `p`, `q`, `floor`, `threshold`, `verdict`: the outcome. Pairs that are not `picked` help to learn how much rounds
    vary, but are neither tested nor counted in the correction for many pairs.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        picked: Sequence[bool],
        rule: Rule,
        floors: Mapping[tuple[str, str], float],
        drift: float,
        interleaved: bool,
    ) -> None:
        self.pairs = pairs
        self.records: list[tuple[Record, Record]] = [(one.old, one.new) for one in pairs if one.old and one.new]
        rounds: list[tuple[Rounds, Rounds]] = [(samples(old), samples(new)) for old, new in self.records]
        self.old = side([one for one, _ in rounds])
        self.new = side([one for _, one in rounds])
        self.few = [too_few(old, new, rule.alpha) for old, new in rounds]
        group = np.unique([one.either.contender for one in pairs], return_inverse=True)[1]
        if interleaved:
            aligned = [_aligned(*both) for both in self.records]
            ratios = difference([one for one, _ in aligned], [one for _, one in aligned])
            self.change = paired(ratios, group, (self.old.mean + self.new.mean) / 2)
            rounds = [_centred(*both) for both in aligned]
        else:
            self.change = unpaired(self.old, self.new, group, drift)
        self._test(rounds, np.asarray(picked, dtype=bool), rule)
        self.floor = np.asarray([0.0 if interleaved else _floor(one, floors) for one in pairs], dtype=np.float64)
        self.threshold = thresholds(rule, self.floor, np.exp(np.minimum(self.old.mean, self.new.mean)))
        calls = judge(self.change, self.q, self.threshold, rule.alpha)
        self.verdict = [CALLED[2 if few else int(call)] for few, call in zip(self.few, calls, strict=True)]

    def _test(self, rounds: Sequence[tuple[Rounds, Rounds]], picked: Array, rule: Rule) -> None:
        tested = np.flatnonzero(picked & np.asarray([few is None for few in self.few], dtype=bool))
        self.p, self.q = self.change.p.copy(), np.ones(len(self.pairs))
        old = [[us for one in rounds[i][0] for us in one] for i in tested.tolist()]
        new = [[us for one in rounds[i][1] for us in one] for i in tested.tolist()]
        self.p[tested] = with_ranks(self.p[tested], old, new, rule.alpha)
        self.q[tested] = benjamini_hochberg(self.p[tested])

    def estimate(self, number: int) -> Estimate | None:
        """Return the estimate of a pair, None when there is none (fewer than 2 rounds)."""
        centre, half = float(self.change.log_ratio[number]), float(self.change.half[number])
        if not self.change.freedom[number] > 0 or abs(centre) + half > _LARGEST_LOG:
            return None
        ends = np.exp([centre, centre - half, centre + half])
        outcome = (self.p[number], self.q[number], self.threshold[number])
        return Estimate(*(float(x) for x in (*ends, *outcome)))

    def typical_us(self, number: int) -> tuple[float | None, float | None]:
        """Return the geometric mean of the round medians of both sides; None for a side without samples."""
        old, new = (float(np.exp(one.mean[number])) if one.rounds[number] else None for one in (self.old, self.new))
        return old, new


_LARGEST_LOG = 500.0
"""Beyond e^500 an interval says nothing, and its ends would be infinite in the output."""


def too_few(old: Rounds, new: Rounds, alpha: float) -> str | None:
    """Return why rounds of samples are too few for any verdict, None when they suffice."""
    for name, rounds in (("old", old), ("new", new)):
        if not rounds:
            return f"no usable samples ({name})"
        if len(rounds) < 2:
            return f"fewer than 2 rounds ({name})"
    sizes = [sum(map(len, rounds)) for rounds in (old, new)]
    if least_p(*sizes) > alpha:
        return f"too few samples ({sizes[0]} and {sizes[1]}) to reach alpha {alpha:g}"
    return None


def _aligned(old: Record, new: Record) -> tuple[list[list[float]], list[list[float]]]:
    """Return the samples of the rounds that both have, so that rounds of two contenders stay side by side."""
    if old.timing is None or new.timing is None or not samples(old) or not samples(new):
        return [], []
    both = [(a, b) for a, b in zip(old.timing.rounds, new.timing.rounds, strict=False) if a and b]
    return [[one.us for one in a] for a, _ in both], [[one.us for one in b] for _, b in both]


def _centred(old: Rounds, new: Rounds) -> tuple[Rounds, Rounds]:
    """Return the samples divided by the middle of their round, so that ranks compare within rounds (aligned ranks)."""
    middles = [float(np.sqrt(np.median(a) * np.median(b))) for a, b in zip(old, new, strict=True)]
    return tuple(  # type: ignore[return-value] # two sides in, two sides out
        [[us / middle for us in one] for one, middle in zip(rounds, middles, strict=True)] for rounds in (old, new)
    )


def _floor(pair: Pair, floors: Mapping[tuple[str, str], float]) -> float:
    return max(floors.get((one.case.id, one.contender), 0.0) for one in (pair.old, pair.new) if one is not None)
