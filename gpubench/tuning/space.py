"""The configurations of a regime: enumerated, held to the constraints, and joined where they make the same plans."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpubench.errors import CompileError, UnsupportedError, UsageError
from gpubench.model import Case, DeviceInfo, Launch, Plan, Problem, Refused
from gpubench.names import AUTO, CONSTANTS_MARK, SHIPPED
from gpubench.operators import operator as find_operator
from gpubench.operators.base import Operator
from gpubench.operators.constants import MOST_CONFIGURATIONS, Regime, Value, in_force, text_of, texts_of
from gpubench.own.definitions import Kernel
from gpubench.own.plan import names_of_problem
from gpubench.own.plan import plan as own_plan
from gpubench.tuning.file import Tuning
from gpubench.tuning.regimes import allows, names_in, regime_of, regimes_of, subject_of, with_constants


@dataclass(frozen=True, slots=True)
class Subject:
    """What is tuned: an operator's `auto`, or a kernel that a suite brings, whose files lie in `folder`."""

    operator: Operator[Any]
    kernel: Kernel | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """How entries of a tuning call it."""
        return subject_of(self.operator, self.kernel)

    @property
    def contender(self) -> str:
        """Its name among the contenders, without constants."""
        return AUTO if self.kernel is None else self.kernel.contender

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """Its regimes."""
        return regimes_of(self.operator, self.kernel)

    def contender_with(self, values: Mapping[str, Value]) -> str:
        """Return the contender that has these constants, and the shipped ones else."""
        return self.contender + CONSTANTS_MARK + (texts_of(values) or SHIPPED)

    def plan(self, problem: Problem[Any], device: DeviceInfo, values: Mapping[str, Value]) -> Plan | Refused:
        """Return the plan with these constants in force."""
        if self.kernel is not None:
            try:
                return own_plan(with_constants(self.kernel, values), self.operator, problem, device, self.folder)
            except CompileError as error:
                return Refused(str(error))
        with in_force({name: value for name, value in values.items() if value is not None}):
            return self.operator.choose(problem, device)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A configuration that makes plans of its own. `values`: the constants that differ from the shipped ones.

    plans: by case id, what tells its plan from others. joined: how many configurations make the same plans.
    """

    name: str
    values: Mapping[str, Value]
    plans: Mapping[str, str]
    joined: int = 1


@dataclass(frozen=True, slots=True)
class Space:
    """The configurations of a regime over the cases in it. The first entrant is who is to be beaten: it has the shipped
    constants, or those of the tuning that the search starts from.

    refused: by name, the configurations that no case can be planned with. total: before constraints, of which `outside`
    are excluded. stands_for: by a configuration's values, joined by commas in the order of the regime's constants, the
    name of the entrant that makes the same plans.
    """

    subject: Subject
    regime: Regime
    cases: tuple[Case, ...]
    entrants: tuple[Entrant, ...]
    total: int
    refused: Mapping[str, str] = field(default_factory=dict)
    outside: int = 0
    stands_for: Mapping[str, str] = field(default_factory=dict)

    @property
    def incumbent(self) -> Entrant:
        """Who is to be beaten."""
        return self.entrants[0]


def spaces(subject: Subject, cases: Sequence[Case], device: DeviceInfo, start: Tuning | None = None) -> list[Space]:
    """Return the space of every regime that some of the cases lie in, in the order of the regimes.

    start: a tuning whose constants are to be beaten in place of the shipped ones. UsageError for a space of more than
    MOST_CONFIGURATIONS.
    """
    regimes = subject.regimes
    for regime in regimes:
        _require_bounded(subject, regime)
    found: dict[str, list[tuple[Case, Problem[Any]]]] = {}
    for case in cases:
        problem = _problem(subject, case)
        if problem is None or not problem.bytes:
            continue
        regime_or_none = regime_of(regimes, subject.operator, problem, device)
        if regime_or_none is not None and isinstance(subject.plan(problem, device, {}), Plan):
            found.setdefault(regime_or_none.name, []).append((case, problem))
    before = (
        {}
        if start is None
        else {entry.regime: entry.values for entry in start.entries if entry.subject == subject.name}
    )
    return [
        _space(subject, regime, found[regime.name], device, before.get(regime.name, {}))
        for regime in regimes
        if regime.name in found
    ]


def _require_bounded(subject: Subject, regime: Regime) -> None:
    total = math.prod(len(constant.candidates) for constant in regime.tune)
    if total > MOST_CONFIGURATIONS:
        raise UsageError(
            f"{subject.name}: the constants of its regime {regime.name} have {total:,} configurations; at most "
            f"{MOST_CONFIGURATIONS:,} can be tried. Give `tune` fewer values, or split the regime."
        )


def _problem(subject: Subject, case: Case) -> Problem[Any] | None:
    if case.operator != subject.operator.name:
        return None
    try:
        return find_operator(case.operator).problem(case)
    except UnsupportedError:
        return None


def _space(
    subject: Subject,
    regime: Regime,
    members: Sequence[tuple[Case, Problem[Any]]],
    device: DeviceInfo,
    start: Mapping[str, Value],
) -> Space:
    names = [names_of_problem(subject.operator, problem, device) for _, problem in members]
    shipped = {constant.name: constant.shipped for constant in regime.tune}
    by_plans: dict[tuple[str, ...], Entrant] = {}
    refused: dict[str, str] = {}
    outside = 0
    keys_of: dict[str, tuple[str, ...]] = {}
    first = {name: value for name, value in start.items() if name in shipped and value != shipped[name]}
    for configuration in _configurations(regime):
        values = {name: value for name, value in configuration.items() if value != shipped[name]}
        if values not in ({}, first) and not all(_is_allowed(regime, configuration, known) for known in names):
            outside += 1
            continue
        plans = [subject.plan(problem, device, values) for _, problem in members]
        name = subject.contender_with(values)
        reason = next((plan.reason for plan in plans if isinstance(plan, Refused)), None)
        if reason is not None:
            refused[name] = reason
            continue
        keys = tuple(key_of(plan) for plan in plans if isinstance(plan, Plan))
        keys_of[",".join(map(text_of, configuration.values()))] = keys
        before = by_plans.get(keys)
        if before is None or values == first or (len(values) < len(before.values) and before.values != first):
            ids = (case.id for case, _ in members)
            by_plans[keys] = Entrant(
                name, values, dict(zip(ids, keys, strict=True)), 1 if before is None else before.joined
            )
        if before is not None:
            by_plans[keys] = replace(by_plans[keys], joined=before.joined + 1)
    total = math.prod(len(constant.candidates) for constant in regime.tune)
    entrants = tuple(sorted(by_plans.values(), key=lambda entrant: entrant.values != first))
    stands_for = {values: by_plans[keys].name for values, keys in keys_of.items()}
    return Space(subject, regime, tuple(case for case, _ in members), entrants, total, refused, outside, stands_for)


def _configurations(regime: Regime) -> Iterator[dict[str, Value]]:
    """Yield every combination, the shipped one first."""
    names = [constant.name for constant in regime.tune]
    for values in itertools.product(*(constant.candidates for constant in regime.tune)):
        yield dict(zip(names, values, strict=True))


def _is_allowed(regime: Regime, values: Mapping[str, Value], known: Mapping[str, Any]) -> bool:
    names = {**known, **names_in(values)}
    return all(allows(text, names) for text in regime.constraints)


def key_of(plan: Plan) -> str:
    """Return what tells the work of one plan from that of another."""
    return hashlib.sha256(repr((plan.steps, plan.workspace_bytes)).encode()).hexdigest()[:16]


def launches_of(space: Space, entrant: Entrant, device: DeviceInfo, cases: Sequence[Case]) -> list[Launch]:
    """Return the launches of an entrant on these cases."""
    found: list[Launch] = []
    for case in cases:
        plan = space.subject.plan(find_operator(case.operator).problem(case), device, entrant.values)
        found += plan.launches if isinstance(plan, Plan) else ()
    return found
