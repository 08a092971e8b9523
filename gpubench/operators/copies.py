"""Copies of x by the kernels of elementwise: into y's order, and y's dtype where the sums are the elements."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from gpubench.model import Accuracy, Case, DeviceInfo, Launch, Memset, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.parameters import to_json

if TYPE_CHECKING:
    from gpubench import dtypes


def copy_plan(problem: Problem[Any], dtype: str, device: DeviceInfo) -> Plan | Refused:
    """Return the plan of elementwise's copy of x, named a there, to a contiguous y of a dtype."""
    from gpubench.operators.elementwise.operator import ElementwiseOperator
    from gpubench.operators.elementwise.params import ElementwiseParams

    operator, x = ElementwiseOperator(), problem.operand("x").dtype
    params = ElementwiseParams(
        "copy", problem.params.shape, problem.params.layout, out_dtype=cast("dtypes.Name", dtype)
    )
    normal = to_json(operator.normalise(params, x))
    return operator.choose(operator.problem(Case("copy", operator.name, x, normal)), device)


def as_copy(name: str, problem: Problem[Any], accuracy: Accuracy, device: DeviceInfo) -> Plan | Refused:
    """Return the plan of a variant whose sums are the elements of x themselves: the copy of x to y."""
    copy = copy_plan(problem, problem.operand("y").dtype, device)
    if isinstance(copy, Refused):
        return copy
    steps = tuple(in_places(step, {"a": Pointer("x")}, 0) for step in copy.steps)
    notes = {"copy": copy.variant, **copy.notes}
    return dataclasses.replace(copy, variant=name, steps=steps, accuracy=accuracy, notes=notes)


def in_places(step: Launch | Memset, places: dict[str, Pointer | Workspace], room: int) -> Launch | Memset:
    """Return a step whose operands lie in other places, and whose workspace begins behind `room` bytes."""
    if isinstance(step, Memset):
        return dataclasses.replace(step, target=_moved(step.target, places, room))
    return dataclasses.replace(step, arguments=tuple(_moved(argument, places, room) for argument in step.arguments))


def _moved(argument: Any, places: dict[str, Pointer | Workspace], room: int) -> Any:
    if isinstance(argument, Workspace):
        return Workspace(room + argument.byte_offset)
    if isinstance(argument, Pointer) and argument.operand in places:
        place = places[argument.operand]
        return dataclasses.replace(place, byte_offset=argument.byte_offset)
    return argument
