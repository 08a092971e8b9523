"""The host device: this machine's processor runs the kernels' own sources against a simulator of a GPU's threads.

Its times say nothing about a GPU (`simulated`); its answers and its diagnostics do. docs/host-device.md tells more.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.devices import Listed
from gpubench.devices.base import Buffer, Executable
from gpubench.devices.host_compiler import ForeignBuild, find_compiler
from gpubench.devices.host_foreign import PRELUDE, prepared, told
from gpubench.devices.host_info import available_bytes, host_info
from gpubench.devices.host_library import BoundLaunch, KernelLibrary, Runtime, runtime
from gpubench.devices.host_memory import HostBuffer, measure_ceiling
from gpubench.devices.host_options import Options, parse_options
from gpubench.devices.outside import digest_of, of_host_work
from gpubench.errors import CompileError, DeviceError
from gpubench.kernels.arguments import require_fit
from gpubench.kernels.sources import tree_of
from gpubench.model import (
    COLD_METHODS,
    Ceiling,
    DeviceInfo,
    Foreign,
    Json,
    KernelResources,
    Launch,
    Memset,
    Method,
    Plan,
    Pointer,
    Sample,
    Value,
    Workspace,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

INSTANCES_A_LIBRARY = 16
"""Kernel instances compiled together: reading the headers costs as much as two or three of them."""


_Key = tuple[str, str, Foreign | None]


def _key(launch: Launch) -> _Key:
    """Return what tells one compiled kernel from another."""
    return launch.source, launch.kernel, launch.foreign


class HostExecutable:
    """A plan bound to buffers. `run` returns when all steps are done."""

    def __init__(self, steps: Sequence[Callable[[], None]], resources: tuple[KernelResources, ...]) -> None:
        """Take the steps in order."""
        self._steps = steps
        self.resources = resources

    def run(self) -> None:
        """Run every step."""
        for step in self._steps:
            step()


class HostDevice:
    """The simulator as a device. `sources`: further folders in which kernel sources may lie, for tests."""

    def __init__(self, options: Options | None = None, sources: Sequence[Path] = ()) -> None:
        """Compile and load the simulator's runtime. NoDeviceError, with the package to install, without a compiler."""
        self.options = options or Options()
        self.info: DeviceInfo = host_info(find_compiler(), str(self.options), self.options.largest)
        self._runtime: Runtime = runtime()
        self._sources = tuple(sources)
        self.worked_s = 0.0
        self.sees_stray_accesses = self.options.build != "fast"
        self._libraries: dict[_Key, KernelLibrary] = {}

    # --- Memory ---

    def allocate(self, nbytes: int) -> HostBuffer:
        """Return new memory of exactly `nbytes`, so that an access beyond it can be told. OutOfMemoryError."""
        return HostBuffer(self._runtime, nbytes)

    def upload(self, array: Array, buffer: Buffer) -> None:
        """Copy a contiguous host array to the start of the buffer."""
        _check_fits(array, buffer)
        ctypes.memmove(buffer.address, array.ctypes.data, array.nbytes)

    def download(self, buffer: Buffer, array: Array) -> None:
        """Copy the start of the buffer into a contiguous host array."""
        _check_fits(array, buffer)
        ctypes.memmove(array.ctypes.data, buffer.address, array.nbytes)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy the whole source."""
        if source.nbytes != target.nbytes:
            raise DeviceError(f"A buffer of {source.nbytes} bytes cannot be copied to one of {target.nbytes} bytes.")
        ctypes.memmove(target.address, source.address, source.nbytes)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte of the buffer."""
        ctypes.memset(buffer.address, byte, buffer.nbytes)

    def free_bytes(self) -> int:
        """Return how much memory the system says is available."""
        return available_bytes()

    # --- Kernels ---

    def compile(self, launches: Sequence[Launch]) -> None:
        """Compile what the launches need, sources side by side. CompileError when one does not compile."""
        missing: dict[str, dict[str, None]] = {}
        for launch in launches:
            if launch.foreign is not None:
                self._compile_foreign(launch, launch.foreign)
            elif _key(launch) not in self._libraries:
                missing.setdefault(launch.source, {})[launch.kernel] = None
        jobs = [
            (source, tuple(kernels)[at : at + INSTANCES_A_LIBRARY])
            for source, kernels in missing.items()
            for at in range(0, len(kernels), INSTANCES_A_LIBRARY)
        ]
        if not jobs:
            return
        with ThreadPoolExecutor(max_workers=min(len(jobs), os.cpu_count() or 1)) as pool:
            made = pool.map(lambda job: KernelLibrary(self._path(job[0]), job[1], self.options.build), jobs)
            for (source, kernels), library in zip(jobs, made, strict=True):
                self._libraries.update({(source, kernel, None): library for kernel in kernels})

    def _compile_foreign(self, launch: Launch, foreign: Foreign) -> None:
        """Compile a user's kernel and hold the launch's arguments against its parameters. CompileError."""
        if _key(launch) not in self._libraries:
            path, options = prepared(foreign, launch.source)
            build = ForeignBuild(PRELUDE, foreign.checks, options)
            try:
                self._libraries[_key(launch)] = KernelLibrary(path, (launch.kernel,), self.options.build, build)
            except CompileError as error:
                raise told(error, foreign, launch.source, launch.kernel) from error
        require_fit(launch, self._libraries[_key(launch)].sizes(launch.kernel))

    def _path(self, source: str) -> Path:
        for folder in self._sources:
            path = (folder / source).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return path
        tree, name = tree_of(source)
        tree.program(name)  # refuses an include of anything but a file of the tree: errors would show its contents
        return tree.path(name)

    def bind(self, plan: Plan, addresses: Mapping[str, int], workspace: Buffer) -> Executable:
        """Load the kernels of a plan and lay out their arguments."""
        self.compile(plan.launches)
        names = {HostBuffer.start_of(address): name for name, address in addresses.items()}
        names[workspace.address] = "workspace"
        steps: list[Callable[[], None]] = []
        resources: list[KernelResources] = []

        def address_of(target: Pointer | Workspace) -> int:
            start = workspace.address if isinstance(target, Workspace) else addresses[target.operand]
            return start + target.byte_offset

        for step in plan.steps:
            if isinstance(step, Memset):
                steps.append(partial(_set, address_of(step.target), step.value, step.size))
                continue
            self._check_launch(step)
            library = self._libraries[_key(step)]
            packed = [
                argument.data if isinstance(argument, Value) else address_of(argument).to_bytes(8, "little")
                for argument in step.arguments
            ]
            bound = BoundLaunch(step, library, packed)
            steps.append(partial(self._run, bound, names))
            resources.append(KernelResources(step.kernel, library.sha256, 0, 0, step.shared_bytes))
        return HostExecutable(steps, tuple(resources))

    def _run(self, bound: BoundLaunch, names: Mapping[int, str]) -> None:
        bound.run(self.options.schedule, self.options.workers, names)

    def _check_launch(self, launch: Launch) -> None:
        """Refuse what a GPU would refuse."""
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        largest = (2**31 - 1, 65535, 65535)
        if not 1 <= threads <= 1024 or launch.block[2] > 64:
            raise DeviceError(
                f"{launch.kernel}: a block of {launch.block} threads; a GPU takes at most 1024 (64 along z)."
            )
        if any(not 1 <= n <= limit for n, limit in zip(launch.grid, largest, strict=True)):
            raise DeviceError(f"{launch.kernel}: a grid of {launch.grid} blocks; a GPU takes 1 to {largest}.")
        if launch.shared_bytes > self.info.max_shared_bytes:
            raise DeviceError(
                f"{launch.kernel}: {launch.shared_bytes} bytes of dynamic shared memory a block; "
                f"{self.info.max_shared_bytes} are the most."
            )

    # --- Measuring ---

    def sample(
        self, method: Method, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Time `batch` runs by the wall clock. What is timed is the simulator, not a GPU; all methods are alike."""
        samples = []
        for _ in range(batch):
            if method in COLD_METHODS:
                restore()
            began = time.perf_counter()
            run()
            seconds = time.perf_counter() - began
            self.worked_s += seconds
            samples.append(Sample(us=round(seconds * 1e6, 3)))
        return samples

    def digest(self, buffer: Buffer) -> int:
        """Return a digest of what the buffer holds now."""
        return digest_of(ctypes.string_at(buffer.address, buffer.nbytes))

    def outside(self, restore: Callable[[], None], run: Callable[[], None], outputs: Sequence[Buffer]) -> str | None:
        """Return what one run does after it has returned, None for nothing."""
        return of_host_work(restore, run, lambda: [self.digest(buffer) for buffer in outputs])

    def synchronize(self) -> None:
        """Nothing is ever under way."""

    def ceiling(self, before: Ceiling | None = None) -> Ceiling:
        """Measure the rates of this machine's own memory by numpy on all cores: the ceiling for numpy's times."""
        return before or measure_ceiling()

    def telemetry(self) -> dict[str, Json]:
        """Return nothing: the host has no figures of a GPU."""
        return {}

    def close(self) -> None:
        """Forget the kernels; libraries stay loaded until the process ends."""
        self._libraries.clear()


def _set(start: int, value: int, size: int) -> None:
    ctypes.memset(start, value, size)


def _check_fits(array: Array, buffer: Buffer) -> None:
    if not array.flags.c_contiguous or array.nbytes > buffer.nbytes:
        raise DeviceError(
            f"A host array of {array.nbytes} bytes (contiguous: {array.flags.c_contiguous}) does not fit a buffer "
            f"of {buffer.nbytes} bytes."
        )


def open_device(argument: str) -> HostDevice:
    """Open the host device; `argument` is what follows `host:`, see `parse_options`."""
    return HostDevice(parse_options(argument))


def list_devices() -> list[Listed]:
    """Return the one host device. NoDeviceError when there is no compiler for it."""
    return [Listed("host", host_info(find_compiler()))]
