"""Choosing between variants: the first that takes a problem, and variants that stand for others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gpubench.model import Plan, Refused

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Problem
    from gpubench.operators.variant import Variant


def first_plan(variants: Iterable[Variant], problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant that takes the problem; the last one's refusal when none does."""
    answer: Plan | Refused = Refused("there is no variant")
    for variant in variants:
        answer = variant.plan(problem, device)
        if isinstance(answer, Plan):
            break
    return answer


@dataclasses.dataclass(eq=False, slots=True)
class Dispatch:
    """A variant that stands for others: `choose` picks one of `among` by the problem, and its plan is taken over."""

    name: str
    summary: str
    origin: str
    among: tuple[Variant, ...]
    choose: Callable[[Problem[Any]], Variant]

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the chosen variant's answer under this name; `notes` names that variant."""
        variant = self.choose(problem)
        answer = variant.plan(problem, device)
        if isinstance(answer, Refused):
            return answer
        return dataclasses.replace(answer, variant=self.name, notes={"chosen": variant.name, **answer.notes})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return those of the others."""
        return [instance for variant in self.among for instance in variant.instances(dtype)]
