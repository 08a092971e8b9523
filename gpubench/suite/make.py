"""One case from the chosen value of every key, and case after case drawn at random."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import canonical
from gpubench.errors import ParameterError, UnsupportedError
from gpubench.model import Case, Operand, Problem
from gpubench.operators import operator as find_operator
from gpubench.operators.drawing.numbers import GENERATOR, Numbers
from gpubench.operators.drawing.wishes import Wishes
from gpubench.operators.parameters import input_label, to_json
from gpubench.suite.plan import CasePlan
from gpubench.suite.resolve import Scope, resolve_fields

MAX_OPERAND_BYTES = 2**40


def make_case(plan: CasePlan, chosen: Mapping[str, Any]) -> Case:
    """Return the case of one point of a plan's axes. ParameterError names the key at fault."""
    operator = find_operator(plan.operator)
    dtype = canonical(chosen["dtype"])
    own = {name: value for name, value in chosen.items() if name in plan.parameters}
    scope = Scope({name: chosen[name] for name in plan.variables})
    params = operator.normalise(operator.parse(resolve_fields(operator.params, own, scope)), dtype)
    distribution, seed = chosen["input"], chosen["seed"]
    case = Case(
        id=operator.label(params, dtype) + input_label(distribution, seed),
        operator=plan.operator,
        dtype=dtype,
        params=to_json(params),
        distribution=distribution,
        seed=seed,
        contenders=plan.contenders,
        timing=plan.timing,
        limits=plan.limits,
    )
    with contextlib.suppress(UnsupportedError):  # such a case stays: the run records it with the reason
        _check_sizes(operator.problem(case))
    return case


def _check_sizes(problem: Problem[Any]) -> None:
    for operand in problem.operands:
        size = _bytes(operand)
        if size > MAX_OPERAND_BYTES:
            what = f"the operand {operand.name} takes {size:,} bytes; at most {MAX_OPERAND_BYTES:,} are allowed"
            raise ParameterError("shape", what)


def _bytes(operand: Operand) -> int:
    return operand.view.storage * dtypes.dtype(operand.dtype).itemsize


# --- At random --------------------------------------------------------------------------------------------------------

TRIES = 20
"""Draws a wanted case, at most: some have no meaning, need too much memory, or are there already."""


BARREN = 1000


def draw_cases(plan: CasePlan, wishes: Wishes, taken: Collection[str]) -> tuple[list[Case], ParameterError | None]:
    """Return the first cases of a random entry whose ids are not `taken`; and the commonest refusal if too few."""
    found: dict[str, Case] = {}
    refusals: dict[str, list[ParameterError]] = {}
    for number in range(TRIES * wishes.cases + 100):
        if len(found) == wishes.cases:
            return list(found.values()), None
        try:
            case = draw_case(plan, wishes, number)
        except ParameterError as error:
            refusals.setdefault(error.field, []).append(error)
            continue
        if case.id in taken or case.id in found:
            refusals.setdefault("random", []).append(ParameterError("random", f"{case.id} is there already"))
        else:
            found[case.id] = case
    commonest = max(refusals.values(), key=len, default=[None])
    return list(found.values()), None if len(found) == wishes.cases else commonest[-1]


def draw_on(plans: Sequence[CasePlan]) -> Iterator[Case]:
    """Yield case after case of random entries, by turns and without end; what has no meaning is passed over.

    It ends where nothing came of BARREN draws in a row.
    """
    barren = 0
    for number in itertools.count():
        for plan in plans:
            try:
                case = draw_case(plan, plan.wishes or Wishes(1), number)
            except ParameterError:
                barren += 1
                continue
            barren = 0
            yield case
        if barren > BARREN:
            return


def draw_case(plan: CasePlan, wishes: Wishes, number: int) -> Case:
    """Return case `number` (from 0) of a random entry: the same for the same seed, whatever else the suite holds.

    ParameterError, with the reason, where this number gives none.
    """
    operator = find_operator(plan.operator)
    numbers = Numbers(f"gpubench random cases {GENERATOR}/{wishes.seed}/{plan.operator}/{number}")
    chosen: dict[str, Any] = {}
    for axis in plan.axes:
        step = numbers.of(f"key {axis.names[0]}").choice(axis.steps)
        chosen |= {name: option.value for name, option in zip(axis.names, step, strict=True)}
    params = operator.draw(numbers, wishes, _given(plan, chosen))
    if params is None:
        raise ParameterError("operator", f"the cases of {plan.operator} cannot be drawn: its class has no `draw`")
    drawn = dataclasses.replace(plan, parameters=frozenset(params))
    case = make_case(drawn, {**{name: chosen[name] for name in chosen.keys() - plan.parameters}, **params})
    try:
        memory = sum(_bytes(operand) for operand in operator.problem(case).operands)
    except UnsupportedError as error:
        raise ParameterError("dtype", str(error)) from None
    if memory > wishes.memory:
        raise ParameterError("memory", f"{case.id} takes {memory:,} bytes; the limit is {wishes.memory:,}")
    return case


def _given(plan: CasePlan, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the operator's own values, variables put in; `transposed` waits for the shape that is drawn."""
    own = {name: value for name, value in chosen.items() if name in plan.parameters}
    late = {name: value for name, value in own.items() if value == "transposed" and "shape" not in own}
    scope = Scope({name: chosen[name] for name in plan.variables})
    known = {name: value for name, value in own.items() if name not in late}
    return {**resolve_fields(find_operator(plan.operator).params, known, scope), **late}
