"""CuPy's thin bindings to the CUDA driver and runtime, imported late and in one place."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

from gpubench.devices.nvml import suitable_extra
from gpubench.errors import MissingExtraError


class Binding(NamedTuple):
    """The two modules. They carry no type hints; the names used are those of CUDA without `cu` or `cuda`."""

    driver: Any
    runtime: Any


@functools.cache
def binding() -> Binding:
    """Return the bindings. MissingExtraError, naming the extra that fits the driver, when CuPy is not installed."""
    try:
        from cupy_backends.cuda.api import driver, runtime
    except ImportError as error:
        raise MissingExtraError("cupy", suitable_extra()) from error
    return Binding(driver, runtime)


@functools.cache
def _persisting_reset() -> Any:
    """Return the driver's cuCtxResetPersistingL2Cache, which CuPy does not bind; None where there is none."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache
    except (OSError, AttributeError):
        return None


def reset_persisting_l2() -> None:
    """Turn all lines that a kernel pinned in the L2 cache into ordinary ones; nothing where the driver cannot."""
    function = _persisting_reset()
    if function is not None:
        function()  # its code tells only that the GPU has no such lines
