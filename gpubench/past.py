"""What history is made of, shared by the index, the analysis and the views: runs, and what each timed of every series.

A series is one contender on one case over the runs of one suite on one model of GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Key = tuple[str, str]
"""Case id and contender: what names a series within a group."""

POINT = (
    ("log_us", "<f8"),
    ("variance", "<f4"),
    ("low_us", "<f4"),
    ("high_us", "<f4"),
    ("share", "<f4"),
    ("sm_mhz", "<f4"),
    ("samples", "<u4"),
    ("rounds", "<u2"),
    ("status", "u1"),
    ("spare", "u1"),
    ("code", "<u8"),
)
"""One record as the index keeps it, a numpy dtype. `log_us`: the mean of the log round medians, NaN where nothing was
timed; `variance`: the unbiased variance of one of them; `low_us`, `high_us`: the interval that the run gave; `share`:
of the ceiling; `sm_mhz`: the median clock; `status`: its place in STATUSES; `code`: equal where the work and its
machine code are (or the library's versions), 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Run:
    """One result file. `path` is relative to the folder of the history; `created` the ISO time of the run; `facts` what
    else tells runs apart: driver, nvrtc, uuid, commit, dirty, branch, labels, protocol ...
    """

    path: str
    created: str
    suite: str
    device: str
    simulated: bool
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        """The commit in brief, with a mark where the checkout was changed; empty where it is not known."""
        commit = self.facts.get("commit")
        return "" if not isinstance(commit, str) else commit[:10] + "+" * (self.facts.get("dirty") is True)


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one suite on one model of GPU, simulated or real: what can be compared."""

    suite: str
    device: str
    simulated: bool
    runs: int


@dataclass(frozen=True)
class Panel:
    """A group's runs in the order of time, and what they timed. `points`: a structured array of POINT, of shape
    (series, runs); `ceilings`: log microseconds of the harness's own, (names, runs), NaN where a run lacks one.
    """

    runs: Sequence[Run]
    series: Sequence[Key]
    points: Array
    ceilings: Array


Change = Literal["SLOWER", "FASTER", "DRIFTED"]


@dataclass(frozen=True, slots=True)
class Step:
    """A time that changed for good between two runs. `before`, `at`: places of these runs in the panel, next to each
    other among those that timed the series; `ratio`: of the mean times of the segments on both sides, the machine's
    change taken off, with its 95 % interval; `q` as in a comparison. `runs`: how many each segment has.
    """

    case: str
    contender: str
    before: int
    at: int
    verdict: Change
    ratio: float
    low: float
    high: float
    q: float
    before_us: float
    after_us: float
    runs: tuple[int, int]


@dataclass(frozen=True, slots=True)
class MachineStep:
    """The machine changed for all: times go by `factor` and get `added_us` longer from run `at` on, with intervals."""

    before: int
    at: int
    factor: tuple[float, float, float]
    added_us: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Found:
    """What the analysis found in a panel. `steps` in the order of time. `sees`: for each series the least change that
    four more runs would show in 4 of 5 repetitions, NaN where it has too few runs. `noise`: the standard deviation of
    one run, as a share. `machine`: the expected log ratio of each run to the usual one, (series, runs).
    """

    steps: Sequence[Step]
    machine_steps: Sequence[MachineStep]
    machine: Array
    noise: Array
    sees: Array


@dataclass(frozen=True, slots=True)
class StepTold:
    """A step with the runs around it, and what changed between them, the most telling first."""

    step: Step
    before: Run
    at: Run
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timed:
    """What one run found of one series, for the views. Times in microseconds, None where nothing was timed."""

    run: Run
    status: str
    us: float | None
    low_us: float | None
    high_us: float | None
    code: int


@dataclass(frozen=True, slots=True)
class Line:
    """One series in the order of time, with its steps; `steps` None: nobody looked for them yet."""

    group: Group
    case: str
    contender: str
    points: Sequence[Timed]
    steps: Sequence[StepTold] | None = None
