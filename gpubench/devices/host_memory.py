"""Memory of the host device: exact buffers, and the rates that the machine's own memory reaches."""

from __future__ import annotations

import ctypes
import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from gpubench.devices.host_info import available_bytes
from gpubench.errors import OutOfMemoryError
from gpubench.model import Ceiling

if TYPE_CHECKING:
    from gpubench.devices.host_library import Runtime

ALIGNMENT = 256
CEILING_BYTES = 256 << 20
_PASSES = 5

_libc = ctypes.CDLL(None)
_libc.posix_memalign.argtypes = (ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t)
_libc.free.argtypes = (ctypes.c_void_p,)


class HostBuffer:
    """Memory from the C library, 256-byte aligned and exactly as large as asked for.

    So the checks of a kernel's accesses (and AddressSanitizer, which watches the allocator) see its true end.
    """

    _starts: dict[int, int] = {}  # noqa: RUF012 - address to size of all living buffers, shared on purpose

    def __init__(self, runtime: Runtime, nbytes: int) -> None:
        """Allocate. OutOfMemoryError when the system refuses, or when the memory is plainly not there."""
        place = ctypes.c_void_p()
        if nbytes > available_bytes() or _libc.posix_memalign(ctypes.byref(place), ALIGNMENT, max(nbytes, 1)):
            raise OutOfMemoryError(f"{nbytes} bytes of host memory were refused; {available_bytes()} are available.")
        self._runtime = runtime
        self._address = int(place.value or 0)
        self._nbytes = nbytes
        self._starts[self._address] = nbytes
        runtime.know(self._address, nbytes)

    @property
    def address(self) -> int:
        """The address of the first byte."""
        return self._address

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self._nbytes

    @classmethod
    def start_of(cls, address: int) -> int:
        """Return the start of the living buffer in or at whose end `address` lies; the address itself without one."""
        for start, nbytes in cls._starts.items():
            if start <= address <= start + nbytes:
                return start
        return address

    def __del__(self) -> None:
        """Give the memory back."""
        address = getattr(self, "_address", 0)
        if address:
            self._runtime.forget(address)
            self._starts.pop(address, None)
            _libc.free(address)


def measure_ceiling() -> Ceiling:
    """Measure the machine's copy, read and write rates (GB/s) by numpy, the best of one thread and all cores."""
    import numpy

    count = min(CEILING_BYTES, available_bytes() // 16) // 8
    source, target = numpy.ones(count), numpy.zeros(count)
    parts = max(1, os.cpu_count() or 1)
    edges = [count * i // parts for i in range(parts + 1)]
    slices = [slice(a, b) for a, b in itertools.pairwise(edges)]
    with ThreadPoolExecutor(parts) as pool:

        def best(action: Callable[[slice], object], nbytes: int) -> float:
            seconds = []
            for spread in (slices, [slice(0, count)]):
                for _ in range(_PASSES):
                    began = time.perf_counter()
                    list(pool.map(action, spread))
                    seconds.append(time.perf_counter() - began)
            return nbytes / min(seconds) / 1e9

        return Ceiling(
            copy_GBps=best(lambda part: numpy.copyto(target[part], source[part]), 2 * source.nbytes),
            read_GBps=best(lambda part: source[part].max(), source.nbytes),
            write_GBps=best(lambda part: target[part].fill(0.0), target.nbytes),
        )
