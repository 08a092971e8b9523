"""What the engine needs of a device. The GPU, the host simulator and the scripted fake all look like this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gpubench.model import Ceiling, DeviceInfo, Json, KernelResources, Launch, Method, Plan, Sample

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


class Buffer(Protocol):
    """A piece of device memory, 256-byte aligned. `address` is what a kernel gets; `nbytes` its size."""

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        ...

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        ...


class Executable(Protocol):
    """A plan bound to buffers. `run` enqueues every step on the device's stream and returns at once."""

    resources: tuple[KernelResources, ...]
    """One entry a launch, in order."""

    def run(self) -> None:
        """Enqueue the steps."""
        ...


class Device(Protocol):
    """One device, owned by one worker process. Errors come as DeviceError, FatalDeviceError or OutOfMemoryError."""

    info: DeviceInfo
    sees_stray_accesses: bool
    """True where an access outside a buffer is an error of the run, so that operands need no guard bytes."""

    @property
    def worked_s(self) -> float:
        """Seconds that the device was at work on samples so far: the timed runs, and what `sample` enqueues before."""
        ...

    def allocate(self, nbytes: int) -> Buffer:
        """Return new memory (nbytes may be 0). It is given back when the last reference to the buffer goes.

        The last whole 32-bit word may be touched: kernels add 16-bit numbers through the word that holds them.
        """
        ...

    def upload(self, array: Array, buffer: Buffer) -> None:
        """Copy a contiguous host array to the start of the buffer; done when it returns."""
        ...

    def download(self, buffer: Buffer, array: Array) -> None:
        """Copy the start of the buffer into a contiguous host array; waits for all enqueued work first."""
        ...

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Enqueue a copy of the whole source (same size) on the device's stream."""
        ...

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Enqueue setting every byte of the buffer."""
        ...

    def free_bytes(self) -> int:
        """Return how much memory could be allocated now."""
        ...

    def compile(self, launches: Sequence[Launch]) -> None:
        """Compile (or take from the cache) what the launches need. CompileError when one does not compile."""
        ...

    def bind(self, plan: Plan, addresses: Mapping[str, int], workspace: Buffer) -> Executable:
        """Load the kernels of a plan. `addresses` are the operands' first elements (view offset included)."""
        ...

    def sample(
        self, method: Method, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Time `batch` runs, one sample each. `restore` (enqueues only) comes before each cold run and is not timed.

        cold: L2 flushed before each run, launch overhead hidden. hot: back to back. graph: replays of a captured graph.
        graph-cold: the L2 cache flushed before each replay of a graph of one run.
        """
        ...

    def digest(self, buffer: Buffer) -> int:
        """Return a digest of what the buffer holds now: it tells whether anything was written."""
        ...

    def outside(self, restore: Callable[[], None], run: Callable[[], None], outputs: Sequence[Buffer]) -> str | None:
        """Return what one run does outside the device's stream, in words; None for nothing."""
        ...

    def synchronize(self) -> None:
        """Wait for all enqueued work; reports its errors."""
        ...

    def ceiling(self, before: Ceiling | None = None) -> Ceiling:
        """Measure the rates this device reaches now; with `before`, add rounds at the end of the run to that one."""
        ...

    def telemetry(self) -> dict[str, Json]:
        """Read the state now: sm_mhz, memory_mhz, power_w, temperature_c and throttle (the reasons' names)."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...
