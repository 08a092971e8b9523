from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import pytest

from gpubench.devices.host import HostDevice, parse_options, parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.errors import GpubenchError
from gpubench.measure.check import check
from gpubench.model import Case, Plan, Problem
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant
from gpubench.operators.hard import hard_cases

FULL = bool(os.environ.get("GPUBENCH_FULL_MATRIX"))
"""Set it to run every case under every schedule; without it each case meets two schedules, drawn by a seed."""

SCHEDULES = ("forward", "reverse", *(f"random:{seed}" for seed in range(1, 9)))
PAIRS = [(name, variant.name) for name, operator in OPERATORS.items() for variant in operator.variants]
Work = tuple[Case, Problem[Any], Plan]

MOST_KERNELS = 250
"""Of a variant with more kernels than this (nearly one a case) a test takes the cases of SOME_KERNELS of them."""
SOME_KERNELS = 60


def _plans(operator: str, variant: Variant, device: HostDevice) -> list[Work]:
    """Return the cases that the variant takes, with their plans."""
    found: list[Work] = []
    for dtype in OPERATORS[operator].dtypes:
        for case in hard_cases(OPERATORS[operator], dtype):
            problem = OPERATORS[operator].problem(case)
            plan = variant.plan(problem, device.info)
            if isinstance(plan, Plan):
                found.append((case, problem, plan))
    return found


def _affordable(works: list[Work], choose: random.Random) -> list[Work]:
    """Return the works, or of so many that compiling takes minutes some, drawn by the seed."""
    kernels = sorted({launch.kernel for _, _, plan in works for launch in plan.launches})
    if FULL or len(kernels) <= MOST_KERNELS:
        return works
    some = set(choose.sample(kernels, SOME_KERNELS))
    return [work for work in works if all(launch.kernel in some for launch in work[2].launches)]


def _failures(device: HostDevice, work: Work, schedules: tuple[str, ...]) -> list[str]:
    """Run one case under several schedules; return what went wrong, in words."""
    case, problem, plan = work
    operator = OPERATORS[case.operator]
    inputs = operator.inputs(problem)
    reference = operator.reference(problem, inputs)
    pristine = Pristine(device, problem, inputs, keep_inputs=True)
    failures = []
    for schedule in schedules:
        device.options = replace(device.options, schedule=parse_schedule(schedule))
        operands = Operands(device, problem, pristine, plan.workspace_bytes, plan.workspace_zeroed)
        try:
            executable = device.bind(plan, operands.addresses, operands.workspace)
            if plan.workspace_zeroed:  # a run must leave it fit for the next one
                executable.run()
                operands.poison()
                operands.restore()
            executable.run()
        except GpubenchError as error:
            failures.append(f"{case.id} [{schedule}]: {error}")
            continue
        verdict = check(problem, reference, plan.accuracy, operands.output())
        if not verdict.ok:
            failures.append(f"{case.id} [{schedule}]: wrong: {verdict.first_mismatch}")
    return failures


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("operator", "name"), PAIRS, ids=str)
def test_every_variant_is_right_in_every_dtype_and_hard_shape(operator: str, name: str) -> None:
    """Under several orders of threads, with every access checked, a variant gives right answers wherever it says so."""
    variant = next(one for one in OPERATORS[operator].variants if one.name == name)
    device = HostDevice(parse_options("build=checked,workers=1"))
    choose = random.Random(f"{operator} {name}")
    works = _affordable(_plans(operator, variant, device), choose)
    assert works, "the variant takes none of the cases"
    device.compile([launch for _, _, plan in works for launch in plan.launches])
    failures: list[str] = []
    for work in works:
        failures += _failures(device, work, SCHEDULES if FULL else tuple(choose.sample(SCHEDULES, 2)))
    assert not failures, "\n".join([f"{len(failures)} failures:", *failures[:10]])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("operator", "name"), PAIRS, ids=str)
def test_fast_builds_are_right_too(operator: str, name: str) -> None:
    """What `run` uses on the host, with the compiler's optimiser at work: two cases of each dtype, drawn by a seed."""
    variant = next(one for one in OPERATORS[operator].variants if one.name == name)
    device = HostDevice(parse_options("build=fast,workers=1"))
    choose = random.Random(f"fast {operator} {name}")
    by_dtype: dict[str, list[Work]] = {}
    for work in _plans(operator, variant, device):
        by_dtype.setdefault(work[0].dtype, []).append(work)
    works = [work for found in by_dtype.values() for work in choose.sample(found, min(2, len(found)))]
    device.compile([launch for _, _, plan in works for launch in plan.launches])
    failures = [line for work in works for line in _failures(device, work, ("forward",))]
    assert not failures, "\n".join([f"{len(failures)} failures:", *failures[:10]])


def test_every_operator_has_hard_cases() -> None:
    """No operator's cases are empty for one of its dtypes."""
    for operator in OPERATORS.values():
        for dtype in operator.dtypes:
            assert len(hard_cases(operator, dtype)) >= 10, (operator.name, dtype)
