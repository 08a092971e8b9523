"""Sums of one term each: the terms themselves, so elementwise's copy does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import Accuracy, DeviceInfo, Plan, Problem, Refused
from gpubench.operators.copies import as_copy
from gpubench.operators.sum import fast


class SingleTerms:
    """Outputs of one term, in any layout."""

    name: str = "single_terms"
    summary: str = "sums of one term: a copy that converts"
    origin: str = "the sum of one term is the term; elementwise's copy"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Plan the copy. Refuses sums of several terms, or of none."""
        shape = fast.shape_of(problem)
        if isinstance(shape, Refused):
            return shape
        if shape.terms * shape.multiple != 1:
            return Refused("takes only sums of one term")
        return as_copy(self.name, problem, Accuracy(1, fast.accumulator(problem.case.dtype)), device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the copy."""
        del dtype
        return ()
