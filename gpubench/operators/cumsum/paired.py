"""Two columns side by side are one row of complex numbers: real and imaginary parts add up by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench.layout import View
from gpubench.model import Accuracy, DeviceInfo, Operand, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.cumsum.geometry import columns_of
from gpubench.operators.cumsum.params import CumsumParams
from gpubench.operators.cumsum.regimes import candidates
from gpubench.operators.geometry.columns import Columns

PAIRS = {"float32": "complex64", "float64": "complex128"}


class PairedColumns:
    """Pairs of columns, handed to the variants for rows."""

    name: str = "paired_columns"
    summary: str = "two columns: as rows of complex numbers"
    origin: str = "complex addition is that of its parts; float32 and float64, two contiguous columns"

    def __init__(self, among: Sequence[Variant]) -> None:
        """Take the variants that rows may be handed to; the naive one is among them."""
        self._by_name = {variant.name: variant for variant in among}

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Plan the rows, with the bound of real additions. Takes real columns that start on a pair."""
        columns = columns_of(problem)
        if columns is None or columns.inner != 2 or not columns.contiguous:
            return Refused("takes only two contiguous columns")
        if problem.operand("x").dtype not in PAIRS:
            return Refused("takes only float32 and float64")
        if problem.operand("x").view.offset % 2 or columns.outer_pitch % 2:
            return Refused("the pairs are not aligned to their size")
        rows = as_rows(problem, columns)
        names = (*candidates(rows, device), "naive")
        plan = first_plan((self._by_name[name] for name in names), rows, device)
        if isinstance(plan, Refused):
            return plan
        bound = Accuracy(plan.accuracy.additions, problem.operand("y").dtype, plan.accuracy.growth)
        return dataclasses.replace(plan, variant=self.name, accuracy=bound, notes={"rows": plan.variant, **plan.notes})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the variants for rows."""
        del dtype
        return ()


def as_rows(problem: Problem[Any], columns: Columns) -> Problem[Any]:
    """Return the same memory as rows of complex numbers."""
    shape = (columns.outer, columns.length)
    x, y = problem.operand("x"), problem.operand("y")
    pitch = columns.outer_pitch // 2

    def complex_view(view: View, outer: int) -> View:
        return View(shape, (outer, 1), view.offset // 2, -(-view.storage // 2))

    operands = (
        Operand("x", "in", PAIRS[x.dtype], complex_view(x.view, pitch)),
        Operand("y", "out", PAIRS[y.dtype], complex_view(y.view, columns.length)),
    )
    params = CumsumParams(shape, 1)
    return dataclasses.replace(problem, params=params, operands=operands)
