"""One run of a variant on the GPU outside the engine: no timing, only the answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpubench.engine.buffers import Operands, Pristine
from gpubench.kernels.compiler import Request, compile_many
from gpubench.measure.check import check
from gpubench.model import Case, Check, Plan, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant

if TYPE_CHECKING:
    from gpubench.devices.base import Device


def compile_for(device: Device, works: Iterable[tuple[Case, Variant]]) -> None:
    """Compile what variants need for cases, side by side, into the cache on disk."""
    major, minor = device.info.compute_capability
    plans = (variant.plan(OPERATORS[case.operator].problem(case), device.info) for case, variant in works)
    launches = {(launch.source, launch.kernel) for plan in plans if isinstance(plan, Plan) for launch in plan.launches}
    compile_many([Request(*pair, f"sm_{major}{minor}") for pair in sorted(launches)], os.cpu_count() or 1)


def answer(device: Device, case: Case, variant: Variant) -> Check | str:
    """Run a variant once on a case and check what it wrote; the reason when it does not take the case."""
    operator = OPERATORS[case.operator]
    problem = operator.problem(case)
    plan = variant.plan(problem, device.info)
    if isinstance(plan, Refused):
        return plan.reason
    inputs = operator.inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=False)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    device.bind(plan, operands.addresses, operands.workspace).run()
    device.synchronize()
    return check(problem, operator.reference(problem, inputs), plan.accuracy, operands.output())
