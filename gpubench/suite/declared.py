"""Operators of the user's own, read from what a suite or a caller declares, with every mistake at its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from gpubench.dtypes import NAMES, canonical
from gpubench.errors import ParameterError
from gpubench.operators import OPERATORS
from gpubench.operators.base import Operator
from gpubench.operators.sizes import DEVICE, GENERAL
from gpubench.own.arguments import WORKSPACE
from gpubench.own.definitions import OwnOperand, OwnOperator, Tolerance
from gpubench.own.expression import ExpressionError, read
from gpubench.own.operator import DeclaredOperator
from gpubench.suite.own_schema import OPERATOR_FACTS
from gpubench.suite.read import Document, Path_
from gpubench.suite.schema import common_keys
from gpubench.suite.types import did_you_mean
from gpubench.suite.validate import Checker, note


def declare(facts: Mapping[str, Any]) -> OwnOperator:
    """Return the operator that these facts declare, without its reference: what a suite's YAML would hold.

    ParameterError, for the first fact that is wrong.
    """
    document = Document("")
    note(document, (), Checker(OPERATOR_FACTS).faults(facts))
    found = None if document.mistakes else read_operator(document, (), facts, ())
    if found is None:
        first = document.mistakes[0]
        raise ParameterError(first.path, first.message)
    return found


def declared(operators: Iterable[OwnOperator]) -> dict[str, Operator[Any]]:
    """Return declared operators as operators, by name."""
    return {operator.name: DeclaredOperator(operator) for operator in operators}


def read_operator(
    document: Document, path: Path_, entry: Mapping[str, Any], taken: Collection[str]
) -> OwnOperator | None:
    """Return the operator that a well-formed entry declares; None, with its mistakes in the document, otherwise."""
    before = len(document.mistakes)
    name = entry["name"]
    if name in OPERATORS or name in taken:
        document.add((*path, "name"), f"the name {name} is taken; choose another")
    operands = [
        OwnOperand(each, operand["role"], tuple(map(str, operand["shape"])), canonical(operand.get("dtype", "{dtype}")))
        for each, operand in entry["operands"].items()
    ]
    written = [operand.name for operand in operands if operand.role != "in"]
    if len(written) != 1:
        document.add((*path, "operands"), f"an operator writes one operand (out or inout); found {len(written)}")
    axes = _axes(document, path, operands)
    for key in ("reads", "writes"):
        if key in entry:
            _sizes(document, (*path, key), entry[key], {*axes, *GENERAL})
    file, _, function = entry.get("reference", f":{name}").partition(":")
    tolerance = entry.get("tolerance", {})
    bounds: dict[str, dict[str, float]] = {"rtol": {}, "atol": {}}
    for part, by_dtype in bounds.items():
        for each, value in tolerance.get(part, {}).items():
            by_dtype[canonical(each)] = value
            if canonical(each) not in NAMES:
                message = f"there is no dtype {each}.{did_you_mean(each, NAMES)}"
                document.add((*path, "tolerance", part, each), message, key=True)
    if len(document.mistakes) > before:
        return None
    return OwnOperator(
        name,
        axes,
        tuple(operands),
        file,
        function,
        tuple(map(canonical, entry.get("dtypes", ("float32",)))),
        Tolerance(bounds["rtol"], bounds["atol"]),
        str(entry.get("reads", "")),
        str(entry.get("writes", "")),
    )


def _axes(document: Document, path: Path_, operands: Iterable[OwnOperand]) -> tuple[str, ...]:
    """Return the names in the operands' shapes, in the order in which they come first."""
    names: dict[str, None] = {}
    reserved = {*common_keys(), "operator", "zip", *GENERAL, *DEVICE, *NAMES, WORKSPACE}
    listed = list(operands)
    for operand in listed:
        for at, size in enumerate(operand.shape):
            place = (*path, "operands", operand.name, "shape", at)
            found = sorted(set(re.findall(r"[A-Za-z_]\w*(?!\w*\s*\()", size)), key=size.index)
            for name in found:
                if name in reserved or name in [other.name for other in listed]:
                    document.add(place, f"the name {name} is taken; choose another for the axis")
                names.setdefault(name)
            _sizes(document, place, size, set(found))
    return tuple(names)


def _sizes(document: Document, path: Path_, written: Any, known: Collection[str]) -> None:
    try:
        read(written, known)
    except ExpressionError as error:
        document.add(path, str(error))
