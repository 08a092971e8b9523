"""The operators: their mathematics, references and variants. `OPERATORS` is the table that everything else looks into.

Importing this package loads neither numpy nor any GPU library; the methods that need numpy import it when called.
"""

from __future__ import annotations

import difflib
from typing import Any

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


def operator(name: str) -> Operator[Any]:
    """Return the operator called `name`; UsageError, with the nearest name, when there is none."""
    found = OPERATORS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, OPERATORS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no operator {name!r}; there are {', '.join(OPERATORS)}.{hint}")
    return found
