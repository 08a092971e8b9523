"""One plan run on the host device: its output, and whether the check takes it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options, parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.model import Check, DeviceInfo, Plan, Problem
from gpubench.operators import OPERATORS

Array = np.ndarray[Any, np.dtype[Any]]


@functools.cache
def host() -> HostDevice:
    """Return the device; every access of a kernel is examined."""
    return HostDevice(parse_options("build=checked,workers=1"))


def one_sm() -> DeviceInfo:
    """Return what is known of the device, as if it had one SM: small cases are cut as large ones are."""
    return dataclasses.replace(host().info, sm_count=1)


def variant(operator: str, name: str) -> Any:
    """Return the variant called so."""
    return next(variant for variant in OPERATORS[operator].variants if variant.name == name)


def outputs(
    problem: Problem[Any], plan: Plan, runs: int, schedule: str = "forward", stale: int | None = None
) -> Iterator[Array]:
    """Run the plan so many times on the problem's own inputs and one workspace; yield what each run wrote.

    stale: what the workspace is full of at first, in place of what the plan asks for. DeviceError for a rule that a
    kernel broke.
    """
    device = host()
    device.options = type(device.options)(parse_schedule(schedule), "checked", 1)
    inputs = OPERATORS[problem.case.operator].inputs(problem)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
    if stale is not None:
        device.fill(operands.workspace, stale)
    run = device.bind(plan, operands.addresses, operands.workspace).run
    for _ in range(runs):
        operands.poison()
        operands.restore()
        run()
        yield operands.output().copy()


def output(problem: Problem[Any], plan: Plan, schedule: str = "forward") -> Array:
    """Run the plan on the problem's own inputs and return what it wrote."""
    return next(outputs(problem, plan, 1, schedule))


def verdict(problem: Problem[Any], plan: Plan, schedule: str = "forward") -> Check:
    """Run the plan and hold its output against the operator's reference."""
    operator = OPERATORS[problem.case.operator]
    reference = operator.reference(problem, operator.inputs(problem))
    return check(problem, reference, plan.accuracy, output(problem, plan, schedule))
