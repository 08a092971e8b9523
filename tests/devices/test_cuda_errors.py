"""Which CUDA errors end the process's use of the device."""

from __future__ import annotations

import pytest

from gpubench.devices.cuda_errors import reporting, translate
from gpubench.errors import DeviceError, FatalDeviceError, GpubenchError, NoDeviceError, OutOfMemoryError
from tests.devices.cuda_double import CudaError

FATAL = [214, 220, 226, 700, 702, 710, *range(714, 720), 721, 810, 911, 999, 1234]
HARMLESS = [1, 209, 218, 701, 720, 900, 901]


@pytest.mark.parametrize("code", FATAL)
def test_fatal_codes(code: int) -> None:
    """After these the context is lost; unknown codes from 700 on are taken for such."""
    error = translate(CudaError(code), "timing")
    assert isinstance(error, FatalDeviceError)
    assert error.code == code
    assert str(code) in str(error)


@pytest.mark.parametrize("code", HARMLESS)
def test_harmless_codes(code: int) -> None:
    """After these the process can go on."""
    error = translate(CudaError(code), "loading")
    assert type(error) is DeviceError
    assert error.code == code


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CUDA out of memory. Tried to allocate 20.00 GiB", OutOfMemoryError),
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934624 bytes", OutOfMemoryError),
        ("CUDA error: an illegal memory access was encountered", FatalDeviceError),
        ("CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", FatalDeviceError),
        ("something else went wrong", DeviceError),
        ("CuPy failed to load libcuda.so.1: OSError: libcuda.so.1: cannot open shared object file", NoDeviceError),
    ],
)
def test_exceptions_without_a_code_are_read(text: str, kind: type[GpubenchError]) -> None:
    """Other libraries on the device tell the reason in words only."""
    assert type(translate(RuntimeError(text), "running")) is kind


def test_out_of_memory_and_missing_devices_have_their_own_errors() -> None:
    """2 is a full device, 35 and 100 no usable one."""
    assert type(translate(CudaError(2), "allocating")) is OutOfMemoryError
    assert type(translate(CudaError(35), "opening")) is NoDeviceError
    assert type(translate(CudaError(100), "opening")) is NoDeviceError


def test_only_the_bindings_errors_are_translated() -> None:
    """Errors of gpubench's own errors and an interrupt pass through unchanged."""
    with pytest.raises(DeviceError, match=r"^own$"), reporting("x"):
        raise DeviceError("own")
    with pytest.raises(KeyboardInterrupt), reporting("x"):
        raise KeyboardInterrupt
    with pytest.raises(OutOfMemoryError), reporting("x"):
        raise CudaError(2)
