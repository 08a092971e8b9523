"""The rule behind `gpubench:auto` for `cumsum`: the shape's regime names the variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench.operators.choosing import first_plan
from gpubench.operators.cumsum.regimes import candidates, leftovers
from gpubench.operators.cumsum.variants import VARIANTS

if TYPE_CHECKING:
    from gpubench.model import DeviceInfo, Plan, Problem, Refused

_BY_NAME = {variant.name: variant for variant in VARIANTS}


def choose(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant that takes the problem: its regime's, what is left for the others, the naive
    one.
    """
    names = (*candidates(problem, device), *leftovers(problem, device), "naive")
    return first_plan((_BY_NAME[name] for name in names), problem, device)
