"""The CUDA device on a double of its bindings: what it says of itself, memory, and life after a fatal error."""

from __future__ import annotations

import numpy as np
import pytest

from gpubench.devices import cuda, cuda_launch, cuda_timing, nvml
from gpubench.devices.cuda import CudaDevice
from gpubench.errors import DeviceError, FatalDeviceError, NoDeviceError
from tests.devices.cuda_double import CudaDouble, compile_nothing


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> CudaDouble:
    """Put a double in the place of CUDA, and nothing in that of NVML."""
    made = CudaDouble()
    monkeypatch.setattr(cuda, "binding", made.binding)
    monkeypatch.setattr(cuda_launch, "compile_instance", compile_nothing)
    monkeypatch.setattr(cuda_timing, "reset_persisting_l2", lambda: None)
    monkeypatch.setattr(nvml, "_nvml", lambda: None)
    nvml._handle.cache_clear()
    return made


def test_figures_come_from_cuda(double: CudaDouble) -> None:
    """Also with no NVML: then there is no telemetry, and the rest stands."""
    device = CudaDevice(1)
    assert double.opened == 1
    assert (device.info.name, device.info.compute_capability, device.info.sm_count) == ("Double 1", (9, 0), 4)
    assert device.info.theoretical_GBps == 4916.7
    assert device.info.properties["pci_bus_id"] == "0000:01:00.0"
    assert device.telemetry() == {}
    assert device.free_bytes() == 900


def test_bytes_go_to_the_device_and_back(double: CudaDouble) -> None:
    """Through upload, copy and download, in stream order; an empty array is fine."""
    device = CudaDevice(0)
    data = np.arange(100, dtype=np.float32)
    first, second = device.allocate(data.nbytes), device.allocate(data.nbytes)
    device.upload(data, first)
    device.copy(first, second)
    back = np.empty_like(data)
    device.download(second, back)
    assert np.array_equal(back, data)
    device.upload(np.empty(0, np.float32), device.allocate(0))
    assert double.queue == []


def test_what_does_not_fit_is_refused(double: CudaDouble) -> None:
    """Before anything is overwritten."""
    del double
    device = CudaDevice(0)
    small, large = device.allocate(4), device.allocate(8)
    with pytest.raises(DeviceError, match="does not fit"):
        device.upload(np.zeros(2, np.float32), small)
    with pytest.raises(DeviceError, match="contiguous: False"):
        device.download(large, np.zeros((4, 2), np.uint8)[:, 0])
    with pytest.raises(DeviceError, match="cannot be copied"):
        device.copy(small, large)


def test_closing_after_a_fatal_error_is_quiet(double: CudaDouble) -> None:
    """The context is gone; the worker must still end in order."""
    device = CudaDevice(0)
    device.sample("cold", lambda: None, lambda: None)
    double.failing |= {"synchronize": 700, "free": 700}
    with pytest.raises(FatalDeviceError):
        device.synchronize()
    device.close()


def test_a_missing_device_is_told_as_such(double: CudaDouble) -> None:
    """CUDA's own codes for no device become NoDeviceError."""
    double.failing["properties"] = 100
    with pytest.raises(NoDeviceError):
        CudaDevice(0)
