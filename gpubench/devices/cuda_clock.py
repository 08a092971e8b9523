"""The clocks around a timed launch: events for its time, stamps of both GPU clocks for the SM frequency meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_launch import KernelLoader, PreparedLaunch
from gpubench.devices.cuda_memory import CudaBuffer, Mailbox
from gpubench.errors import DeviceError
from gpubench.model import DeviceInfo

if TYPE_CHECKING:
    import numpy as np

    StampArray = np.ndarray[Any, np.dtype[np.uint64]]

SOURCE = "harness/clock.cu"
BLOCKER_LIMIT_NS = 2_000_000_000
"""How long the gate holds the stream at most: far longer than any enqueuing, far shorter than any deadline."""

STAMP_BYTES = 16
"""One stamp: global timer (ns) and SM clock (cycles), 64 bits each."""


class Gate:
    """Holds the stream while work is enqueued behind it, by a kernel that waits for a word in host memory."""

    def __init__(self, binding: Binding, loader: KernelLoader, stream: int) -> None:
        self._launch_kernel = binding.driver.launchKernel
        self._mailbox = Mailbox(binding)
        function, _ = loader.load(SOURCE, "gpubench::harness::blocker")
        arguments = [
            self._mailbox.address.to_bytes(8, "little"),
            self._mailbox.expired_address.to_bytes(8, "little"),
            bytes(4),
            BLOCKER_LIMIT_NS.to_bytes(8, "little"),
        ]
        self._blocker = PreparedLaunch(function, (1, 1, 1), (1, 1, 1), 0, stream, arguments)
        self._ticket = 0

    def close(self) -> None:
        """Enqueue the blocker: nothing enqueued later starts before `open`, or before the blocker's own limit."""
        self._ticket = (self._ticket + 1) % 2**32
        self._blocker.set_argument(2, self._ticket.to_bytes(4, "little"))
        with reporting("holding the stream"):
            self._launch_kernel(*self._blocker.call)

    def open(self) -> None:
        """Let the stream go."""
        self._mailbox.words[0] = self._ticket

    @property
    def expired(self) -> bool:
        """True when the last blocker let go by itself; read it after the stream has been synchronised."""
        return bool(self._mailbox.words[1] == self._ticket and self._ticket != 0)

    def release(self) -> None:
        """Give the mailbox back."""
        self._mailbox.release()


class Stamps:
    """Stamps of (global timer, SM clock) for each SM, taken on the stream."""

    def __init__(self, binding: Binding, loader: KernelLoader, info: DeviceInfo, stream: int, capacity: int) -> None:
        self._binding = binding
        self._stream = stream
        self._slots = 2 * info.sm_count  # SM numbers may have gaps
        self._buffer = CudaBuffer(binding, capacity * self._slots * STAMP_BYTES)
        function, _ = loader.load(SOURCE, "gpubench::harness::stamp")
        self._launches = []
        for index in range(capacity):
            address = self._buffer.address + index * self._slots * STAMP_BYTES
            arguments = [address.to_bytes(8, "little"), self._slots.to_bytes(4, "little")]
            grid = (info.sm_count, 1, 1)
            self._launches.append(PreparedLaunch(function, grid, (info.warp_size, 1, 1), 0, stream, arguments))

    def clear(self, count: int) -> None:
        """Enqueue forgetting the first `count` stamps."""
        size = count * self._slots * STAMP_BYTES
        self._binding.runtime.memsetAsync(self._buffer.address, 0, size, self._stream)

    def take(self, index: int) -> None:
        """Enqueue stamp `index`."""
        self._binding.driver.launchKernel(*self._launches[index].call)

    def frequencies(self, pairs: int) -> list[float | None]:
        """Return the SM clock in MHz between the stamps 2 i and 2 i + 1, i < pairs. The stream must be idle."""
        import numpy

        stamps = numpy.empty((pairs, 2, self._slots, 2), numpy.uint64)
        runtime = self._binding.runtime
        runtime.memcpyAsync(
            stamps.ctypes.data, self._buffer.address, stamps.nbytes, runtime.memcpyDeviceToHost, self._stream
        )
        runtime.streamSynchronize(self._stream)
        return frequencies(stamps)

    def release(self) -> None:
        """Give the memory back."""
        self._buffer.release()


def frequencies(stamps: StampArray) -> list[float | None]:
    """Return the median over the SMs of cycles per microsecond (whole MHz) for each pair of `stamps`, of shape
    (pairs, 2, SMs, 2).

    Only SMs that all stamps reached count, or both of a pair's where there is none such: the clocks of different SMs
    have different origins. None for a pair without any.
    """
    import numpy

    times = stamps.astype(numpy.int64)
    spans = (times[:, 1] - times[:, 0]).astype(numpy.float64)
    reached = (times[:, 0, :, 0] > 0) & (spans > 0).all(axis=-1)
    everywhere = reached.all(axis=0)
    if not everywhere.any():
        return [None] if len(stamps) == 1 else [frequencies(pair)[0] for pair in stamps[:, None]]
    ratios = spans[:, everywhere, 1] / spans[:, everywhere, 0]
    return [round(float(mhz)) for mhz in numpy.median(ratios, axis=1) * 1e3]


class EventPairs:
    """Pairs of CUDA events with timing, made once."""

    def __init__(self, binding: Binding, stream: int, capacity: int) -> None:
        self._runtime = binding.runtime
        self._stream = stream
        with reporting("making events"):
            self._pairs = [(self._runtime.eventCreate(), self._runtime.eventCreate()) for _ in range(capacity)]

    def begin(self, index: int) -> None:
        """Enqueue the first event of a pair."""
        self._runtime.eventRecord(self._pairs[index][0], self._stream)

    def end(self, index: int) -> None:
        """Enqueue the second event of a pair."""
        self._runtime.eventRecord(self._pairs[index][1], self._stream)

    def microseconds(self, index: int) -> float:
        """Return the time between a pair's events. The stream must be idle. DeviceError for a time that cannot be."""
        us = float(self._runtime.eventElapsedTime(*self._pairs[index])) * 1e3
        if not 0.0 <= us < float("inf"):
            raise DeviceError(f"The device's events gave a time of {us} us, which cannot be.")
        return us

    def release(self) -> None:
        """Destroy the events."""
        for pair in self._pairs:
            for event in pair:
                self._runtime.eventDestroy(event)
        self._pairs.clear()
