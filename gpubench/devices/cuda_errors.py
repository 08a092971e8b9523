"""What CUDA's error codes mean for a run: the one table that turns them into gpubench's errors.

Driver and runtime share the numbers of everything that a kernel can cause. An error is fatal when the context is lost
with it, so that every later call of the process fails too.
"""

from __future__ import annotations

import re
from types import TracebackType

from gpubench.errors import DeviceError, FatalDeviceError, GpubenchError, NoDeviceError, OutOfMemoryError

OUT_OF_MEMORY = 2
LAST_HARMLESS = 699
"""Codes up to here concern one call, unless `FATAL` names them; codes above are fatal unless `HARMLESS` names them."""

NO_DEVICE = frozenset(
    {
        35,  # the driver is older than the runtime
        100,  # no device
        101,  # no device of this number
        803,  # kernel module and driver library do not match
        804,  # forward compatibility is not supported on this GPU
    }
)
FATAL = frozenset(
    {
        3,  # not initialised, or initialisation failed
        4,  # the driver is shutting down
        201,  # no context any more
        214,  # uncorrectable ECC error
        220,  # uncorrectable NVLink error
        226,  # an error contained to this context
    }
)
HARMLESS = frozenset({
    701,  # a launch that asks for too many resources
    704, 705,  # peer access already, or not, enabled
    708,  # the primary context is active already
    711, 712, 713,  # peer and host registrations
    720,  # a cooperative launch that is too large
    800, 801, 802,  # not permitted, not supported, not ready
    *range(900, 910),  # a capture of a stream that met what cannot be captured
})  # fmt: skip

REFUSED_PTX = frozenset({209, 218, 221, 222})
"""Codes by which the driver says that it cannot compile a PTX, whatever it may do for others."""

MEANINGS = {
    2: "the device has not enough free memory",
    35: "the NVIDIA driver is older than this CUDA runtime needs; install the extra that fits it, or update the driver",
    100: "there is no CUDA device that this process may use",
    209: "the kernel was not compiled for this GPU",
    214: "an ECC error that could not be corrected; the GPU needs care",
    218: "the kernel's machine code was refused by the driver",
    220: "an NVLink error that could not be corrected",
    221: "the driver's compiler of PTX is not there",
    222: "the PTX is of a newer CUDA than this driver knows",
    226: "an error reported by a device the kernel's data came through",
    700: "the kernel touched memory that it must not (an address outside every allocation)",
    701: "a launch asked for more registers, threads or shared memory than an SM has",
    702: "the kernel ran longer than the display's time limit",
    710: "the kernel's own assertion failed",
    714: "the kernel's stack was corrupted",
    715: "the kernel met an illegal instruction",
    716: "the kernel used an address that is not aligned to its access",
    717: "the kernel used an address of the wrong memory space",
    718: "the kernel jumped outside its code",
    719: "the kernel failed while it ran",
    720: "a cooperative launch is larger than what fits on the device at once",
    721: "the kernel of another process on this device failed",
    810: "the connection to the device's multi-process server was lost",
}

_PHRASES = (
    (r"OUT_OF_MEMORY|cudaErrorMemoryAllocation|[Oo]ut of memory|RESOURCE_EXHAUSTED", 2),
    (r"NO_DEVICE|cudaErrorNoDevice|no CUDA-capable device", 100),
    (r"cudaErrorInsufficientDriver", 35),
    (r"ILLEGAL_ADDRESS|cudaErrorIllegalAddress|illegal memory access", 700),
    (r"MISALIGNED_ADDRESS|cudaErrorMisalignedAddress|misaligned address", 716),
    (r"LAUNCH_FAILED|cudaErrorLaunchFailure|unspecified launch failure", 719),
    (r"device-side assert", 710),
)
"""For exceptions that carry only text, as those of other libraries on the device do: what is found, and the code."""


def is_fatal(code: int) -> bool:
    """Tell whether the process can no longer use the device after this code."""
    if code in FATAL:
        return True
    return code > LAST_HARMLESS and code not in HARMLESS


def code_of(error: BaseException) -> int | None:
    """Return the CUDA code of an exception of the bindings, None where it carries none."""
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return status
    text = str(error)
    return next((code for pattern, code in _PHRASES if re.search(pattern, text)), None)


def translate(error: BaseException, doing: str) -> GpubenchError:
    """Return gpubench's error for an exception of the CUDA bindings raised while `doing` (a phrase: "copying to ...").

    An exception without a code is NoDeviceError when it says that a library cannot be loaded, else DeviceError.
    """
    code = code_of(error)
    if code is None:
        if "load" in str(error) and ".so" in str(error):
            return NoDeviceError(f"CUDA cannot be used: {error}")
        return DeviceError(f"{doing}: {type(error).__name__}: {error}")
    meaning = MEANINGS.get(code)
    text = f"{doing}: {error} (code {code})" + (f"; {meaning}" if meaning else "") + "."
    if code in NO_DEVICE:
        return NoDeviceError(text)
    if code == OUT_OF_MEMORY:
        return OutOfMemoryError(text, code)
    if is_fatal(code):
        return FatalDeviceError(text, code)
    return DeviceError(text, code)


class reporting:  # noqa: N801 - reads as a phrase: `with reporting("copying to the device"):`
    """A context manager that turns the bindings' exceptions into gpubench's."""

    __slots__ = ("doing",)

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Translate a RuntimeError of the bindings; let everything else pass."""
        del kind, traceback
        if isinstance(error, RuntimeError):
            raise translate(error, self.doing) from error
