"""Memory of the GPU, and the words in host memory through which host and GPU talk while kernels run."""

from __future__ import annotations

import contextlib
import ctypes
import weakref
from typing import Any

from gpubench.devices.cuda_binding import Binding
from gpubench.devices.cuda_errors import reporting

SMALLEST = 256
"""Bytes taken for an empty buffer, so that it too has an address of its own."""

WORD = 4
"""Sizes are rounded up to this: an atomic addition to the last 16-bit element goes through the word that holds it."""


def _give_back(free: Any, address: int) -> None:
    """Free one allocation. After a fatal error the context is gone and its memory with it: nothing is left to do."""
    with contextlib.suppress(RuntimeError):
        free(address)


class CudaBuffer:
    """One allocation of the CUDA runtime: 256-byte aligned, given back when the last reference goes."""

    __slots__ = ("__weakref__", "_address", "_finalizer", "_nbytes")

    def __init__(self, binding: Binding, nbytes: int) -> None:
        """Allocate. OutOfMemoryError when the device refuses."""
        with reporting(f"allocating {nbytes} bytes on the device"):
            self._address: int = binding.runtime.malloc(-(-nbytes // WORD) * WORD or SMALLEST)
        self._nbytes = nbytes
        self._finalizer = weakref.finalize(self, _give_back, binding.runtime.free, self._address)

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self._address

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._nbytes

    def release(self) -> None:
        """Give the memory back now."""
        self._finalizer()


class Mailbox:
    """Two words of pinned host memory that the GPU sees at the same address: `released` and `expired` of the gate."""

    __slots__ = ("__weakref__", "_finalizer", "address", "words")

    def __init__(self, binding: Binding) -> None:
        """Allocate and clear."""
        runtime = binding.runtime
        with reporting("allocating pinned host memory"):
            # 64-bit processes have one address space: the device address of mapped memory is its host address
            self.address: int = runtime.hostAlloc(64, runtime.hostAllocMapped | runtime.hostAllocPortable)
        self.words = (ctypes.c_uint32 * 2).from_address(self.address)
        self.words[0] = self.words[1] = 0
        self._finalizer = weakref.finalize(self, _give_back, runtime.freeHost, self.address)

    @property
    def expired_address(self) -> int:
        """The address of the second word."""
        return self.address + ctypes.sizeof(ctypes.c_uint32)

    def release(self) -> None:
        """Give the memory back now."""
        self._finalizer()
