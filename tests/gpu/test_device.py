"""The CUDA device on a real GPU: memory, clocks, timing methods, errors. Run with: pytest tests/gpu/test_device.py."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpubench.devices.ceiling import measure_ceiling
from gpubench.devices.ceiling_ways import SOURCE, expression
from gpubench.devices.cuda import CudaDevice
from gpubench.devices.cuda_launch import PreparedLaunch
from gpubench.devices.harness import NAMESPACE
from gpubench.errors import DeviceError, OutOfMemoryError
from gpubench.model import Accuracy, Launch, Plan, Pointer, Sample, Value

pytestmark = pytest.mark.gpu
MIB = 2**20


class Copy:
    """Our copy kernel from one buffer to another."""

    def __init__(self, device: CudaDevice, nbytes: int) -> None:
        self.source, self.target = device.allocate(nbytes), device.allocate(nbytes)
        device.fill(self.source, 0x3C)
        vectors = nbytes // 16
        arguments = (Pointer("source"), Pointer("target"), Value(vectors.to_bytes(8, "little")))
        launch = Launch(SOURCE, NAMESPACE + expression("copy<4>"), (-(-vectors // 1024), 1, 1), (256, 1, 1), arguments)
        addresses = {"source": self.source.address, "target": self.target.address}
        self.run = device.bind(Plan("copy", (launch,), Accuracy(0, "float32")), addresses, device.allocate(0)).run
        self.run()
        device.synchronize()


def nothing() -> None:
    """Restore nothing."""


def median(samples: list[Sample] | tuple[Sample, ...]) -> float:
    """Return the median time."""
    return statistics.median(sample.us for sample in samples)


def timed(device: CudaDevice, method: str, run: Callable[[], None], batch: int = 15) -> float:
    """Return the median of a batch."""
    return median(list(device.sample(method, nothing, run, batch)))  # type: ignore[arg-type] # any of the methods


def test_figures_are_plausible(device: CudaDevice) -> None:
    """The facts that plans and records rely on are there."""
    info = device.info
    assert info.sm_count > 0
    assert info.l2_bytes >= MIB
    assert info.memory_bytes > 2**30
    assert info.max_shared_bytes >= 48 * 1024
    assert info.theoretical_GBps is None or info.theoretical_GBps > 50
    assert str(info.properties["uuid"]).startswith("GPU-")
    assert set(device.telemetry()) == {"sm_mhz", "memory_mhz", "power_w", "temperature_c", "throttle"}


def test_bytes_come_back(device: CudaDevice) -> None:
    """Upload, copy, fill and download, on an odd size."""
    data = np.random.default_rng(1).integers(0, 256, 1_000_003, np.uint8)
    first, second = device.allocate(data.nbytes), device.allocate(data.nbytes)
    assert first.address % 256 == 0
    device.upload(data, first)
    device.copy(first, second)
    back = np.empty_like(data)
    device.download(second, back)
    assert np.array_equal(back, data)
    device.fill(second, 0xAB)
    device.download(second, back)
    assert set(back.tolist()) == {0xAB}


def test_memory_is_really_given_back(device: CudaDevice) -> None:
    """No pool keeps it: the driver sees it free again."""
    before = device.free_bytes()
    buffer = device.allocate(2**30)
    assert device.free_bytes() < before - 2**29
    del buffer
    assert device.free_bytes() > before - 2**26


def test_a_refused_allocation_harms_nothing(device: CudaDevice) -> None:
    """The device works on after it."""
    with pytest.raises(OutOfMemoryError):
        device.allocate(2**50)
    Copy(device, MIB)


def test_events_agree_with_the_wall_clock(device: CudaDevice) -> None:
    """A long run of copies takes, by events, what it takes by the host's clock, within 2 %."""
    copy = Copy(device, 512 * MIB)
    started = time.perf_counter()
    for _ in range(200):
        copy.run()
    device.synchronize()
    wall = (time.perf_counter() - started) / 200 * 1e6
    assert timed(device, "hot", copy.run, 4) == pytest.approx(wall, rel=0.02)


