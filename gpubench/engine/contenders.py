"""From the name of a contender to something that can be bound to buffers and run."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpubench.engine.buffers import Operands
from gpubench.engine.planned import given_constants, planned
from gpubench.errors import GpubenchError, OutOfMemoryError, UnsupportedError
from gpubench.kernels.sources import SECOND_PREFIX
from gpubench.model import Accuracy, Json, KernelResources, Launch, Plan, Problem, Refused
from gpubench.names import SECOND_SUFFIX, is_ours, is_own, split_constants
from gpubench.operators.base import Operator
from gpubench.own.code import attribute
from gpubench.own.definitions import Kernel
from gpubench.own.plan import names_of, refusal_of
from gpubench.own.plan import plan as own_plan
from gpubench.own.registry import kernel_of
from gpubench.peers import load, refusal
from gpubench.peers.own_function import OwnFunction, registered
from gpubench.peers.own_library import OwnLibrary
from gpubench.results.format import plain
from gpubench.tuning.active import active, constants_for
from gpubench.tuning.regimes import regimes_of, with_constants

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.peers.base import Peer, Prepared


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


class PeerLibrary:
    """Another library's way to do the work."""

    workspace = 0, False  # it brings its own
    repeatable = False  # as far as we know

    def __init__(self, peer: Peer, operator: Operator[Any], problem: Problem[Any], device: Device) -> None:
        """Ask the peer, then load it. UnsupportedError: it does not take the problem. MissingExtraError without it."""
        name = peer.name
        reason = refusal(peer, problem)
        kinds = getattr(peer, "kinds", ("cuda",))
        if device.info.kind not in kinds:
            wanted = {"cuda": "a CUDA device"}.get(kinds[0], f"the {kinds[0]} device")
            reason = f"{name} needs {wanted}; this one is {device.info.kind}"
        if reason is not None:
            raise UnsupportedError(reason)
        peer.load()
        self.name = name
        self.accuracy = operator.accuracy(problem)
        self._peer: Peer = peer
        self._problem = problem
        self._stream: int | None = getattr(device, "stream", None)
        self._prepared: Prepared | None = None

    def compile(self) -> None:
        """Do nothing: a peer compiles when it meets its operands."""

    def another(self) -> PeerLibrary:
        """Return one that prepares itself for other buffers."""
        found = copy.copy(self)
        found._prepared = None
        return found

    def bind(self, operands: Operands) -> Callable[[], None]:
        """Let the peer prepare itself, in place of what it prepared before."""
        self.release()
        with self._translating("preparing"):
            self._prepared = prepared = self._peer.prepare(self._problem, operands.operands, self._stream)

        def run() -> None:
            with self._translating("running"):
                prepared.run()

        return run

    def collect(self) -> None:
        """Bring the last result into the operand, where the library has it elsewhere."""
        if self._prepared is not None and self._prepared.collect is not None:
            with self._translating("reading the result of"):
                self._prepared.collect()

    def release(self) -> None:
        """Let the library give back the device memory that it keeps."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared.close is not None:
            with self._translating("closing"):
                prepared.close()

    def kernel(self) -> dict[str, Json] | None:
        """Return nothing: its kernels are its own business."""
        return None

    @contextlib.contextmanager
    def _translating(self, doing: str) -> Iterator[None]:
        """Turn a library's own exceptions into gpubench's: a lost device must be known as such."""
        from gpubench.devices.cuda_errors import translate

        try:
            yield
        except GpubenchError:
            raise
        except MemoryError as error:
            if type(error) is MemoryError:
                raise
            raise OutOfMemoryError(f"{doing} {self.name}: {error}") from error  # CuPy's own: it means the device's
        except Exception as error:  # every library has error types of its own
            raise translate(error, f"{doing} {self.name}") from error


class BroughtFunction(PeerLibrary):
    """A Python function, or one of a shared library, that a suite brings."""

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        folder: str,
        operator: Operator[Any],
        problem: Problem[Any],
        device: Device,
    ) -> None:
        """Load the file. UnsupportedError where it does not take the problem; CompileError where it cannot be used."""
        names = names_of(kernel, operator, problem, device.info)
        if refused := refusal_of(kernel, operator, problem, names):
            raise UnsupportedError(refused.reason)
        if kernel.form == "python":
            call = attribute(folder, kernel.file, kernel.function)
            peer: Peer = OwnFunction(name, (operator.name,), call, kernel.arrays)
        else:
            peer = OwnLibrary(name, (operator.name,), Path(folder), kernel, names)
        super().__init__(peer, operator, problem, device)
        self._kernel = kernel
        self._sha256 = hashlib.sha256((Path(folder) / kernel.file).read_bytes()).hexdigest()

    def kernel(self) -> dict[str, Json]:
        """Return where the function is, and its file's hash: equal files are taken for equal work."""
        where = {"source": self._kernel.file, "kernel": self._kernel.function}
        notes = {"file": self._kernel.file, "constants": dict(self._kernel.constants)}
        return {
            "variant": self._kernel.name,
            "launches": [where],
            "cubin_sha256": self._sha256,
            "registers": None,
            "spill_bytes": None,
            "shared_bytes": None,
            "occupancy": None,
            "workspace_bytes": 0,
            "notes": notes,
        }
