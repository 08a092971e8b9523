"""Lines of one element: their sums are the elements, so elementwise's copy does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.copies import as_copy
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
        return as_copy(self.name, problem, bound(problem, 1), device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the copy."""
        del dtype
        return ()
