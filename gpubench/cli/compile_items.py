"""What `gpubench compile` compiles: every instance of the variants, or just what the cases of suites launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpubench.errors import CompileError, UnsupportedError
from gpubench.names import AUTO, is_ours, is_own, variant_of

if TYPE_CHECKING:
    from gpubench.kernels import Request
    from gpubench.model import Case, DeviceInfo, Launch, Plan, Problem, Refused
    from gpubench.operators.base import Operator
    from gpubench.own.registry import Staged


@dataclass(frozen=True, slots=True)
class Item:
    """One instance, with where it came from. `launch`: of a kernel that a suite brings; `failed`: why there is none."""

    operator: str
    variant: str
    dtype: str
    request: Request
    launch: Launch | None = None
    failed: str = ""


def of_variants(architectures: Sequence[str]) -> Iterator[Item]:
    """Yield every instance that a variant can launch on devices of these architectures."""
    from gpubench.kernels import Request
    from gpubench.operators import OPERATORS
    from gpubench.operators.architectures import device_of, reachable

    for name, operator in OPERATORS.items():
        for variant in operator.variants:
            for dtype in operator.dtypes:
                for arch in dict.fromkeys(architectures):
                    for source, kernel in dict.fromkeys(reachable(variant, dtype, device_of(arch))):
                        yield Item(name, variant.name, dtype, Request(source, kernel, arch))


def of_cases(cases: Sequence[Case], staged: Sequence[Staged], devices: Sequence[DeviceInfo]) -> list[Item]:
    """Return the instances that these cases launch on these devices, each once: ours, and the kernels that were staged.

    Cases that a contender does not take, libraries, and functions launch nothing that could be compiled ahead.
    """
    from gpubench.operators import operator as find

    found: dict[Item, None] = {}
    for case in cases:
        operator = find(case.operator)
        try:
            problem = operator.problem(case)
        except UnsupportedError:
            continue
        for contender in case.contenders:
            for device in devices:
                found.update(dict.fromkeys(_launched(contender, operator, problem, device, staged)))
    return list(found)


def _launched(
    contender: str, operator: Operator[Any], problem: Problem[Any], device: DeviceInfo, staged: Sequence[Staged]
) -> Iterator[Item]:
    from gpubench.kernels import Request
    from gpubench.model import Plan, Value

    try:
        plan = _plan(contender, operator, problem, device, staged)
    except CompileError as error:
        yield Item(operator.name, contender, problem.case.dtype, Request("", "", device.arch), failed=str(error))
        return
    for launch in plan.launches if isinstance(plan, Plan) else ():
        request = Request.of(launch, device)
        if launch.foreign is None:
            assert isinstance(plan, Plan)
            yield Item(operator.name, plan.variant, problem.case.dtype, request)
        else:
            sizes = tuple(
                Value(bytes(len(argument.data))) if isinstance(argument, Value) else argument
                for argument in launch.arguments
            )
            # what changes no machine code is left out: equal ones are one
            same = replace(launch, grid=(1, 1, 1), block=(1, 1, 1), shared_bytes=0, arguments=sizes)
            yield Item(operator.name, contender, problem.case.dtype, request, same)


def _plan(
    contender: str, operator: Operator[Any], problem: Problem[Any], device: DeviceInfo, staged: Sequence[Staged]
) -> Plan | Refused | None:
    """Return a contender's plan, None for one that has none. CompileError for a kernel of the user's that cannot be."""
    from gpubench.own.definitions import DEVICE_CODE
    from gpubench.own.plan import plan

    if contender == AUTO:
        return operator.choose(problem, device)
    if is_ours(contender):
        variant = next((known for known in operator.variants if known.name == variant_of(contender)), None)
        return None if variant is None else variant.plan(problem, device)
    for suite in staged if is_own(contender) else ():
        kernel = suite.brought.kernel(contender)
        if kernel is not None and kernel.form in DEVICE_CODE and kernel.operator == operator.name:
            return plan(kernel, operator, problem, device, suite.folder)
    return None


def devices_of(architectures: Sequence[str], here: DeviceInfo | None) -> list[DeviceInfo]:
    """Return a device to plan for of each architecture: the GPU here where it is one, else an assumed one. Without any
    named: the GPU here, or the assumed one.
    """
    from gpubench.operators.architectures import device_of
    from gpubench.suite.explain import ASSUMED

    if not architectures:
        return [here or ASSUMED]
    found = []
    for arch in dict.fromkeys(architectures):
        if here is not None and here.arch == arch:
            found.append(here)
            continue
        number = divmod(int(arch.removeprefix("sm_")), 10)
        kind = device_of(arch) or replace(ASSUMED, name=arch, compute_capability=number)
        found.append(replace(kind, sm_count=ASSUMED.sm_count, l2_bytes=ASSUMED.l2_bytes, memory_bytes=2**40))
    return found


def left_to_run(cases: Sequence[Case], staged: Sequence[Staged]) -> list[str]:
    """Return the contenders of these cases that are functions: whatever they need is compiled when they first run."""
    from gpubench.own.definitions import DEVICE_CODE

    wanted = {name for case in cases for name in case.contenders}
    kernels = (kernel for suite in staged for kernel in suite.brought.kernels)
    return [
        f"{kernel.contender} ({kernel.file})"
        for kernel in kernels
        if kernel.form not in DEVICE_CODE and kernel.contender in wanted
    ]
