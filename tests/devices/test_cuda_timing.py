"""The GPU's timing recipe, without a GPU: what is enqueued, in which order, and what happens when something fails."""

from __future__ import annotations

import pytest

from gpubench.devices import cuda_launch, cuda_timing
from gpubench.devices.cuda_launch import KernelLoader
from gpubench.devices.cuda_timing import BATCH, Sampler
from gpubench.errors import DeviceError, FatalDeviceError
from gpubench.model import REPEATS, Sample
from tests.devices.cuda_double import INFO, CudaDouble, compile_nothing

WORK = "work"


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> CudaDouble:
    """Return a CUDA double with kernels that need no compiler."""
    monkeypatch.setattr(cuda_launch, "compile_instance", compile_nothing)
    double = CudaDouble()
    monkeypatch.setattr(cuda_timing, "reset_persisting_l2", lambda: double.log.append("reset"))
    return double


class Bench:
    """A sampler on the double, with work and a restore that leave their names in the log."""

    def __init__(self, double: CudaDouble) -> None:
        self.double = double
        loader = KernelLoader(double.binding(), INFO)
        self.sampler = Sampler(double.binding(), loader, INFO, 1)
        self.function, _ = loader.load("x.cu", WORK)

    def run(self) -> None:
        """Enqueue the work."""
        self.double._enqueue(WORK, lambda: self.double._execute(WORK, []))

    def restore(self) -> None:
        """Enqueue a restore."""
        self.double._enqueue("restore", lambda: None)

    def sample(self, method: str, batch: int = 1) -> list[Sample]:
        """Sample the work."""
        return self.sampler.sample(method, self.restore, self.run, batch)  # type: ignore[arg-type] # any str, for tests


def test_cold_sample_restores_flushes_and_times_only_the_work(double: CudaDouble) -> None:
    """Restore and flush of twice the L2; behind the gate stamp, event, work, event, stamp; nothing else in between."""
    bench = Bench(double)
    (sample,) = bench.sample("cold")
    assert double.log[double.log.index("restore") : -1] == [
        "restore",
        f"memset {2 * INFO.l2_bytes}",
        "event",  # with the one before the restore: how long the GPU is busy before the gate
        "gpubench::harness::blocker",
        "gpubench::harness::stamp",
        "event",
        WORK,
        "event",
        "gpubench::harness::stamp",
    ]
    assert sample.us == pytest.approx(double.kernel_us)
    assert sample.sm_mhz == pytest.approx(double.mhz, rel=1e-3)


@pytest.mark.parametrize("method", ["cold", "hot", "graph", "graph-cold"])
def test_pinned_lines_are_set_free_before_every_sample(double: CudaDouble, method: str) -> None:
    """What a run told the L2 cache to keep serves no later sample: neither its own nor another contender's."""
    bench = Bench(double)
    bench.sample(method, BATCH + 2)
    log = [name for name in double.log if name in ("reset", "restore", "gpubench::harness::blocker")]
    assert log == ["reset", "restore", "gpubench::harness::blocker"] * (BATCH + 2)


def test_a_cold_graph_is_restored_and_flushed_before_each_replay(double: CudaDouble) -> None:
    """Each sample is one replay of a graph of one run, right after a flush of its own."""
    bench = Bench(double)
    samples = bench.sample("graph-cold", 3)
    log = [name for name in double.log if name in ("restore", "graph", f"memset {2 * INFO.l2_bytes}")]
    assert log == ["restore", f"memset {2 * INFO.l2_bytes}", "graph"] * 3
    assert [sample.us for sample in samples] == [pytest.approx(double.kernel_us)] * 3


def test_nothing_waits_behind_a_sample(double: CudaDouble) -> None:
    """Each sample has a gate of its own and is over before the next is enqueued: a full queue delays the event."""
    bench = Bench(double)
    assert len(bench.sample("cold", 5)) == 5
    assert double.log.count("gpubench::harness::blocker") == 5
    behind = [index for index, name in enumerate(double.log) if name == "gpubench::harness::blocker"]
    for index in behind:
        stamp = "gpubench::harness::stamp"
        assert double.log[index + 1 : index + 6] == [stamp, "event", WORK, "event", stamp]


