from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from gpubench.devices import host_compiler
from gpubench.devices.host import HostDevice
from gpubench.devices.host_options import parse_options, parse_schedule
from gpubench.engine.buffers import Operands, Pristine
from gpubench.errors import GpubenchError
from gpubench.measure.check import check
from gpubench.model import Case, Plan, Problem
from gpubench.operators import OPERATORS
from gpubench.operators.base import Variant
from gpubench.operators.hard import hard_cases

FULL = bool(os.environ.get("GPUBENCH_FULL_MATRIX"))
"""Set it to run every case in every dtype under every schedule; without it a seed draws some, see `_some`."""

SCHEDULES = ("forward", "reverse", *(f"random:{seed}" for seed in range(1, 9)))
PAIRS = [(name, variant.name) for name, operator in OPERATORS.items() for variant in operator.variants]
Work = tuple[Case, Problem[Any], Plan]

DTYPES_A_CASE = 2
"""In so many dtypes a variant meets each hard case, under another order of threads in each."""

MANY_KERNELS = 100
"""A variant with more kernels than this has nearly one a case: it meets each case in one dtype."""

FAST_DTYPES = 2
"""In so many dtypes a variant is tried as `run` builds it."""


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


def _some(works: list[Work], choose: random.Random) -> list[Work]:
    """Return some works of each hard case, drawn by the seed, so that none of the variant's dtypes is left out."""
    kernels = {launch.kernel for _, _, plan in works for launch in plan.launches}
    count = 1 if len(kernels) > MANY_KERNELS else DTYPES_A_CASE
    by_case: dict[int, list[Work]] = {}
    for work in works:
        by_case.setdefault(work[0].seed, []).append(work)
    some = [work for found in by_case.values() for work in choose.sample(found, min(count, len(found)))]
    met = {work[0].dtype for work in some}
    by_dtype: dict[str, list[Work]] = {}
    for work in works:
        by_dtype.setdefault(work[0].dtype, []).append(work)
    return some + [choose.choice(found) for dtype, found in by_dtype.items() if dtype not in met]


def _orders(works: list[Work], choose: random.Random) -> list[tuple[str, ...]]:
    """Return the schedules of each work: another one for each work of a case."""
    if FULL:
        return [SCHEDULES] * len(works)
    left: dict[int, Iterator[str]] = {}
    orders: list[tuple[str, ...]] = []
    for work in works:
        if work[0].seed not in left:
            left[work[0].seed] = cycle(choose.sample(SCHEDULES, len(SCHEDULES)))
        orders.append((next(left[work[0].seed]),))
    return orders


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


@pytest.fixture
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile checked kernels as they stand: these are many and small, and the optimiser takes most of the time.

    Without it no access is left out either. `check` and other tests build as everybody does.
    """
    monkeypatch.setitem(host_compiler.FLAGS, "checked", ("-O0", *host_compiler.FLAGS["checked"][1:]))


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize(("operator", "name"), PAIRS, ids=str)
def test_every_variant_is_right_in_every_dtype_and_hard_shape(operator: str, name: str) -> None:
    """With every access checked, a variant is right in each hard case that it takes, under several orders of threads.

    Each of its dtypes is met, and each case in some of them; GPUBENCH_FULL_MATRIX takes all.
    """
    variant = next(variant for variant in OPERATORS[operator].variants if variant.name == name)
    device = HostDevice(parse_options("build=checked,workers=1"))
    choose = random.Random(f"{operator} {name}")
    works = _plans(operator, variant, device)
    assert works, "the variant takes none of the cases"
    works = works if FULL else _some(works, choose)
    device.compile([launch for _, _, plan in works for launch in plan.launches])
    failures: list[str] = []
    for work, schedules in zip(works, _orders(works, choose), strict=True):
        failures += _failures(device, work, schedules)
    assert not failures, "\n".join([f"{len(failures)} failures:", *failures[:10]])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("operator", "name"), PAIRS, ids=str)
def test_fast_builds_are_right_too(operator: str, name: str) -> None:
    """What `run` uses on the host, with the compiler's optimiser at work: a case in each of a few dtypes, by a seed."""
    variant = next(variant for variant in OPERATORS[operator].variants if variant.name == name)
    device = HostDevice(parse_options("build=fast,workers=1"))
    choose = random.Random(f"fast {operator} {name}")
    by_dtype: dict[str, list[Work]] = {}
    for work in _plans(operator, variant, device):
        by_dtype.setdefault(work[0].dtype, []).append(work)
    dtypes = list(by_dtype) if FULL else choose.sample(list(by_dtype), min(FAST_DTYPES, len(by_dtype)))
    works = [choose.choice(by_dtype[dtype]) for dtype in dtypes]
    device.compile([launch for _, _, plan in works for launch in plan.launches])
    failures = [line for work in works for line in _failures(device, work, ("forward",))]
    assert not failures, "\n".join([f"{len(failures)} failures:", *failures[:10]])


def test_every_operator_has_hard_cases() -> None:
    """No operator's cases are empty for one of its dtypes."""
    for operator in OPERATORS.values():
        for dtype in operator.dtypes:
            assert len(hard_cases(operator, dtype)) >= 10, (operator.name, dtype)
