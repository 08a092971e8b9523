"""Loaded kernels, and launches prepared so that enqueuing one costs the host a few microseconds."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_errors import MEANINGS, REFUSED_PTX, code_of, reporting, translate
from gpubench.errors import CompileError, DeviceError
from gpubench.kernels import compile_instance
from gpubench.kernels.arguments import require_fit
from gpubench.kernels.foreign import compile_foreign, parameters_of
from gpubench.model import (
    Argument,
    DeviceInfo,
    Foreign,
    KernelResources,
    Launch,
    Memset,
    Plan,
    Pointer,
    Value,
    Workspace,
)

_Key = tuple[str, str, Foreign | None]

DEFAULT_SHARED_BYTES = 48 * 1024
"""Shared memory that a block gets without asking the driver for more."""


class KernelLoader:
    """Compiles and loads kernel instances, each once, and keeps them for the life of the device."""

    def __init__(self, binding: Binding, info: DeviceInfo) -> None:
        self._driver = binding.driver
        self._info = info
        self._compiled: dict[_Key, Any] = {}
        self._loaded: dict[_Key, tuple[int, KernelResources]] = {}
        self._modules: list[int] = []
        self._granted: dict[int, int] = {}

    def compile(self, source: str, kernel: str, foreign: Foreign | None = None) -> Any:
        """Return the compiled instance for this device. CompileError when it does not compile."""
        key = (source, kernel, foreign)
        if key not in self._compiled:
            if foreign is None:
                self._compiled[key] = compile_instance(source, kernel, self._info.arch)
            else:
                self._compiled[key] = compile_foreign(foreign, source, kernel, self._info.arch)
        return self._compiled[key]

    def prepare(self, launch: Launch) -> None:
        """Compile a launch's kernel and hold its arguments against the parameters. CompileError."""
        compiled = self.compile(launch.source, launch.kernel, launch.foreign)
        if launch.foreign is not None:
            require_fit(launch, parameters_of(compiled))

    def load(self, source: str, kernel: str, foreign: Foreign | None = None) -> tuple[int, KernelResources]:
        """Return the driver's function handle and what the compiler said of it."""
        key = (source, kernel, foreign)
        if key not in self._loaded:
            compiled = self.compile(source, kernel, foreign)
            with reporting(f"loading {kernel} of {source}"), _blaming_ptx(source):
                module = self._driver.moduleLoadData(compiled.cubin)
                self._modules.append(module)
                function = self._driver.moduleGetFunction(module, compiled.lowered_name)
            self._loaded[key] = (function, compiled.resources)
        return self._loaded[key]

    def ready(self, launch: Launch) -> tuple[int, KernelResources]:
        """Load the kernel of a launch, give it the shared memory it asks for, and work out its occupancy."""
        if launch.foreign is not None:
            self.prepare(launch)
        function, resources = self.load(launch.source, launch.kernel, launch.foreign)
        shared = resources.shared_bytes + launch.shared_bytes
        if shared > self._info.max_shared_bytes:
            raise DeviceError(
                f"{launch.kernel} asks for {shared} bytes of shared memory a block; {self._info.name} has at most "
                f"{self._info.max_shared_bytes}."
            )
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        with reporting(f"preparing {launch.kernel}"):
            if shared > DEFAULT_SHARED_BYTES and launch.shared_bytes > self._granted.get(function, 0):
                # raised, never lowered: a plan bound earlier may need more of the same kernel
                attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self._driver.funcSetAttribute(function, attribute, launch.shared_bytes)
                self._granted[function] = launch.shared_bytes
            blocks = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, launch.shared_bytes)
        warps = blocks * -(-threads // self._info.warp_size)
        occupancy = warps / (self._info.max_threads_per_sm // self._info.warp_size)
        return function, replace(resources, occupancy=round(occupancy, 4))

    def close(self) -> None:
        """Unload everything."""
        while self._modules:
            self._driver.moduleUnload(self._modules.pop())
        self._loaded.clear()


@contextlib.contextmanager
def _blaming_ptx(source: str) -> Iterator[None]:
    """Turn the driver's refusal of a .ptx, which it compiles when it is loaded, into CompileError."""
    try:
        yield
    except RuntimeError as error:
        code = code_of(error)
        if not source.endswith(".ptx") or code not in REFUSED_PTX:
            raise
        raise CompileError(
            f"{source} is refused by this driver ({MEANINGS[code]}): make it anew with a CUDA no newer than the "
            "driver and for an architecture that is no newer than this GPU's, or bring a .cubin"
        ) from error


class PreparedLaunch:
    """One kernel launch with its arguments laid out in memory as the driver wants them."""

    __slots__ = ("_call", "_keep")

    def __init__(
        self,
        function: int,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        stream: int,
        arguments: Sequence[bytes],
    ) -> None:
        storage = [ctypes.create_string_buffer(data, max(len(data), 8)) for data in arguments]
        pointers = (ctypes.c_void_p * max(len(storage), 1))(*(ctypes.addressof(argument) for argument in storage))
        self._keep = (storage, pointers)  # the driver reads them at every launch
        self._call = (function, *grid, *block, shared_bytes, stream, ctypes.addressof(pointers), 0)

    @property
    def call(self) -> tuple[int, ...]:
        """The arguments of `driver.launchKernel`."""
        return self._call

    def set_argument(self, index: int, data: bytes) -> None:
        """Change one argument for the launches to come (the driver copies arguments when it enqueues)."""
        ctypes.memmove(self._keep[0][index], data, len(data))


def pack(argument: Argument, addresses: Mapping[str, int], workspace: int) -> bytes:
    """Return the bytes of a kernel argument."""
    match argument:
        case Value(data):
            return data
        case Pointer(operand, byte_offset):
            return (addresses[operand] + byte_offset).to_bytes(8, "little")
        case Workspace(byte_offset):
            return (workspace + byte_offset).to_bytes(8, "little")


class CudaExecutable:
    """A plan bound to buffers: every step is one call with arguments made beforehand."""

    __slots__ = ("_keep", "_name", "_steps", "resources")

    def __init__(
        self,
        binding: Binding,
        loader: KernelLoader,
        plan: Plan,
        addresses: Mapping[str, int],
        workspace: Any,
        stream: int,
    ) -> None:
        resources: list[KernelResources] = []
        self._steps: list[tuple[Any, tuple[int, ...]]] = []
        prepared: list[PreparedLaunch] = []
        for step in plan.steps:
            if isinstance(step, Memset):
                target = int.from_bytes(pack(step.target, addresses, workspace.address), "little")
                self._steps.append((binding.runtime.memsetAsync, (target, step.value, step.size, stream)))
                continue
            function, figures = loader.ready(step)
            arguments = [pack(argument, addresses, workspace.address) for argument in step.arguments]
            launch = PreparedLaunch(function, step.grid, step.block, step.shared_bytes, stream, arguments)
            prepared.append(launch)
            resources.append(figures)
            self._steps.append((binding.driver.launchKernel, launch.call))
        self._keep = (prepared, workspace)
        self._name = plan.variant
        self.resources = tuple(resources)

    def run(self) -> None:
        """Enqueue every step; returns before any has run."""
        try:
            for enqueue, arguments in self._steps:
                enqueue(*arguments)
        except RuntimeError as error:
            raise translate(error, f"launching the variant {self._name}") from error
