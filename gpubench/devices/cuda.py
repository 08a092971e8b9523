"""The CUDA device: memory, kernels and timing on one GPU, through CuPy's bindings of the driver and the runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpubench.devices import Listed, nvml
from gpubench.devices.base import Buffer, Executable
from gpubench.devices.ceiling import measure_again, measure_ceiling
from gpubench.devices.cuda_binding import binding
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_info import device_info
from gpubench.devices.cuda_launch import CudaExecutable, KernelLoader
from gpubench.devices.cuda_memory import CudaBuffer
from gpubench.devices.cuda_probe import Probe
from gpubench.devices.cuda_timing import Sampler
from gpubench.errors import DeviceError, MissingExtraError, NoDeviceError, UsageError
from gpubench.model import Ceiling, DeviceInfo, Json, Launch, Method, Plan, Sample

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


class CudaDevice:
    """One GPU and one stream on it. `stream` is the stream's handle, for libraries that are to work on it too."""

    sees_stray_accesses = False  # a write into the next allocation is as good as any

    def __init__(self, index: int) -> None:
        """Open CUDA device `index`: makes its context the process's current one. NoDeviceError when there is none."""
        self._binding = binding()
        self._runtime = self._binding.runtime
        self.info: DeviceInfo = device_info(self._binding, index)
        self.index = index
        with reporting(f"opening cuda:{index}"):
            self._runtime.setDevice(index)
            self._runtime.free(0)  # the runtime makes the context now, not at the first thing that is timed
            self.stream: int = self._runtime.streamCreateWithFlags(self._runtime.streamNonBlocking)
        self._loader = KernelLoader(self._binding, self.info)
        self._sampler: Sampler | None = None
        self._probed: Probe | None = None

    # --- Memory ---

    def allocate(self, nbytes: int) -> CudaBuffer:
        """Return new memory. OutOfMemoryError when the device refuses."""
        return CudaBuffer(self._binding, nbytes)

    def upload(self, array: Array, buffer: Buffer) -> None:
        """Copy a contiguous host array to the start of the buffer."""
        self._transfer(buffer, array, self._runtime.memcpyHostToDevice)

    def download(self, buffer: Buffer, array: Array) -> None:
        """Copy the start of the buffer into a contiguous host array, after all enqueued work."""
        self._transfer(buffer, array, self._runtime.memcpyDeviceToHost)

    def _transfer(self, buffer: Buffer, array: Array, kind: int) -> None:
        if not array.flags.c_contiguous or array.nbytes > buffer.nbytes:
            raise DeviceError(
                f"A host array of {array.nbytes} bytes (contiguous: {array.flags.c_contiguous}) does not fit a buffer "
                f"of {buffer.nbytes} bytes."
            )
        device, host = buffer.address, array.ctypes.data
        target, source = (device, host) if kind == self._runtime.memcpyHostToDevice else (host, device)
        with reporting(f"copying {array.nbytes} bytes between host and device"):
            if array.nbytes:
                self._runtime.memcpyAsync(target, source, array.nbytes, kind, self.stream)
            self._runtime.streamSynchronize(self.stream)

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Enqueue a copy of the whole source."""
        if source.nbytes != target.nbytes:
            raise DeviceError(f"A buffer of {source.nbytes} bytes cannot be copied to one of {target.nbytes} bytes.")
        if source.nbytes:
            kind = self._runtime.memcpyDeviceToDevice
            with reporting(f"copying {source.nbytes} bytes on the device"):
                self._runtime.memcpyAsync(target.address, source.address, source.nbytes, kind, self.stream)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Enqueue setting every byte of the buffer."""
        if buffer.nbytes:
            with reporting(f"filling {buffer.nbytes} bytes on the device"):
                self._runtime.memsetAsync(buffer.address, byte, buffer.nbytes, self.stream)

    def free_bytes(self) -> int:
        """Return how much memory the driver says is free."""
        with reporting("asking for the free memory"):
            free, _ = self._runtime.memGetInfo()
        return int(free)

    # --- Kernels ---

    def compile(self, launches: Sequence[Launch]) -> None:
        """Compile what the launches need. CompileError when one does not compile."""
        for launch in launches:
            self._loader.prepare(launch)

    def bind(
        self, plan: Plan, addresses: Mapping[str, int], workspace: Buffer, stream: int | None = None
    ) -> Executable:
        """Load the kernels of a plan and lay out their arguments, for this device's stream or another one."""
        stream = self.stream if stream is None else stream
        return CudaExecutable(self._binding, self._loader, plan, addresses, workspace, stream)

    # --- Measuring ---

    def sample(
        self, method: Method, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Time `batch` runs; see `Sampler`."""
        return self._ready().sample(method, restore, run, batch)

    def trace(
        self, method: Method, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Time `batch` runs as `sample` does, by CUPTI's clock. MissingExtraError without CUPTI."""
        return self._ready().sample(method, restore, run, batch, "cupti")

    def digest(self, buffer: Buffer) -> int:
        """Return a digest of what the buffer holds once our stream is at rest."""
        self.synchronize()
        return self._probe().digest(buffer)

    def outside(self, restore: Callable[[], None], run: Callable[[], None], outputs: Sequence[Buffer]) -> str | None:
        """Return what one run does outside our stream; see `devices.outside`."""
        return self._probe().outside(restore, run, outputs)

    def _probe(self) -> Probe:
        if self._probed is None:
            self._probed = Probe(self._binding, self._loader, self.info, self._ready(), self.stream)
        return self._probed

    @property
    def worked_s(self) -> float:
        """Seconds that the GPU was at work on samples so far, by its own events."""
        return 0.0 if self._sampler is None else self._sampler.worked_s

    def _ready(self) -> Sampler:
        if self._sampler is None:
            self._sampler = Sampler(self._binding, self._loader, self.info, self.stream)
        return self._sampler

    def synchronize(self) -> None:
        """Wait for all enqueued work; its errors appear here."""
        with reporting("waiting for the device"):
            self._runtime.streamSynchronize(self.stream)

    def ceiling(self, before: Ceiling | None = None) -> Ceiling:
        """Measure what this device reaches now, over sizes up to 2 GiB or what memory allows."""
        return measure_ceiling(self) if before is None else measure_again(self, before)

    def telemetry(self) -> dict[str, Json]:
        """Read NVML's figures of this moment; empty with no NVML."""
        return nvml.telemetry(str(self.info.properties["pci_bus_id"]))

    def close(self) -> None:
        """Give everything back. After a fatal error the context is gone already, so errors here say nothing new."""
        with contextlib.suppress(RuntimeError):
            self._runtime.streamSynchronize(self.stream)
        with contextlib.suppress(RuntimeError):
            if self._probed is not None:
                self._probed.close()
            if self._sampler is not None:
                self._sampler.close()
            self._loader.close()
            self._runtime.streamDestroy(self.stream)
        self._sampler = self._probed = None


def open_device(argument: str) -> CudaDevice:
    """Open the GPU of that number, the first when empty. UsageError for what is no number; NoDeviceError without it."""
    if argument and not (argument.isdecimal() and len(argument) < 10):
        raise UsageError(f"cuda:{argument} names no device: write cuda:0, cuda:1 and so on.")
    index, count = int(argument or 0), _count()
    if index >= count:
        raise NoDeviceError(f"There is no cuda:{index}: CUDA shows {count} device{'s' * (count != 1)}.")
    return CudaDevice(index)


def _count() -> int:
    """Return the number of GPUs that CUDA shows. NoDeviceError, with CUDA's reason, when it shows none."""
    if nvml.driver_version() is None and not _driver_library():
        raise NoDeviceError("No GPU was found: this machine has no NVIDIA driver (libcuda.so.1).")
    with reporting("looking for CUDA devices"):
        count: int = binding().runtime.getDeviceCount()
    if count == 0:
        raise NoDeviceError("No GPU was found: CUDA shows no device (is CUDA_VISIBLE_DEVICES empty?).")
    return count


def _driver_library() -> bool:
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def list_devices() -> list[Listed]:
    """Return the GPUs that CUDA shows; those that only NVML shows when CuPy is missing, with that as their problem."""
    try:
        count = _count()
    except MissingExtraError as error:
        return [_from_nvml(index, bus_id, str(error)) for index, bus_id in enumerate(nvml.bus_ids())]
    return [Listed(f"cuda:{index}", device_info(binding(), index)) for index in range(count)]


def _from_nvml(index: int, bus_id: str, problem: str) -> Listed:
    """Describe a GPU as far as NVML knows it: what only CUDA tells is 0."""
    facts = nvml.facts(bus_id)
    info = DeviceInfo(
        kind="cuda",
        name=str(facts.get("name")),
        compute_capability=nvml.compute_capability(bus_id) or (0, 0),
        sm_count=0,
        l2_bytes=0,
        memory_bytes=nvml.memory_bytes(bus_id) or 0,
        max_shared_bytes=0,
        properties={"pci_bus_id": bus_id, **{name: value for name, value in facts.items() if name != "name"}},
    )
    return Listed(f"cuda:{index}", info, problem)
