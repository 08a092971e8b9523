from __future__ import annotations

import gc

import numpy as np
import pytest

from gpubench.devices import list_devices, open_device
from gpubench.devices.host import HostDevice
from gpubench.errors import DeviceError, OutOfMemoryError
from gpubench.model import Accuracy, Memset, Plan, Pointer, Workspace
from tests.host.simulate import host


def test_the_host_is_listed_and_opened_by_its_name() -> None:
    """The table of devices knows the host: simulated, with the limits of a GPU."""
    device = open_device("host:schedule=random:5,build=checked")
    assert isinstance(device, HostDevice)
    assert device.options.schedule.seed == 5
    assert device.info.simulated
    assert device.info.kind == "host"
    assert device.info.warp_size == 32
    assert "host" in [device.spec for device in list_devices()[0]]


def test_memory_comes_aligned_exact_and_back() -> None:
    """Buffers are 256-byte aligned, hold what is put into them, and are given back when nobody holds them."""
    device = host()
    for nbytes in (0, 1, 255, 4096 + 3):
        buffer = device.allocate(nbytes)
        assert buffer.address % 256 == 0
        assert buffer.nbytes == nbytes
        data = np.random.default_rng(1).integers(0, 255, nbytes).astype(np.uint8)
        device.upload(data, buffer)
        other = device.allocate(nbytes)
        device.copy(buffer, other)
        back = np.zeros_like(data)
        device.download(other, back)
        assert np.array_equal(back, data)
        device.fill(other, 0xAB)
        device.download(other, back)
        assert (back == 0xAB).all()
    start = buffer.address
    assert type(buffer).start_of(start + 5) == start
    del buffer, other
    gc.collect()


def test_too_much_memory_is_refused_and_nothing_is_lost() -> None:
    """An allocation beyond the machine is an error that can be survived."""
    with pytest.raises(OutOfMemoryError, match="bytes of host memory were refused"):
        host().allocate(1 << 60)
    assert host().allocate(16).nbytes == 16


def test_transfers_beyond_a_buffer_are_refused() -> None:
    """An array that does not fit, or is not contiguous, never spoils memory."""
    device = host()
    buffer = device.allocate(16)
    with pytest.raises(DeviceError, match="does not fit a buffer of 16 bytes"):
        device.upload(np.zeros(17, np.uint8), buffer)
    with pytest.raises(DeviceError, match="contiguous: False"):
        device.download(buffer, np.zeros((4, 4), np.uint8)[:, ::2])
    with pytest.raises(DeviceError, match="cannot be copied"):
        device.copy(buffer, device.allocate(8))


def test_memsets_run_in_order_with_the_plan() -> None:
    """Memset steps reach operands and the workspace at their offsets."""
    device = host()
    y, workspace = device.allocate(8), device.allocate(8)
    for buffer in (y, workspace):
        device.fill(buffer, 0)
    steps = (Memset(Pointer("y", 4), 4, 7), Memset(Workspace(2), 3, 9), Memset(Pointer("y", 6), 1, 1))
    device.bind(Plan("test", steps, Accuracy(0, "float32"), 8), {"y": y.address}, workspace).run()
    found = np.zeros(8, np.uint8)
    device.download(y, found)
    assert found.tolist() == [0, 0, 0, 0, 7, 7, 1, 7]
    device.download(workspace, found)
    assert found.tolist() == [0, 0, 9, 9, 9, 0, 0, 0]


def test_the_ceiling_is_that_of_the_machines_own_memory() -> None:
    """Copy, read and write rates are measured and plausible; launch and event overhead are not those of a GPU."""
    ceiling = host().ceiling()
    rates = [ceiling.copy_GBps, ceiling.read_GBps, ceiling.write_GBps]
    assert all(rate is not None and 0.1 < rate < 5000 for rate in rates)
    assert ceiling.launch_us is None
    assert ceiling.event_overhead_us is None


def test_cold_samples_restore_before_each_run_and_hot_ones_do_not() -> None:
    """The time of restoring is not in a sample; every run gives one."""
    calls: list[str] = []
    device = host()
    samples = device.sample("cold", lambda: calls.append("restore"), lambda: calls.append("run"), 2)
    assert calls == ["restore", "run"] * 2
    assert all(sample.us > 0 for sample in samples)
    calls.clear()
    assert len(device.sample("hot", lambda: calls.append("restore"), lambda: calls.append("run"), 3)) == 3
    assert calls == ["run"] * 3
