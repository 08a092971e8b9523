"""From a kernel of the user's own and a problem to a plan: the same data as a variant of ours gives."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from gpubench import dtypes
from gpubench.errors import CompileError
from gpubench.model import (
    Accuracy,
    DeviceInfo,
    Foreign,
    Launch,
    Memset,
    Plan,
    Pointer,
    Problem,
    Refused,
    Workspace,
)
from gpubench.operators.base import Operator
from gpubench.operators.sizes import DEVICE, GENERAL, operand_names, values
from gpubench.own.arguments import WORKSPACE, Written, checks, read_argument
from gpubench.own.definitions import Kernel, Step
from gpubench.own.expression import Expression, ExpressionError, Value, read
from gpubench.own.words import C_TYPES, filled

LARGEST_GRID = (2**31 - 1, 65535, 65535)
_INSTANCE = re.compile(r"[A-Za-z_][\w:]*(?:<[\w:<>, ]*>)?")


def known_names(operator: Operator[Any], constants: Collection[str] = ()) -> frozenset[str]:
    """Return every name that an expression of a kernel may use: sizes, words, the device's figures, constants."""
    operands = (name for operand in operator.operands for name in operand_names(operand))
    words = (*dtypes.NAMES, *operator.words)
    return frozenset((*GENERAL, *operator.sizes, *DEVICE, *operands, *words, *constants))


def plan(
    kernel: Kernel, operator: Operator[Any], problem: Problem[Any], device: DeviceInfo, folder: str
) -> Plan | Refused:
    """Return the steps of a kernel for a problem, or why its `when` does not take it. `folder` holds its files.

    CompileError, in one line, for what the suite says that cannot be: no variant of ours can fail so.
    """
    names = names_of(kernel, operator, problem, device)
    if refused := refusal_of(kernel, operator, problem, names):
        return refused
    is_empty = all(operand.view.size == 0 for operand in problem.operands if operand.role != "in")
    try:
        steps = () if is_empty else tuple(_Steps(kernel, problem, names, folder).step(step) for step in kernel.steps)
        workspace = _read(kernel.workspace_bytes, names).whole(names)
        return Plan(
            kernel.name,
            steps,
            accuracy(kernel, operator, problem, names),
            workspace,
            kernel.workspace_zeroed,
            {"file": kernel.file, "constants": dict(kernel.constants)},
        )
    except ExpressionError as error:
        raise CompileError(f"{kernel.name}: {error}") from error


def names_of(kernel: Kernel, operator: Operator[Any], problem: Problem[Any], device: DeviceInfo) -> dict[str, Value]:
    """Return every name's value for a problem on a device, the kernel's constants with them."""
    return {**names_of_problem(operator, problem, device), **kernel.constants}


def names_of_problem(operator: Operator[Any], problem: Problem[Any], device: DeviceInfo) -> dict[str, Value]:
    """Return the value of every name of a problem and a device."""
    words = {word: word for word in (*dtypes.NAMES, *operator.words)}
    return {**words, **values(operator.sizes, problem, device)}


def refusal_of(
    kernel: Kernel, operator: Operator[Any], problem: Problem[Any], names: Mapping[str, Value]
) -> Refused | None:
    """Return why a kernel does not take a problem, None when it does. CompileError for a condition without a value."""
    views = [operand.view for operand in problem.operands]
    if kernel.layouts == "contiguous" and not all(view.is_contiguous for view in views):
        return Refused(f"{kernel.name} takes contiguous operands only (say `layouts: any` where it takes others)")
    try:
        taken = _read(kernel.when, names).value(names)
    except ExpressionError as error:
        raise CompileError(f"{kernel.name}: when: {error}") from error
    if not taken:
        return Refused(f"{kernel.name} takes cases only when {kernel.when}")
    wanted = {text for step in kernel.steps for text in (*step.arguments, step.memset)}
    absent = sorted(wanted & {*operator.operands} - {operand.name for operand in problem.operands})
    return Refused(f"this case has no operand {absent[0]}, which {kernel.name} takes") if absent else None


def accuracy(kernel: Kernel, operator: Operator[Any], problem: Problem[Any], names: Mapping[str, Value]) -> Accuracy:
    """Return the accuracy that a kernel states, or that of sums one after the other. ExpressionError."""
    stated = kernel.accuracy
    if stated is None:
        return operator.accuracy(problem)
    return Accuracy(max(_read(stated.additions, names).whole(names), 1), stated.accumulator, stated.growth)


def _read(text: str, names: Collection[str]) -> Expression:
    return read(text, names)


class _Steps:
    """Works out the steps of one kernel for one problem."""

    def __init__(self, kernel: Kernel, problem: Problem[Any], names: Mapping[str, Value], folder: str) -> None:
        self._kernel = kernel
        self._names = names
        self._folder = folder
        self._operands = {operand.name: operand for operand in problem.operands}

    def step(self, step: Step) -> Launch | Memset:
        """Return one step."""
        if step.memset:
            return self._memset(step)
        entry = instance(step.entry, self._names, {name: operand.dtype for name, operand in self._operands.items()})
        written = [self._argument(text) for text in step.arguments]
        is_source = self._kernel.form == "source"
        options = tuple(filled(option, lambda inner: str(self._whole(inner))) for option in self._kernel.options)
        foreign = Foreign(
            self._folder,
            options,
            checks(entry, written, self._operands) if is_source else "",
            tuple(argument.text for argument in written),
        )
        return Launch(
            self._kernel.file,
            entry,
            self._extent("grid", step.grid, LARGEST_GRID),
            self._extent("block", step.block, (1024, 1024, 64)),
            tuple(argument.packed(self._names) for argument in written),
            self._whole(step.shared_bytes),
            step.waits_for_blocks,
            foreign,
        )

    def _memset(self, step: Step) -> Memset:
        target = Workspace() if step.memset == WORKSPACE else Pointer(step.memset)
        return Memset(target, self._whole(step.bytes), step.value)

    def _argument(self, text: str) -> Written:
        return read_argument(text, self._operands, self._names)

    def _extent(self, what: str, texts: tuple[str, ...], most: tuple[int, ...]) -> tuple[int, int, int]:
        numbers = [self._whole(text) for text in texts] + [1] * (3 - len(texts))
        for number, limit, text in zip(numbers, most, (*texts, "1", "1"), strict=False):
            if not 1 <= number <= limit:
                raise ExpressionError(f"{what}: {text} is {number}; a GPU takes 1 to {limit}")
        return numbers[0], numbers[1], numbers[2]

    def _whole(self, text: str) -> int:
        return _read(text, self._names).whole(self._names)


def instance(entry: str, names: Mapping[str, Value], operands: Mapping[str, str]) -> str:
    """Return a name expression with its braces filled: {T} and {T_x} by C types, others by numbers. ExpressionError."""

    def value(inner: str) -> str:
        if inner == "T":
            return C_TYPES[str(names["dtype"])]
        if inner.startswith("T_") and inner[2:] in operands:
            return C_TYPES[operands[inner[2:]]]
        return str(read(inner, names).value(names))

    done = filled(entry, value)
    if _INSTANCE.fullmatch(done) is None:
        raise ExpressionError(f"entry: {done!r} is no kernel's name; write name, or name<{{T}}, 4>")
    return done
