"""Lines of one element: their sums are the elements, so elementwise's copy does it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Pointer, Problem, Refused
from gpubench.operators.copies import copy_plan, in_places
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import line_length


class SingleElements:
    """Lines of one element, in any order."""

    name: str = "single_elements"
    summary: str = "lines of one element: a copy that converts"
    origin: str = "the sum of one element is the element; elementwise's copy"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Plan the copy. Takes an x with elements whose summed dim has one place, or none at all."""
        if problem.operand("x").view.size == 0 or line_length(problem) != 1:
            return Refused("takes only lines of one element")
        copy = copy_plan(problem, problem.operand("y").dtype, device)
        if isinstance(copy, Refused):
            return copy
        steps = tuple(in_places(step, {"a": Pointer("x")}, 0) for step in copy.steps)
        notes = {"copy": copy.variant, **copy.notes}
        return dataclasses.replace(copy, variant=self.name, steps=steps, accuracy=bound(problem, 1), notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the copy."""
        del dtype
        return ()
