"""One run of a variant on the GPU outside the engine: no timing, only the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.model import Case, Check, Refused
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant

if TYPE_CHECKING:
    from gpubench.devices.base import Device


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
