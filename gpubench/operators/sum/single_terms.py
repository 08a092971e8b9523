"""Sums of one term each: the terms themselves, so elementwise's copy does it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench.model import Accuracy, DeviceInfo, Plan, Pointer, Problem, Refused
from gpubench.operators.copies import copy_plan, in_places
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
        copy = copy_plan(problem, problem.operand("y").dtype, device)
        if isinstance(copy, Refused):
            return copy
        steps = tuple(in_places(step, {"a": Pointer("x")}, 0) for step in copy.steps)
        accuracy = Accuracy(1, fast.accumulator(problem.case.dtype))
        notes = {"copy": copy.variant, **copy.notes}
        return dataclasses.replace(copy, variant=self.name, steps=steps, accuracy=accuracy, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """None of its own: those of the copy."""
        del dtype
        return ()
