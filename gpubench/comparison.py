"""What a comparison of two results says: frozen data that the analysis makes and the views show.

Ratios are new over old, so over 1 is slower. Times are microseconds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from gpubench.model import Json
from gpubench.names import Status

Verdict = Literal["SLOWER", "FASTER", "SAME", "DRIFTED", "UNDECIDED", "BROKEN", "FIXED", "ADDED", "REMOVED"]

VERDICTS: tuple[Verdict, ...] = (
    "BROKEN",
    "SLOWER",
    "FASTER",
    "SAME",
    "DRIFTED",
    "UNDECIDED",
    "FIXED",
    "ADDED",
    "REMOVED",
)
"""In the order in which a summary names them."""

DECIDED: tuple[Verdict, ...] = ("SLOWER", "FASTER", "SAME", "DRIFTED", "BROKEN", "FIXED")
"""Verdicts that say something of a case."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How much slower the new one is, with the machine's change taken off: the ratio with its 95 % interval.

    `machine`: the ratio that the machine's change alone gives, 1 where there is none to take off; ratio x machine is
    new over old as measured. `p`: the probability of a ratio this far beyond the threshold when it is at most at the
    threshold; `q` the same corrected for the pairs judged at once. `threshold`: the least relative change that counts
    for this pair, 0.01 is 1 %. `sees`: the least change that a repetition would call in 4 of 5 runs.
    `rounds`: how many rounds a side would let SAME be shown, None where no number would.
    """

    ratio: float
    low: float
    high: float
    p: float
    q: float
    threshold: float
    machine: float = 1.0
    sees: float | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One pair, or the half of one that the other result lacks. `old_us`, `new_us`: the typical median of a round
    (geometric mean over the rounds); `old_n`, `new_n`: samples. `reasons` are sentences without a full stop.
    `unchanged`: the same work in both results, so that a change of its time is not its own.
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
    unchanged: bool = False

    @property
    def contender(self) -> str:
        """The contender, or both when they differ: `torch -> gpubench:auto`."""
        if self.old_contender == self.new_contender:
            return self.new_contender
        return f"{self.old_contender} -> {self.new_contender}"


@dataclass(frozen=True, slots=True)
class Mean:
    """The geometric mean of the ratios of a contender's changed pairs, with its 95 % interval; `all` of them together.

    `gated`: controls of the same contenders hold the machine's part of it, so that it may decide over a gate.
    """

    name: str
    pairs: int
    ratio: float
    low: float
    high: float
    gated: bool


@dataclass(frozen=True, slots=True)
class MachineChange:
    """How the machine changed, by what did not change: times go by `factor` and get `added_us` longer, each with its
    95 % interval. `changed`: one of the two is certainly over the threshold. `controls`: unchanged pairs, of which
    `ceilings` are the harness's own; `span_us`: their shortest and longest time. `share`, `jitter_us`: how much
    unchanged work differs from run to run. `moved`: controls over 50 us that moved by more than 1 %, of `long` ones.
    """

    factor: tuple[float, float, float]
    added_us: tuple[float, float, float]
    changed: bool
    controls: int
    ceilings: int
    span_us: tuple[float, float]
    share: float
    jitter_us: float
    moved: int = 0
    long: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry of the environment that is not the same. `matters`: it can change how fast a kernel runs. `meaning`:
    what it means for the verdicts, empty where nothing needs to be said.
    """

    name: str
    old: Json
    new: Json
    matters: bool
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two results. `old` and `new` name them for people. `paired`: the pairs were timed alternately
    in one process, and the estimates come from the differences within rounds. `machine`: None within one result.
    `adjusted`: what is left is judged although the machine changed. `decidable`: rows that these two runs could have
    called SAME however many rounds they had, by what runs differ.
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
    machine: MachineChange | None = None
    adjusted: bool = False
    decidable: int = 0
    decided: int = 0

    def count(self, verdict: Verdict) -> int:
        """Return the number of rows with this verdict."""
        return self.counts().get(verdict, 0)

    def counts(self) -> dict[Verdict, int]:
        """Return how many rows each verdict has, in the order of VERDICTS, without those that have none."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


@dataclass(frozen=True, slots=True)
class Planned:
    """What one contender of a case takes. `rounds`: None where no number of rounds shows the change; `least`: the least
    change that rounds without end would show. `seconds`: of these rounds in one run, None where no cost is known.
    """

    case: str
    contender: str
    time_us: float
    rounds_now: int
    rounds: int | None
    least: float
    seconds: float | None
