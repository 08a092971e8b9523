"""From the name of a contender to something that can be bound to buffers and run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol

from gpubench.engine.buffers import Operands
from gpubench.engine.functions import BroughtFunction, PeerLibrary
from gpubench.engine.planned import given_constants, planned
from gpubench.errors import UnsupportedError
from gpubench.kernels.sources import SECOND_PREFIX
from gpubench.model import Accuracy, Json, KernelResources, Launch, Plan, Problem, Refused
from gpubench.names import SECOND_SUFFIX, is_ours, is_own, split_constants
from gpubench.operators.base import Operator
from gpubench.own.plan import plan as own_plan
from gpubench.own.registry import kernel_of
from gpubench.peers import load
from gpubench.peers.own_function import registered
from gpubench.results.format import plain
from gpubench.tuning.active import active, constants_for
from gpubench.tuning.regimes import regimes_of, with_constants

if TYPE_CHECKING:
    from gpubench.devices.base import Device


class Runner(Protocol):
    """A contender that takes the case: compiled, and ready to be bound to buffers as often as wanted."""

    name: str
    accuracy: Accuracy
    workspace: tuple[int, bool]
    """Size in bytes, and whether it must be zero before the first run."""
    repeatable: bool
    """Whether the same inputs give the same bytes on every device of a model."""

    def compile(self) -> None:
        """Do what can be done without buffers. CompileError."""
        ...

    def another(self) -> Runner:
        """Return a runner of the same work for further buffers, bound beside this one's: itself where it keeps nothing
        of the buffers that it was bound to.
        """
        ...

    def bind(self, operands: Operands) -> Callable[[], None]:
        """Return what enqueues the work once on these buffers."""
        ...

    def collect(self) -> None:
        """After the last run: bring the result into the operand, where it is not there already."""
        ...

    def release(self) -> None:
        """Give back what is kept on the device beside the operands."""
        ...

    def kernel(self) -> dict[str, Json] | None:
        """Return the record's `kernel` block; complete once `bind` was called."""
        ...


def resolve(name: str, operator: Operator[Any], problem: Problem[Any], device: Device) -> Runner:
    """Return the runner of a contender. UnsupportedError with the reason when it does not take the problem."""
    if is_ours(name):
        plan = planned(name, operator, problem, device.info)
        second = name.endswith(SECOND_SUFFIX)
        return OwnKernels(name, _from_second_tree(plan) if second else plan, device)
    function = registered(name)
    if is_own(name) and function is None:
        return _brought(name, operator, problem, device)
    return PeerLibrary(function or load(name), operator, problem, device)


def _brought(name: str, operator: Operator[Any], problem: Problem[Any], device: Device) -> Runner:
    """Return the runner of a kernel that a suite brings. UnsupportedError when it does not take the problem."""
    bare, text = split_constants(name)
    kernel, staged = kernel_of(bare, device.info)
    if kernel.operator != operator.name:
        raise UnsupportedError(f"{name} is a kernel of {kernel.operator}")
    if text is not None:
        constants = given_constants(text, regimes_of(operator, kernel), bare)
    else:
        _, constants = constants_for(operator, problem, device.info, kernel)
    kernel = with_constants(kernel, constants)
    if kernel.form in ("python", "library"):
        return BroughtFunction(name, kernel, staged.folder, operator, problem, device)
    plan = own_plan(kernel, operator, problem, device.info, staged.folder)
    if isinstance(plan, Refused):
        raise UnsupportedError(plan.reason)
    return OwnKernels(name, plan, device)


def _from_second_tree(plan: Plan) -> Plan:
    """Return the plan with its kernels taken from the second cuda_src folder."""
    steps = tuple(
        replace(step, source=SECOND_PREFIX + step.source) if isinstance(step, Launch) else step for step in plan.steps
    )
    return replace(plan, steps=steps)


class OwnKernels:
    """One of our variants, with its plan for the problem."""

    def __init__(self, name: str, plan: Plan, device: Device) -> None:
        self.name = name
        self.accuracy = plan.accuracy
        self.workspace = plan.workspace_bytes, plan.workspace_zeroed
        self.repeatable = plan.repeatable
        self._plan = plan
        self._device = device
        self._resources: tuple[KernelResources, ...] = ()

    def compile(self) -> None:
        """Compile every launch of the plan."""
        self._device.compile(self._plan.launches)

    def another(self) -> OwnKernels:
        """Return itself: each binding stands alone."""
        return self

    def bind(self, operands: Operands) -> Callable[[], None]:
        """Load the kernels and lay out their arguments."""
        executable = self._device.bind(self._plan, operands.addresses, operands.workspace)
        self._resources = executable.resources
        return executable.run

    def collect(self) -> None:
        """Do nothing: kernels write into the operands."""

    def release(self) -> None:
        """Do nothing: the workspace belongs to the operands."""

    def kernel(self) -> dict[str, Json]:
        """Return variant, launches and what the compiler said of them."""
        block = kernel_block(self._plan, self._resources)
        tuning = active().sha256
        return block if tuning is None else {**block, "tuning": tuning}


def kernel_block(plan: Plan, resources: tuple[KernelResources, ...]) -> dict[str, Json]:
    """Return the record's `kernel` block: at the top the figures of the worst launch and one hash for all."""
    launches: list[dict[str, Json]] = []
    for index, launch in enumerate(plan.launches):
        one: dict[str, Json] = {
            "source": launch.source,
            "kernel": launch.kernel,
            "grid": list(launch.grid),
            "block": list(launch.block),
            "dynamic_shared_bytes": launch.shared_bytes,
        }
        if index < len(resources):
            one |= {key: value for key, value in asdict(resources[index]).items() if key != "kernel"}
        launches.append(plain(one))
    occupancies = [kernel.occupancy for kernel in resources if kernel.occupancy is not None]
    return {
        "variant": plan.variant,
        "launches": launches,
        "cubin_sha256": _joined_hash(resources),
        "registers": max((kernel.registers for kernel in resources), default=None),
        "spill_bytes": _spills(resources),
        "shared_bytes": max((kernel.shared_bytes for kernel in resources), default=None),
        "occupancy": min(occupancies, default=None),
        "workspace_bytes": plan.workspace_bytes,
        "notes": plain(plan.notes),
    }


def _spills(resources: tuple[KernelResources, ...]) -> int | None:
    """Return the most bytes that one launch spills; None where a compiler did not tell, or nothing is launched."""
    told = [kernel.spill_bytes for kernel in resources if kernel.spill_bytes is not None]
    return max(told) if told and len(told) == len(resources) else None


def _joined_hash(resources: tuple[KernelResources, ...]) -> str | None:
    hashes = [kernel.cubin_sha256 for kernel in resources]
    if len(set(hashes)) <= 1:
        return hashes[0] if hashes else None
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