def test_flush_makes_it_cold(device: CudaDevice) -> None:
    """A buffer that lies in the L2 cache is read clearly slower after the flush; hot and graph leave it there."""
    copy = Copy(device, device.info.l2_bytes // 8 // 16 * 16)
    cold, hot, graph = (timed(device, method, copy.run) for method in ("cold", "hot", "graph"))
    print(f"cold {cold:.2f} us, hot {hot:.2f} us, graph {graph:.2f} us")
    assert cold > 1.2 * hot
    assert graph < 1.2 * hot


def test_hot_graph_and_cold_agree_where_no_cache_helps(device: CudaDevice) -> None:
    """On a copy of many times the L2 cache the method hardly matters."""
    copy = Copy(device, 1024 * MIB)
    cold, hot, graph = (timed(device, method, copy.run, 4) for method in ("cold", "hot", "graph"))
    assert hot == pytest.approx(cold, rel=0.05)
    assert graph == pytest.approx(cold, rel=0.05)


def test_the_host_is_not_in_the_time(device: CudaDevice) -> None:
    """A host that is slow to enqueue does not lengthen a cold sample: the gate holds the stream meanwhile."""
    copy = Copy(device, MIB)

    def slow() -> None:
        time.sleep(0.02)
        copy.run()

    plain, delayed = timed(device, "cold", copy.run), timed(device, "cold", slow)
    assert delayed == pytest.approx(plain, rel=0.25, abs=1.0)


def test_the_sm_clock_is_plausible(device: CudaDevice) -> None:
    """Every cold sample carries a clock between 200 MHz and the GPU's maximum, and they agree."""
    copy = Copy(device, 256 * MIB)
    device.sample("cold", nothing, copy.run, 30)
    clocks = [sample.sm_mhz for sample in device.sample("cold", nothing, copy.run, 30)]
    print("SM MHz:", clocks, "NVML:", device.telemetry())
    known = [clock for clock in clocks if clock is not None]
    assert len(known) == 30
    highest = device.info.properties.get("max_sm_mhz") or 5000
    assert all(200 < clock < 1.05 * highest for clock in known)
    assert max(known) / min(known) < 1.2


def test_the_blocker_lets_go_by_itself(device: CudaDevice) -> None:
    """A host that never answers costs seconds, not the GPU; what was timed then is refused, and all works on."""
    copy = Copy(device, MIB)

    def waits() -> None:
        copy.run()
        device.synchronize()

    started = time.perf_counter()
    with pytest.raises(DeviceError, match="waits for the"):
        device.sample("cold", nothing, waits, 1)
    assert 1.5 < time.perf_counter() - started < 20
    assert timed(device, "cold", copy.run) < 1000


def test_large_batches_do_not_fill_the_queue(device: CudaDevice) -> None:
    """A hundred samples of a run of 20 launches: split, never deadlocked."""
    copy = Copy(device, MIB)

    def many() -> None:
        for _ in range(20):
            copy.run()

    started = time.perf_counter()
    assert len(device.sample("cold", nothing, many, 100)) == 100
    assert time.perf_counter() - started < 1.5


def test_enqueuing_costs_microseconds(device: CudaDevice) -> None:
    """A prepared launch is no slower than about 20 us of host time."""
    copy = Copy(device, 16)
    started = time.perf_counter()
    for _ in range(500):
        copy.run()
    each = (time.perf_counter() - started) / 500 * 1e6
    device.synchronize()
    print(f"{each:.2f} us a launch")
    assert each < 20


def test_more_than_two_to_the_31_elements(device: CudaDevice) -> None:
    """Offsets beyond 32 bits reach the end of a large buffer."""
    size = 2**31 + 4096
    if device.free_bytes() < 2 * size + 2**30:
        pytest.skip("too little memory")
    copy = Copy(device, size)
    tail = np.empty(size, np.uint8)
    device.download(copy.target, tail)
    assert tail[0] == tail[2**31] == tail[-1] == 0x3C


def test_ceilings_are_under_the_theoretical_rate(device: CudaDevice) -> None:
    """And not far below: a harness that cannot reach two thirds of it measures itself."""
    ceiling = measure_ceiling(device)
    print(ceiling)
    theoretical = device.info.theoretical_GBps
    for rate in (ceiling.copy_GBps, ceiling.read_GBps, ceiling.write_GBps):
        assert rate is not None
        assert theoretical is None or 0.66 * theoretical < rate < 1.02 * theoretical
    assert ceiling.event_overhead_us is not None
    assert ceiling.launch_us is not None
    assert 0 < ceiling.event_overhead_us < ceiling.launch_us < 50


def test_a_failed_graph_leaves_the_stream_usable(device: CudaDevice) -> None:
    """Work that synchronises cannot be captured: an error of that contender, nothing more."""
    copy = Copy(device, MIB)

    def synchronises() -> None:
        copy.run()
        device.synchronize()

    with pytest.raises(DeviceError):
        device.sample("graph", nothing, synchronises, 1)
    device.synchronize()
    assert timed(device, "graph", copy.run) > 0


def test_launch_arguments_live_as_long_as_the_launch(device: CudaDevice) -> None:
    """The driver reads them at each launch, not when they are made."""
    function, _ = device._loader.load("harness/clock.cu", "gpubench::harness::one_element")
    source, target = device.allocate(4), device.allocate(4)
    device.upload(np.array([2.5], np.float32), source)
    arguments = [source.address.to_bytes(8, "little"), target.address.to_bytes(8, "little")]
    launch = PreparedLaunch(function, (1, 1, 1), (1, 1, 1), 0, device.stream, arguments)
    del arguments
    device._binding.driver.launchKernel(*launch.call)
    back = np.zeros(1, np.float32)
    device.download(target, back)
    assert back[0] == 2.5


BROKEN = """
from gpubench.devices import open_device
from gpubench.errors import FatalDeviceError
from gpubench.model import Accuracy, Launch, Plan, Pointer
device = open_device("cuda:0")
memory = device.allocate(16)
arguments = (Pointer("x"), Pointer("x"))
launch = Launch("harness/clock.cu", "gpubench::harness::one_element", (1, 1, 1), (1, 1, 1), arguments)
run = device.bind(Plan("broken", (launch,), Accuracy(0, "float32")), {"x": ADDRESS}, device.allocate(0)).run
try:
    run()
    device.synchronize()
except FatalDeviceError as error:
    print("fatal", error.code)
try:
    device.allocate(16)
except FatalDeviceError:
    print("still fatal")
device.close()
"""


@pytest.mark.parametrize(("address", "code"), [("256", 700), ("memory.address + 1", 716)])
def test_a_bad_address_is_fatal_and_the_process_ends_cleanly(device: CudaDevice, address: str, code: int) -> None:
    """In a process of its own: the error has its code, later calls fail alike, and close and exit work."""
    del device
    program = BROKEN.replace("ADDRESS", address)
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"fatal {code}", "still fatal"]
    assert done.stderr == ""
