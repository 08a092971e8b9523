"""x in another order than y: copied into y's order first, and then summed as one that lies there."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.layout import view
from gpubench.model import DeviceInfo, Operand, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.copies import copy_plan, in_places
from gpubench.operators.cumsum.params import CumsumParams
from gpubench.operators.cumsum.regimes import candidates, leftovers
from gpubench.operators.geometry.rounding import ceil_div

ALIGNMENT = 256
"""Bytes on which what follows the copy in the workspace begins, as the workspace does."""


class CopiedFirst:
    """Lines in an order that no other variant walks well: by way of a copy of x in the workspace."""

    name: str = "copied_first"
    summary: str = "x in another order than y: copied into that order, then summed by the variants for it"
    origin: str = "elementwise's copy, then whatever suits contiguous operands; x is moved twice"

    def __init__(self, among: Sequence[Variant]) -> None:
        """Take the variants that the copy may be handed to; the naive one is among them."""
        self._by_name = {variant.name: variant for variant in among}

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Plan the copy and the sums. Takes an x that is not contiguous, with elements."""
        x = problem.operand("x")
        if x.view.size == 0 or x.view.is_contiguous:
            return Refused("takes only operands whose dims lie in another order in x than in y")
        copy = copy_plan(problem, x.dtype, device)
        if isinstance(copy, Refused):
            return copy
        straight = contiguous_problem(problem)
        names = (*candidates(straight, device), *leftovers(straight, device), "naive")
        plan = first_plan((self._by_name[name] for name in names if name in self._by_name), straight, device)
        if isinstance(plan, Refused):
            return plan
        room = ceil_div(x.view.size * dtypes.dtype(x.dtype).itemsize, ALIGNMENT) * ALIGNMENT
        copying = [in_places(step, {"a": Pointer("x"), "y": Workspace()}, 0) for step in copy.steps]
        summing = [in_places(step, {"x": Workspace()}, room) for step in plan.steps]
        return dataclasses.replace(
            plan,
            variant=self.name,
            steps=(*copying, *summing),
            workspace_bytes=room + plan.workspace_bytes,
            notes={"copy": copy.variant, "sums": plan.variant, **plan.notes},
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the copy and of the variants for contiguous operands."""
        del dtype
        return ()


def contiguous_problem(problem: Problem[Any]) -> Problem[Any]:
    """Return the problem with x in row-major order, from its first element on."""
    x, params = problem.operand("x"), problem.params
    operands = (Operand("x", "in", x.dtype, view(params.shape)), problem.operand("y"))
    return dataclasses.replace(problem, params=CumsumParams(params.shape, params.dim), operands=operands)
