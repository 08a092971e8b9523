"""What a comparison of two results says: frozen data that the analysis makes and the views show.

Ratios are new over old, so over 1 is slower. Times are microseconds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from gpubench.model import Json
from gpubench.names import Status

Verdict = Literal["SLOWER", "FASTER", "SAME", "UNDECIDED", "BROKEN", "FIXED", "ADDED", "REMOVED"]

VERDICTS: tuple[Verdict, ...] = ("BROKEN", "SLOWER", "FASTER", "SAME", "UNDECIDED", "FIXED", "ADDED", "REMOVED")
"""In the order in which a summary names them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much slower the new one is: the ratio with its 95 % interval, and how surprising it is.

    `p` is the probability of a difference this large when there is none, `q` the same corrected for the number of
    pairs compared at once. `threshold` is the least relative change that counts for this pair: 0.01 is 1 %.
    """

    ratio: float
    low: float
    high: float
    p: float
    q: float
    threshold: float


@dataclass(frozen=True, slots=True)
class Row:
    """One pair, or the half of one that the other result lacks. `old_us`, `new_us`: the typical median of a round
    (geometric mean over the rounds); `old_n`, `new_n`: samples. `reasons` are sentences without a full stop.
    """

    case: str
    operator: str
    dtype: str
    old_contender: str
    new_contender: str
    verdict: Verdict
    estimate: Estimate | None = None
    old_us: float | None = None
    new_us: float | None = None
    old_n: int = 0
    new_n: int = 0
    old_status: Status | None = None
    new_status: Status | None = None
    reasons: tuple[str, ...] = ()

    @property
    def contender(self) -> str:
        """The contender, or both when they differ: `torch -> gpubench:auto`."""
        if self.old_contender == self.new_contender:
            return self.new_contender
        return f"{self.old_contender} -> {self.new_contender}"


@dataclass(frozen=True, slots=True)
class Mean:
    """The geometric mean of the ratios of a group of pairs, with its 95 % interval."""

    group: Literal["overall", "operator", "dtype"]
    name: str
    pairs: int
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry of the environment that is not the same. `matters`: it can change how fast a kernel runs."""

    name: str
    old: Json
    new: Json
    matters: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two results. `old` and `new` name them for people. `paired`: the pairs were timed alternately
    in one process, and the estimates come from the differences within rounds.
    """

    old: str
    new: str
    rows: tuple[Row, ...]
    means: tuple[Mean, ...]
    differences: tuple[Difference, ...]
    threshold: float
    alpha: float
    simulated: bool = False
    paired: bool = False
    notes: tuple[str, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """Return the number of rows with this verdict."""
        return self.counts().get(verdict, 0)

    def counts(self) -> dict[Verdict, int]:
        """Return how many rows each verdict has, in the order of VERDICTS, without those that have none."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}
