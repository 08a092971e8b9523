"""The plan of a contender of ours: which variant, and with which constants in force."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpubench.errors import UnsupportedError
from gpubench.model import DeviceInfo, Json, Plan, Problem, Refused
from gpubench.names import AUTO, SECOND_SUFFIX, SHIPPED, contender_of, split_constants, variant_of
from gpubench.operators.base import Operator, Variant
from gpubench.operators.constants import Regime, Value, in_force, values_of
from gpubench.results.format import plain
from gpubench.tuning.active import constants_for
from gpubench.tuning.regimes import require_candidates


def planned(name: str, operator: Operator[Any], problem: Problem[Any], device: DeviceInfo) -> Plan:
    """Return the plan of a contender of ours, with its constants in force. UnsupportedError with the reason for none.

    `auto` has those that are tuned for the problem's regime; variants by their names have the shipped ones, so that a
    name means the same work everywhere.
    """
    bare, text = split_constants(name.removesuffix(SECOND_SUFFIX))
    notes: dict[str, Json] = {}
    constants: dict[str, Value] = {}
    if text is not None:
        constants = given_constants(text, operator.regimes, operator.name)
    elif bare == AUTO:
        regime, constants = constants_for(operator, problem, device)
        notes = {} if regime is None else {"regime": regime}
    plan_of = operator.choose if bare == AUTO else _variant(bare, operator).plan
    with in_force({key: value for key, value in constants.items() if value is not None}):
        plan = plan_of(problem, device)
    if isinstance(plan, Refused):
        raise UnsupportedError(plan.reason)
    if constants:
        notes["constants"] = plain(constants)
    return replace(plan, notes={**plan.notes, **notes}) if notes else plan


def given_constants(text: str, regimes: Sequence[Regime], subject: str) -> dict[str, Value]:
    """Return the constants that a contender's name gives. UnsupportedError for those that are not declared."""
    if text == SHIPPED:
        return {}
    try:
        constants = values_of(text)
    except ValueError as error:
        raise UnsupportedError(str(error)) from error
    require_candidates(constants, regimes, subject)
    return constants


def _variant(name: str, operator: Operator[Any]) -> Variant:
    wanted = variant_of(name)
    for variant in operator.variants:
        if variant.name == wanted:
            return variant
    names = [variant.name for variant in operator.variants]
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f" Did you mean {contender_of(near[0])}?" if near else ""
    raise UnsupportedError(f"{operator.name} has no variant {wanted!r}; it has {', '.join(names)}.{hint}")
