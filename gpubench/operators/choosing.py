"""Choosing between variants: the first that takes a problem, and a plan under another variant's name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gpubench.model import Json, Plan, Refused

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem
    from gpubench.operators.base import Variant


def first_plan(variants: Iterable[Variant], problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant that takes the problem; the last one's refusal when none does."""
    answer: Plan | Refused = Refused("there is no variant")
    for variant in variants:
        answer = variant.plan(problem, device)
        if isinstance(answer, Plan):
            break
    return answer


def under_name(name: str, answer: Plan | Refused, **notes: Json) -> Plan | Refused:
    """Return another variant's answer as that of the variant called `name`, with these notes before its own."""
    if isinstance(answer, Refused):
        return answer
    return dataclasses.replace(answer, variant=name, notes={**notes, **answer.notes})
