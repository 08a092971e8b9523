"""The fake device's memory: host arrays, with every access checked against what is allocated."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpubench.errors import FatalDeviceError, OutOfMemoryError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

ALIGNMENT = 256
FRESH = 0xCD
"""What new memory holds: on a real device it is anything but zero."""
ILLEGAL_ADDRESS = 700


class FakeBuffer:
    """A 256-byte aligned piece of host memory."""

    def __init__(self, nbytes: int) -> None:
        import numpy

        room = numpy.full(max(nbytes, 1) + ALIGNMENT, FRESH, numpy.uint8)
        start = -room.ctypes.data % ALIGNMENT
        self.bytes: Array = room[start : start + nbytes]
        self.address: int = room.ctypes.data + start
        self.nbytes = nbytes


class FakeMemory:
    """All live buffers."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self._live: dict[int, weakref.ref[FakeBuffer]] = {}

    def allocate(self, nbytes: int) -> FakeBuffer:
        """Return a new buffer. OutOfMemoryError beyond the capacity."""
        if self.used + nbytes > self.capacity:
            raise OutOfMemoryError(f"allocating {nbytes} bytes: only {self.capacity - self.used} are free.", 2)
        buffer = FakeBuffer(nbytes)
        self.used += nbytes
        self._live[buffer.address] = weakref.ref(buffer)
        weakref.finalize(buffer, self._forget, buffer.address, nbytes)
        return buffer

    def _forget(self, address: int, nbytes: int) -> None:
        self.used -= nbytes
        self._live.pop(address, None)

    def span(self, address: int, nbytes: int) -> Array:
        """Return the bytes at an address. FatalDeviceError (700, as on a GPU) when they are not all of one buffer."""
        for start, reference in self._live.items():
            buffer = reference()
            if buffer is not None and start <= address and address + nbytes <= start + buffer.nbytes:
                return buffer.bytes[address - start : address - start + nbytes]
        raise FatalDeviceError(
            f"the kernel touched {nbytes} bytes at address {address:#x}, outside every allocation.", ILLEGAL_ADDRESS
        )

    def tensor(self, address: int, dtype: np.dtype[Any], sizes: Sequence[int], strides: Sequence[int]) -> Array:
        """Return the strided view of memory that a kernel with this pointer, these sizes and strides would touch."""
        import numpy

        if math.prod(sizes) == 0:
            return numpy.empty(sizes, dtype)
        reach = [(n - 1) * stride for n, stride in zip(sizes, strides, strict=True)]
        low, high = sum(min(end, 0) for end in reach), sum(max(end, 0) for end in reach)
        size = dtype.itemsize
        flat = self.span(address + low * size, (high - low + 1) * size)
        if address % size:
            raise FatalDeviceError(f"the kernel used address {address:#x}, not aligned to its {size} bytes.", 716)
        return numpy.lib.stride_tricks.as_strided(
            flat.view(dtype)[-low:], tuple(sizes), tuple(stride * size for stride in strides)
        )
