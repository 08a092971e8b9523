"""Names of the fast kernels' instances, and what all of them take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import Launch, Plan, Pointer, Problem, Value
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.merged import Merged
from gpubench.operators.elementwise.params import ElementwiseParams, OperandSpec
from gpubench.operators.elementwise.promotion import accuracy, is_rough, operand_dtypes, result_dtype, work_dtype

SPACE = "gpubench::elementwise"
ROUGH = "gpubench::Rough"
"""The type of the work where the hardware's approximations are close enough."""

PROBES = ("copy", "exp", "add", "addcmul", "where")
"""The functions whose instances are compiled ahead: each arity, each kind of operand, and a costly one. The functors
themselves are compiled in full by the naive kernel's instances."""


def instance(kernel: str, function: str, types: Sequence[str], numbers: Sequence[object], lies: Sequence[str]) -> str:
    """Return a name expression. types: the type of the work, dtypes of y and of each operand; lies: one an operand."""
    work, y, *inputs = (ROUGH if name == ROUGH else dtypes.dtype(name).cpp for name in types)
    operands = [f"{SPACE}::In<{cpp}, {SPACE}::{lie}>" for cpp, lie in zip(inputs, lies, strict=True)]
    arguments = [f"gpubench::functions::{function}", work, y, *(_spelt(number) for number in numbers), *operands]
    return f"{SPACE}::{kernel}<{', '.join(arguments)}>"


def _spelt(argument: object) -> str:
    """Return a template argument in C++: names stay as they are."""
    return str(argument).lower() if isinstance(argument, bool) else str(argument)


def types_of(params: ElementwiseParams, dtype: str) -> tuple[str, ...]:
    """Return the type of the work, and the dtypes of y and of each operand."""
    work = ROUGH if is_rough(params, dtype) else work_dtype(params, dtype)
    return (work, result_dtype(params, dtype), *operand_dtypes(params, dtype))


def probes(dtype: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the functions to compile ahead, with the types of operands that all have this dtype."""
    kind = dtypes.dtype(dtype).kind
    return [
        (name, types_of(ElementwiseParams(name, inputs=(OperandSpec(()),) * FUNCTIONS[name].arity), dtype))
        for name in PROBES
        if kind in FUNCTIONS[name].kinds
    ]


def plan(
    variant: str,
    problem: Problem[Any],
    shape: Merged,
    launch: tuple[str, str, int, int],
    arguments: Sequence[Value],
    shared_bytes: int = 0,
    **notes: Any,
) -> Plan:
    """Return the plan of one launch. launch: source, kernel, blocks, threads; arguments: behind y and the operands."""
    source, kernel, blocks, threads = launch
    step = Launch(
        source,
        kernel,
        (blocks, 1, 1),
        (threads, 1, 1),
        (
            Pointer("y"),
            *(Pointer(operand.name) for operand in shape.inputs),
            *arguments,
        ),
        shared_bytes,
    )
    params, dtype = problem.params, problem.case.dtype
    bound = accuracy(params, dtype, is_rough(params, dtype))
    return Plan(variant, (step,), bound, notes=notes)


def extents(shape: Merged) -> list[int]:
    """Return three extents, for a struct."""
    return [*(operand.extent for operand in shape.inputs), *[0] * (3 - len(shape.inputs))]
