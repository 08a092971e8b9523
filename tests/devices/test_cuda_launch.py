"""Launches as the driver gets them."""

from __future__ import annotations

import struct

import pytest

from gpubench.devices import cuda_launch
from gpubench.devices.cuda_launch import CudaExecutable, KernelLoader
from gpubench.devices.cuda_memory import CudaBuffer
from gpubench.errors import DeviceError, FatalDeviceError, OutOfMemoryError
from gpubench.model import Accuracy, Launch, Memset, Plan, Pointer, Value, Workspace
from tests.devices.cuda_double import INFO, CudaDouble, compile_nothing

ACCURACY = Accuracy(0, "float32")


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> CudaDouble:
    """Return a CUDA double with kernels that need no compiler."""
    monkeypatch.setattr(cuda_launch, "compile_instance", compile_nothing)
    return CudaDouble()


def bound(double: CudaDouble, *steps: Launch | Memset) -> CudaExecutable:
    """Bind a plan with one operand `x` at address 4096."""
    binding = double.binding()
    workspace = CudaBuffer(binding, 1024)
    plan = Plan("v", steps, ACCURACY, 1024)
    return CudaExecutable(binding, KernelLoader(binding, INFO), plan, {"x": 4096}, workspace, 1)


def test_arguments_reach_the_driver_as_the_plan_says(double: CudaDouble) -> None:
    """Pointers carry their byte offset, values their bytes; grid, block, shared memory in the driver's order."""
    double.arity["k"] = 2
    arguments = (Pointer("x", 8), Value(struct.pack("<d", 2.5)))
    bound(double, Launch("a.cu", "k", (7, 2, 3), (64, 1, 1), arguments, 512)).run()
    name, shape, shared, packed = double.launches[-1]
    assert (name, shape, shared) == ("k", (7, 2, 3, 64, 1, 1), 512)
    assert packed == [struct.pack("<Q", 4104), struct.pack("<d", 2.5)]


def test_steps_run_in_order_and_memsets_hit_their_target(double: CudaDouble) -> None:
    """A memset of the workspace comes before the kernel that needs it."""
    launch = Launch("a.cu", "k", (1, 1, 1), (32, 1, 1), (Workspace(16), Pointer("x")))
    executable = bound(double, Memset(Workspace(16), 32, 0xFF), launch)
    executable.run()
    double.streamSynchronize(1)
    assert double.log == ["memset 32", "k"]
    assert len(executable.resources) == 1


def test_large_shared_memory_is_asked_for_and_never_lowered(double: CudaDouble) -> None:
    """More than 48 KiB needs the driver's consent; a later plan with less must not take it away from an earlier one."""
    binding = double.binding()
    loader = KernelLoader(binding, INFO)
    for shared in (100_000, 60_000, 120_000):
        loader.ready(Launch("a.cu", "k", (1, 1, 1), (32, 1, 1), (), shared))
    assert [value for _, value in double.attributes] == [100_000, 120_000]


def test_too_much_shared_memory_is_refused_with_the_figures(double: CudaDouble) -> None:
    """Static and dynamic shared memory together count."""
    with pytest.raises(DeviceError, match="233472 bytes of shared memory"):
        bound(double, Launch("a.cu", "k", (1, 1, 1), (32, 1, 1), (), 232448))


def test_occupancy_is_warps_over_the_limit(double: CudaDouble) -> None:
    """Four blocks of 256 threads are 32 of 64 warps."""
    executable = bound(double, Launch("a.cu", "k", (1, 1, 1), (256, 1, 1), ()))
    assert executable.resources[0].occupancy == 0.5


def test_an_instance_is_loaded_once(double: CudaDouble) -> None:
    """Two launches of one kernel share its module."""
    launch = Launch("a.cu", "k", (1, 1, 1), (32, 1, 1), (Pointer("x"), Pointer("x")))
    bound(double, launch, launch).run()
    assert len(double.names) == 1


def test_launch_errors_are_translated(double: CudaDouble) -> None:
    """A refused launch names the variant."""
    executable = bound(double, Launch("a.cu", "k", (1, 1, 1), (32, 1, 1), ()))
    double.failing["launch"] = 719
    with pytest.raises(FatalDeviceError, match="variant v"):
        executable.run()


def test_refused_memory_is_out_of_memory(double: CudaDouble) -> None:
    """An allocation that the device refuses loses nothing."""
    double.failing["malloc"] = 2
    with pytest.raises(OutOfMemoryError, match="allocating 10 bytes"):
        CudaBuffer(double.binding(), 10)


def test_buffers_go_with_their_last_reference(double: CudaDouble) -> None:
    """Memory comes back at once, also for an empty buffer, and a lost context at that moment is no error."""
    buffer = CudaBuffer(double.binding(), 0)
    assert buffer.nbytes == 0
    assert len(double.live) == 1
    del buffer
    assert not double.live
    buffer = CudaBuffer(double.binding(), 5)
    double.failing["free"] = 700
    del buffer
