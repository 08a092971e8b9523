"""Spaces: every fast variant declares what can be tuned, constraints hold, equal plans are one, none is unbounded."""

from __future__ import annotations

import dataclasses
import functools
import math

import pytest

from gpubench.errors import UnsupportedError, UsageError
from gpubench.model import Case, DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.architectures import device_of
from gpubench.operators.constants import Constant, Regime, in_force
from gpubench.own.expression import read
from gpubench.own.plan import known_names
from gpubench.suite.expand import load_suite
from gpubench.tuning import space as space_module
from gpubench.tuning.regimes import names_in, regime_of, require_candidates
from gpubench.tuning.space import Space, Subject, spaces

NOT_FAST = ("naive", "reduce_config", "auto_pytorch", "large_index")
"""What `auto` falls back to where no fast variant takes a problem, or there is no work."""


def h200() -> DeviceInfo:
    """Return a device with the figures of an H200."""
    info = device_of("sm_90")
    assert info is not None
    return dataclasses.replace(info, sm_count=132, l2_bytes=60 << 20, memory_bytes=140 << 30)


@functools.cache
def space_of(name: str, regime: str) -> Space:
    """Return a regime's space over the cases of its operator's suite; to find it takes seconds."""
    cases = load_suite(name).cases
    return next(space for space in spaces(Subject(OPERATORS[name]), cases, h200()) if space.regime.name == regime)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_fast_variant_declares_what_can_be_tuned(name: str) -> None:
    """What `auto` chooses for a suite's case is named by the case's regime, which has constants."""
    operator = OPERATORS[name]
    for case in load_suite(name).cases:
        problem = operator.problem(case)
        plan = operator.choose(problem, h200())
        if not isinstance(plan, Plan) or plan.variant in NOT_FAST:
            continue
        regime = regime_of(operator.regimes, operator, problem, h200())
        assert regime is not None, case.id
        assert plan.variant in regime.variants, (case.id, regime.name)
        assert regime.tune


@pytest.mark.parametrize("name", OPERATORS)
def test_conditions_name_what_there_is(name: str) -> None:
    """Every `when` and constraint is an expression of the operator's names; constants' names stand for one thing."""
    operator = OPERATORS[name]
    plain = known_names(operator)
    for regime in operator.regimes:
        read(regime.when, plain)
        constants = {
            constant.name: value for constant in regime.tune for value in constant.candidates if value is not None
        }
        for text in regime.constraints:
            read(text, {*plain, *names_in(constants)})
    shipped: dict[str, object] = {}
    for constant in (constant for regime in operator.regimes for constant in regime.tune):
        assert shipped.setdefault(constant.name, constant.shipped) == constant.shipped
    assert len({regime.name for regime in operator.regimes}) == len(operator.regimes)
    assert {variant.name for variant in operator.variants} >= {
        variant for each in operator.regimes for variant in each.variants
    }


@pytest.mark.parametrize("name", OPERATORS)
def test_shipped_constants_in_force_change_no_plan(name: str) -> None:
    """A rule's own value and the declared shipped one are the same: with all of them in force plans stay."""
    operator = OPERATORS[name]
    for case in load_suite(name).cases[::3]:
        problem = operator.problem(case)
        regime = regime_of(operator.regimes, operator, problem, h200())
        if regime is None:
            continue
        plain = operator.choose(problem, h200())
        with in_force({constant.name: constant.shipped for constant in regime.tune if constant.shipped is not None}):
            assert operator.choose(problem, h200()) == plain, case.id


def test_equal_plans_are_one_entrant_and_every_point_has_one() -> None:
    """The configurations are many, their plans few; each point of the space is somebody's, refused or outside."""
    found = space_of("sum", "short-rows")
    assert found.total == math.prod(len(constant.candidates) for constant in found.regime.tune)
    assert len(found.stands_for) + len(found.refused) + found.outside == found.total
    assert sum(entrant.joined for entrant in found.entrants) == len(found.stands_for)
    assert len({tuple(entrant.plans.items()) for entrant in found.entrants}) == len(found.entrants) < found.total / 2
    assert found.incumbent.values == {}
    assert set(found.stands_for.values()) == {entrant.name for entrant in found.entrants}


def test_constraints_leave_configurations_out() -> None:
    """Tiles eight times as large as the shortest row of a regime are never planned."""
    found = space_of("cumsum", "rows-of-4K")
    assert found.outside > 0
    assert all("BLOCK_SHAPE=32x8" not in entrant.name for entrant in found.entrants)


def test_an_unbounded_space_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten constants of ten values each are a mistake, told in one line before anything is planned."""
    tens = tuple(Constant(f"C{number}", 0, tuple(range(10))) for number in range(10))
    monkeypatch.setattr(type(OPERATORS["sum"]), "regimes", (Regime("huge", "1", (), tens),))
    monkeypatch.setattr(space_module, "_problem", None)
    with pytest.raises(UsageError, match="10,000,000,000 configurations; at most 10,000"):
        spaces(Subject(OPERATORS["sum"]), [Case("c", "sum", "float32", {})], h200())


@pytest.mark.parametrize(
    ("values", "message"),
    [({"NO_SUCH": 1}, "has no constant NO_SUCH; it has"), ({"FEW_THREADS": 7}, "FEW_THREADS of sum may be 128, 64")],
)
def test_constants_that_nobody_declared_are_refused(values: dict[str, int], message: str) -> None:
    """A suite cannot ask for a block or a tile that no kernel was made for."""
    with pytest.raises(UnsupportedError, match=message):
        require_candidates(values, OPERATORS["sum"].regimes, "sum")
