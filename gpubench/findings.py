"""What an analysis of a fleet says: frozen data that the analysis makes and the views show.

Effects are logarithms of a time over the time of a healthy GPU: above 0 is slower.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpubench.fleet import Fleet, Member
from gpubench.model import Json

Finding = Literal["WRONG", "FAILED", "SLOW", "SUSPECT", "FINE", "UNJUDGED", "MISSING"]
"""WRONG: gave a wrong answer, or other bytes than its likes. FAILED: gave none where its likes did. SLOW: beyond the
threshold, and again when measured a second time. SUSPECT: beyond it, and not measured again. FINE: neither.
UNJUDGED: too few of its model to tell. MISSING: not measured, or not to its end."""

FINDINGS: tuple[Finding, ...] = ("MISSING", "WRONG", "FAILED", "SLOW", "SUSPECT", "UNJUDGED", "FINE")
"""In the order in which a reader should meet them."""

BAD: tuple[Finding, ...] = ("WRONG", "FAILED", "SLOW")

Work = tuple[str, str]
"""A case's id and a contender."""


@dataclass(frozen=True, slots=True)
class Effect:
    """How slow a GPU is: the median over `works` pieces of work, and the 95 % interval of that median."""

    value: float
    low: float
    high: float
    works: int


@dataclass(frozen=True, slots=True)
class Again:
    """The effect in a second measurement, less what the `control` beside it changed by; None: there was no control."""

    value: float
    control: str | None


@dataclass(frozen=True, slots=True)
class Gpu:
    """What was found of one member. `reasons`: what may explain it. `wrong`, `failed`: its answers that say so."""

    member: Member
    finding: Finding
    effect: Effect | None = None
    again: Again | None = None
    reasons: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The members of one model of GPU, and the rule that they were held to.

    against: their own median, a stored profile, or nothing where they are too few. scale: how much healthy ones differ
    (a standard deviation), at least the noise floor; `k` times that, and at least the least effect, is `threshold`.
    """

    model: str
    count: int
    against: Literal["peers", "profile"] | None
    scale: float = 0.0
    k: float = 0.0
    threshold: float = math.inf


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything. `ratios[member][work]`: the log ratio of each time to a healthy one's, None where there is none."""

    fleet: Fleet
    gpus: tuple[Gpu, ...]
    groups: tuple[Group, ...]
    works: tuple[Work, ...]
    ratios: tuple[tuple[float | None, ...], ...]
    notes: tuple[str, ...] = ()

    def having(self, *findings: Finding) -> tuple[Gpu, ...]:
        """Return the members with one of these findings, in the manifest's order."""
        return tuple(gpu for gpu in self.gpus if gpu.finding in findings)


@dataclass(frozen=True, slots=True)
class Standard:
    """What healthy GPUs of one model need for a piece of work, in microseconds, and the bytes of its answer."""

    case: str
    contender: str
    us: float
    code_sha256: str | None = None
    answer_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A model of GPU, as a healthy fleet of `gpus` showed it. `scale`: the deviation of their effects."""

    model: str
    created: str
    gpubench: str
    protocol: int
    suite: Mapping[str, Json]
    at_once: bool
    soak_s: float
    gpus: int
    scale: float
    standards: tuple[Standard, ...]
    environment: Mapping[str, Json]


def percent(log: float) -> float:
    """Return a log ratio as a share: 0.05 for 5 % more time."""
    return math.expm1(log)