def test_large_batches_are_read_in_parts(double: CudaDouble) -> None:
    """More samples than there are stamps and events: they are read and used again."""
    bench = Bench(double)
    samples = bench.sample("cold", 2 * BATCH + 1)
    assert [sample.us for sample in samples] == pytest.approx([double.kernel_us] * (2 * BATCH + 1))


@pytest.mark.parametrize("method", ["hot", "graph"])
def test_hot_and_graph_samples_are_means_of_repeats_after_one_untimed_run(double: CudaDouble, method: str) -> None:
    """The time of one run, from several between the events; no flush."""
    bench = Bench(double)
    samples = bench.sample(method, 2)
    assert [sample.us for sample in samples] == pytest.approx([double.kernel_us] * 2)
    assert f"memset {2 * INFO.l2_bytes}" not in double.log
    if method == "hot":
        first, last = [index for index, name in enumerate(double.log) if name == "event"][2:4]
        assert double.log[first + 1 : last] == [WORK] * REPEATS


@pytest.mark.parametrize(("method", "runs_before"), [("cold", 0), ("hot", 1), ("graph", REPEATS)])
def test_the_work_on_samples_is_added_up_by_the_gpu_s_own_clock(
    double: CudaDouble, method: str, runs_before: int
) -> None:
    """Restore, flush, untimed and timed runs count, for every sample of every batch; the host's time does not."""
    bench = Bench(double)
    bench.restore = lambda: double._enqueue("restore", lambda: double.pass_us(7.0))  # type: ignore[method-assign]
    flush_us = 28.0 if method == "cold" else 0.0
    double.memset_us = {2 * INFO.l2_bytes: flush_us}
    count, timed = BATCH + 3, 1 if method == "cold" else REPEATS
    bench.sample(method, count)
    each = 7.0 + flush_us + (runs_before + timed) * double.kernel_us
    assert bench.sampler.worked_s == pytest.approx(count * each / 1e6)


def test_samples_have_no_more_digits_than_a_clock_can_mean(double: CudaDouble) -> None:
    """Events give binary fractions of milliseconds; seventeen digits of each would be most of a result file."""
    double.kernel_us = 5.343999713659286
    (sample,) = Bench(double).sample("cold")
    assert sample.us == 5.344


def test_work_that_fails_to_enqueue_still_releases_the_stream(double: CudaDouble) -> None:
    """An error between closing and opening the gate must not leave the GPU waiting for two seconds."""
    bench = Bench(double)

    def broken() -> None:
        raise DeviceError("no")

    with pytest.raises(DeviceError, match="no"):
        bench.sampler.sample("cold", bench.restore, broken, 1)
    double.streamSynchronize(1)
    assert not bench.sampler._gate.expired


def test_a_gate_that_expired_gives_no_sample(double: CudaDouble) -> None:
    """Work that waits for the device itself cannot be timed behind the gate: an error, never a wrong time."""
    bench = Bench(double)

    def waiting() -> None:
        bench.run()
        double.streamSynchronize(1)

    with pytest.raises(DeviceError, match="waits for the"):
        bench.sampler.sample("cold", bench.restore, waiting, 3)


def test_a_fatal_error_while_timing_is_fatal(double: CudaDouble) -> None:
    """The code of the synchronisation decides."""
    bench = Bench(double)
    double.failing["synchronize"] = 700
    with pytest.raises(FatalDeviceError, match="outside every allocation"):
        bench.sample("cold")


def test_a_failed_capture_leaves_the_stream_usable(double: CudaDouble) -> None:
    """The capture is ended when the work fails, so that later work is not swallowed by it."""
    bench = Bench(double)

    def broken() -> None:
        raise DeviceError("cannot be captured")

    with pytest.raises(DeviceError, match="cannot be captured"):
        bench.sampler.sample("graph", bench.restore, broken, 1)
    assert double.captured is None
    assert len(bench.sample("cold")) == 1


def test_everything_is_given_back(double: CudaDouble) -> None:
    """After close no allocation of the sampler is left."""
    bench = Bench(double)
    bench.sample("cold")
    bench.sampler.close()
    assert not double.live
