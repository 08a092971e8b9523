"""A scripted device for tests: no GPU, no compiler.

It interprets the naive kernels (so its answers are right), takes the times from a script, and fails where the script
says so. `fake_script` documents the script's fields.

Only the contenders `gpubench:naive` work on it (any other kernel is UnsupportedError when it is bound); work that
launches no kernel of ours runs as it is.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpubench.devices.base import Buffer, Executable
from gpubench.devices.fake_faults import Faults
from gpubench.devices.fake_kernels import Call, interpreter, template_arguments
from gpubench.devices.fake_memory import FakeBuffer, FakeMemory
from gpubench.devices.fake_script import Fault, Script, Times, read_script
from gpubench.devices.outside import digest_of, of_host_work
from gpubench.errors import DeviceError, UsageError
from gpubench.model import (
    Argument,
    Ceiling,
    CeilingPoint,
    CeilingRound,
    DeviceInfo,
    Json,
    KernelResources,
    Launch,
    Memset,
    Method,
    Phase,
    Plan,
    Pointer,
    Sample,
    Value,
    Workspace,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


class FakeDevice:
    """See the module. Everything happens at once, in the calling thread; the same script gives the same times."""

    sees_stray_accesses = False

    def __init__(self, script: Script | None = None, folder: Path | None = None) -> None:
        """Open the device; `folder` is where the script's `once_file`s lie (the current one when None)."""
        self.script = script or Script()
        self.faults = Faults(self.script.faults, folder or Path())
        self.faults.meet("open")
        self.info = DeviceInfo(kind="fake", **self.script.info.model_dump())
        self.memory = FakeMemory(self.info.memory_bytes)
        self.worked_s = 0.0
        self.launched: list[str] = []
        """The kernels of the runs since the last sample began."""
        self._random = random.Random(self.script.seed)
        self._taken: dict[Times, int] = {}

    def allocate(self, nbytes: int) -> FakeBuffer:
        """Return new memory, filled with 0xCD."""
        self.faults.meet("allocate", size=nbytes)
        return self.memory.allocate(nbytes)

    def upload(self, array: Array, buffer: Buffer) -> None:
        """Copy a host array to the start of the buffer."""
        self.faults.meet("upload", size=array.nbytes)
        self._span(buffer, array)[...] = _bytes(array)

    def download(self, buffer: Buffer, array: Array) -> None:
        """Copy the start of the buffer into a host array."""
        self.faults.meet("download", size=array.nbytes)
        _bytes(array)[...] = self._span(buffer, array)

    def _span(self, buffer: Buffer, array: Array) -> Array:
        if not array.flags.c_contiguous or array.nbytes > buffer.nbytes:
            raise DeviceError(f"A host array of {array.nbytes} bytes does not fit a buffer of {buffer.nbytes} bytes.")
        return self.memory.span(buffer.address, array.nbytes)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy the whole source."""
        if source.nbytes != target.nbytes:
            raise DeviceError(f"A buffer of {source.nbytes} bytes cannot be copied to one of {target.nbytes} bytes.")
        self.memory.span(target.address, target.nbytes)[...] = self.memory.span(source.address, source.nbytes)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte of the buffer."""
        self.memory.span(buffer.address, buffer.nbytes)[...] = byte

    def free_bytes(self) -> int:
        """Return what is left of the scripted memory."""
        return self.memory.capacity - self.memory.used

    def compile(self, launches: Sequence[Launch]) -> None:
        """Compile nothing; scripted faults happen."""
        for launch in launches:
            self.faults.meet("compile", [launch.kernel])

    def bind(self, plan: Plan, addresses: Mapping[str, int], workspace: Buffer) -> Executable:
        """Prepare the interpretation of a plan. UnsupportedError when a kernel is not one of the naive ones."""
        self.faults.meet("bind", [launch.kernel for launch in plan.launches])
        return FakeExecutable(self, plan, addresses, workspace)

    def sample(
        self, method: Method, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Run `batch` times; the script gives the times, the same for every method."""
        del method
        samples = []
        for _ in range(batch):
            restore()
            self.launched.clear()
            run()
            self.faults.meet("sample", self.launched)
            time.sleep(self.script.seconds_per_sample)
            samples.append(self._sample(self.script.times_of(self.launched[0] if self.launched else None)))
            self.worked_s += samples[-1].us / 1e6
        return samples

    def _sample(self, times: Times) -> Sample:
        index = self._taken.get(times, 0)
        self._taken[times] = index + 1
        us = times.us * (1 + times.drift * index) * math.exp(times.spread * self._random.gauss(0, 1))
        if times.outlier_every and index % times.outlier_every == times.outlier_every - 1:
            us *= times.outlier_factor
        clock = times.sm_mhz
        return Sample(us, clock[index % len(clock)] if isinstance(clock, tuple) else clock)

    def digest(self, buffer: Buffer) -> int:
        """Return a digest of what the buffer holds now."""
        return digest_of(self.memory.span(buffer.address, buffer.nbytes).tobytes())

    def outside(self, restore: Callable[[], None], run: Callable[[], None], outputs: Sequence[Buffer]) -> str | None:
        """Return what one run does after it has returned, None for nothing."""
        return of_host_work(restore, run, lambda: [self.digest(buffer) for buffer in outputs])

    def synchronize(self) -> None:
        """Nothing is ever pending; scripted faults happen."""
        self.faults.meet("synchronize")

    def ceiling(self, before: Ceiling | None = None) -> Ceiling:
        """Return the scripted rates; at the end of a run one round of each phase in which the sweep takes its times."""
        self.faults.meet("ceiling")
        if before is not None:
            return replace(before, rounds=(*before.rounds, self._round(before.sweep, "end")))
        figures = self.script.ceiling.model_dump(exclude={"sweep"})
        sweep = tuple(CeilingPoint(**point.model_dump()) for point in self.script.ceiling.sweep)
        return Ceiling(**figures, sweep=sweep, rounds=(self._round(sweep, "start"),) if sweep else ())

    def _round(self, sweep: tuple[CeilingPoint, ...], phase: Phase) -> CeilingRound:
        figures = self.script.ceiling
        return CeilingRound(phase, figures.launch_us, figures.event_overhead_us, sweep)

    def telemetry(self) -> dict[str, Json]:
        """Return the scripted figures."""
        return dict(self.script.telemetry)

    def close(self) -> None:
        """Scripted faults happen; there is nothing to give back."""
        self.faults.meet("close")


class FakeExecutable:
    """A plan to interpret."""

    def __init__(self, device: FakeDevice, plan: Plan, addresses: Mapping[str, int], workspace: Buffer) -> None:
        self._device = device
        self._plan = plan
        self._addresses = dict(addresses)
        self._workspace = workspace
        for launch in plan.launches:
            interpreter(launch.kernel)
        self.resources = tuple(
            KernelResources(launch.kernel, hashlib.sha256(launch.kernel.encode()).hexdigest(), 32, 0, 0, 0, 1.0)
            for launch in plan.launches
        )

    def run(self) -> None:
        """Interpret every step now."""
        device = self._device
        kernels = [launch.kernel for launch in self._plan.launches]
        device.launched.extend(kernels)
        fault = device.faults.meet("run", kernels)
        if not device.script.compute or (fault is not None and fault.do == "never_writes"):
            return
        for step in self._plan.steps:
            if isinstance(step, Memset):
                device.memory.span(self._address(step.target), step.size)[...] = step.value
                continue
            output = self._interpret(step)
            if fault is not None:
                _spoil(output, fault, device)

    def _interpret(self, launch: Launch) -> Array:
        _, template = template_arguments(launch.kernel)
        arguments = [self._pack(argument) for argument in launch.arguments]
        return interpreter(launch.kernel)(Call(self._device.memory, template, arguments))

    def _address(self, argument: Pointer | Workspace) -> int:
        base = self._addresses[argument.operand] if isinstance(argument, Pointer) else self._workspace.address
        return base + argument.byte_offset

    def _pack(self, argument: Argument) -> bytes:
        return argument.data if isinstance(argument, Value) else self._address(argument).to_bytes(8, "little")


def _bytes(array: Array) -> Array:
    import numpy

    return array.reshape(-1).view(numpy.uint8)


def _spoil(output: Array, fault: Fault, device: FakeDevice) -> None:
    """Make what a kernel wrote wrong, as the fault says: every element, the middle one, or 64 behind the last."""
    import numpy

    if output.size == 0:
        return
    size = output.dtype.itemsize
    if fault.do == "stray":
        beyond = output.ctypes.data + size * (
            1 + sum((n - 1) * s // size for n, s in zip(output.shape, output.strides, strict=True))
        )
        device.memory.span(beyond, 64 * size)[...] = 1
        return
    if fault.do == "garbage":
        noise = numpy.random.default_rng(device.script.seed).integers(0, 256, output.size * size, numpy.uint8)
        output[...] = noise.view(output.dtype).reshape(output.shape)
        return
    middle = numpy.unravel_index(output.size // 2, output.shape)
    element = numpy.array(output[middle]).reshape(1).view(numpy.uint8)
    element[-1] ^= 0x40  # the top bits: the exponent of a float, the size of an integer
    output[middle] = element.view(output.dtype)[0]


def open_device(argument: str) -> FakeDevice:
    """Open a fake device by its script's path."""
    if not argument:
        raise UsageError("The fake device needs a script: fake:SCRIPT.json.")
    path = Path(argument)
    return FakeDevice(read_script(path), path.parent)
