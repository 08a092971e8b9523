"""Plans of `auto` by whichever gpubench comes first on the path: how studies/two_checkouts.py asks another checkout.

    PYTHONPATH=CHECKOUT python -P studies/plans_of.py

Reads a pickle of cases, a device's figures and constants that are in force from standard input, writes one of plans.
"""

from __future__ import annotations

import pickle
import sys

from gpubench.errors import GpubenchError
from gpubench.model import Case, DeviceInfo, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.constants import in_force


def plan_of(case: Case, device: DeviceInfo) -> Plan | None:
    """Return the plan; None where there is none."""
    operator = OPERATORS[case.operator]
    try:
        plan = operator.choose(operator.problem(case), device)
    except GpubenchError:
        return None
    return plan if isinstance(plan, Plan) else None


def main() -> None:
    """Answer one question."""
    cases, device, constants = pickle.load(sys.stdin.buffer)
    with in_force(constants):
        plans = [plan_of(case, device) for case in cases]
    pickle.dump(plans, sys.stdout.buffer)


if __name__ == "__main__":
    main()
