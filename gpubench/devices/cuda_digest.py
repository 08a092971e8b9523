"""Digests of device memory, on a stream of their own: whether something was written, also while our stream is held."""

from __future__ import annotations

from gpubench.devices.base import Buffer
from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_errors import reporting
from gpubench.devices.cuda_launch import KernelLoader, PreparedLaunch
from gpubench.devices.cuda_memory import CudaBuffer
from gpubench.model import DeviceInfo

SOURCE = "harness/digest.cu"
THREADS = 256
BLOCKS_PER_SM = 8


class Digester:
    """Works out digests beside our stream, which may be held by the gate meanwhile."""

    def __init__(self, binding: Binding, loader: KernelLoader, info: DeviceInfo) -> None:
        self._binding = binding
        self._runtime = binding.runtime
        self._blocks = BLOCKS_PER_SM * info.sm_count
        self._function, _ = loader.load(SOURCE, "gpubench::harness::digest")
        with reporting("making a stream"):
            self._stream: int = self._runtime.streamCreateWithFlags(self._runtime.streamNonBlocking)
        self._result = CudaBuffer(binding, 8)

    def digest(self, buffer: Buffer) -> int:
        """Return the digest of what a buffer holds at this moment; waits for no other stream."""
        import numpy

        found = numpy.zeros(1, numpy.uint64)
        arguments = [
            buffer.address.to_bytes(8, "little"),
            buffer.nbytes.to_bytes(8, "little"),
            self._result.address.to_bytes(8, "little"),
        ]
        launch = PreparedLaunch(self._function, (self._blocks, 1, 1), (THREADS, 1, 1), 0, self._stream, arguments)
        with reporting("working out a digest"):
            self._runtime.memsetAsync(self._result.address, 0, 8, self._stream)
            self._binding.driver.launchKernel(*launch.call)
            kind = self._runtime.memcpyDeviceToHost
            self._runtime.memcpyAsync(found.ctypes.data, self._result.address, 8, kind, self._stream)
            self._runtime.streamSynchronize(self._stream)
        return int(found[0])

    def close(self) -> None:
        """Give the stream back."""
        self._runtime.streamDestroy(self._stream)
