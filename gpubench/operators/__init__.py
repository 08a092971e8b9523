"""The operators: their mathematics, references and variants. `OPERATORS` is the table that everything else looks into.

Importing this package loads neither numpy nor any GPU library; the methods that need numpy import it when called.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from gpubench import plugins
from gpubench.errors import UsageError
from gpubench.operators.base import Operator
from gpubench.operators.cumsum.operator import CumsumOperator
from gpubench.operators.elementwise.operator import ElementwiseOperator
from gpubench.operators.index_add.operator import IndexAddOperator
from gpubench.operators.sum.operator import SumOperator

OPERATORS: dict[str, Operator[Any]] = {
    "cumsum": CumsumOperator(),
    "sum": SumOperator(),
    "elementwise": ElementwiseOperator(),
    "index_add": IndexAddOperator(),
}


_BROUGHT: dict[str, Operator[Any]] = {}
"""Operators of the user's own, by name: what a suite declares or a caller registers, in place of what was there."""


def bring(operators: Mapping[str, Operator[Any]]) -> None:
    """Let `operator` find these too, from now on in this process. UsageError for the name of one of ours."""
    for name in operators:
        if name in OPERATORS:
            raise UsageError(f"The name {name} is taken by an operator of gpubench; choose another.")
    _BROUGHT.update(operators)


def known(names: Iterable[object] = ()) -> dict[str, Operator[Any]]:
    """Return ours, those brought to this process, and of those that installed packages have the ones of these names."""
    for name in names:
        if isinstance(name, str) and name not in {**_BROUGHT, **OPERATORS} and name in plugins.named(plugins.OPERATORS):
            found = plugins.load(plugins.OPERATORS, name)
            bring({name: found() if isinstance(found, type) else found})
    return {**_BROUGHT, **OPERATORS}


def operator(name: str) -> Operator[Any]:
    """Return the operator called `name`; UsageError, with the nearest name, when there is none."""
    there = known((name,))
    if name not in there:
        near = difflib.get_close_matches(name, there, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no operator {name!r}; there are {', '.join(there)}.{hint}")
    return there[name]
