"""One case under one variant on the host device: its output, or the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options, parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.model import Case, Check, Plan
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant
from tests.operators.cases import planned

Array = np.ndarray[Any, np.dtype[Any]]


def variant_of(operator: str, name: str) -> Variant:
    """Return a variant by name."""
    return next(variant for variant in OPERATORS[operator].variants if variant.name == name)


def answer(case: Case, variant: str, schedule: str = "forward") -> tuple[Plan, Array, Check]:
    """Return the plan, the output and the verdict; every access of the kernels is checked."""
    operator = OPERATORS[case.operator]
    device = HostDevice(parse_options("build=checked,workers=1"))
    device.options = replace(device.options, schedule=parse_schedule(schedule))
    problem = operator.problem(case)
    one = variant_of(case.operator, variant)
    plan = planned(one, problem, device.info)
    inputs = operator.inputs(problem)
    device.compile(plan.launches)
    operands = Operands(device, problem, Pristine(device, problem, inputs, keep_inputs=True), plan.workspace_bytes)
    device.bind(plan, operands.addresses, operands.workspace).run()
    output = operands.output()
    return plan, np.array(output), check(problem, operator.reference(problem, inputs), plan.accuracy, output)
