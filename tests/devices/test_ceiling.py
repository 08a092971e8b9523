"""The ceilings, on a device whose times are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpubench.devices.ceiling import LARGE, LARGE_COPY, ROUNDS, SIZES, WAKE_S, measure_again, measure_ceiling
from gpubench.devices.ceiling_ways import UNROLLS
from gpubench.devices.fake_memory import FakeBuffer
from gpubench.model import Ceiling, CeilingPoint, Plan, Sample
from tests.devices.cuda_double import INFO


class MadeUp:
    """Takes the time that `us(name of what ran last, its grid)` gives."""

    info = INFO

    def __init__(self, us: Callable[[str], float], free: int = 2**40) -> None:
        self.us = us
        self.free = free
        self.ran = "nothing"
        self.plans: list[Plan] = []
        self.allocated: list[int] = []

    def allocate(self, nbytes: int) -> FakeBuffer:
        """Make host memory."""
        self.allocated.append(nbytes)
        return FakeBuffer(nbytes)

    def free_bytes(self) -> int:
        """Return what the test wants."""
        return self.free

    def upload(self, array: Any, buffer: Any) -> None:
        """Check that the array fits."""
        assert array.nbytes == buffer.nbytes

    def download(self, buffer: Any, array: Any) -> None:
        """Give spans of 1 us."""
        assert array.nbytes == buffer.nbytes
        array[:] = (1000, 2000)

    def _run(self, name: str) -> None:
        self.ran = name

    def copy(self, source: Any, target: Any) -> None:
        """Take the time of a driver's copy."""
        assert source.nbytes == target.nbytes
        self._run("driver copy")

    def fill(self, buffer: Any, byte: int) -> None:
        """Take the time of a driver's fill."""
        del buffer, byte
        self._run("driver fill")

    def bind(self, plan: Plan, addresses: Mapping[str, int], workspace: Any) -> Any:
        """Remember the plan."""
        del addresses, workspace
        self.plans.append(plan)
        device = self

        class Bound:
            def run(self) -> None:
                device._run(plan.variant)

        return Bound()

    def synchronize(self) -> None:
        """Nothing is pending."""

    def sample(
        self, method: str, restore: Callable[[], None], run: Callable[[], None], batch: int = 1
    ) -> Sequence[Sample]:
        """Run once."""
        assert method == "cold"
        restore()
        self.ran = "nothing"
        run()
        return [Sample(self.us(self.ran))] * batch


def measured(device: MadeUp, *sizes: int) -> Ceiling:
    """Measure on the made-up device."""
    return measure_ceiling(device, sizes)  # type: ignore[arg-type] # only what a ceiling needs of a device


def test_the_fastest_candidate_counts_at_each_size() -> None:
    """Own kernels and the driver's compete; a copy, a read and a write of one size move the same number of bytes."""
    times = {
        "nothing": 1.25,
        "one_element": 3.5,
        "self_timed": 4.236,
        "copy<4>": 2.0,
        "driver fill": 0.5,
        "read<8>": 1.0,
    }
    ceiling = measured(MadeUp(lambda name: times.get(name, 10.0)), 16000)
    (point,) = ceiling.sweep
    assert (point.bytes, point.copy_us, point.read_us, point.write_us) == (16000, 2.0, 1.0, 0.5)
    assert (ceiling.copy_GBps, ceiling.read_GBps, ceiling.write_GBps) == (8.0, 16.0, 32.0)
    assert ceiling.event_overhead_us == 1.25
    assert ceiling.launch_us == 3.5
    assert ceiling.launch_overhead_us == pytest.approx(2.5)


def test_an_idle_gpu_is_woken_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is timed, not even an empty launch, before the device has copied for as long as its clocks need."""
    now = 0.0
    timed_at: list[float] = []
    monkeypatch.setattr("gpubench.devices.ceiling.time.monotonic", lambda: now)

    class Idle(MadeUp):
        def synchronize(self) -> None:
            nonlocal now
            now += 0.06

    def us(name: str) -> float:
        del name
        timed_at.append(now)
        return 1.0

    measured(Idle(us), 1024)
    assert min(timed_at) >= WAKE_S


def test_the_rates_of_the_run_are_those_of_large_operands() -> None:
    """The sweep goes from sizes where a launch rules to many times the cache, and holds both sizes of the rates."""
    assert LARGE in SIZES
    assert LARGE_COPY in SIZES
    assert min(SIZES) <= 2**16
    assert max(SIZES) >= 2**31


def test_sizes_beyond_memory_are_left_out() -> None:
    """A full GPU still gives a ceiling: no operand is more than a quarter of what is free."""
    device = MadeUp(lambda _: 1.0, free=8000)
    assert [point.bytes for point in measured(device, 1024, 4096).sweep] == [1024]
    assert max(device.allocated) <= 2000


def test_little_memory_makes_smaller_operands() -> None:
    """Where not even the smallest size fits, what fits is taken."""
    ceiling = measured(MadeUp(lambda _: 1.0, free=4001), 2**20)
    assert [point.bytes for point in ceiling.sweep] == [992]


def test_every_vector_is_covered_once() -> None:
    """Grid times block times unroll is the smallest multiple that covers all vectors."""
    device = MadeUp(lambda _: 1.0)
    vectors = 100_003
    measured(device, 32 * vectors)
    copies = [plan for plan in device.plans if plan.variant.startswith("copy")][: len(UNROLLS)]
    for plan, unroll in zip(copies, UNROLLS, strict=True):
        (launch,) = plan.launches
        tile = launch.block[0] * unroll
        assert (launch.grid[0] - 1) * tile < vectors <= launch.grid[0] * tile


def test_rounds_time_the_fastest_way_again_in_new_buffers() -> None:
    """Each round allocates anew, times only the chosen ways, and the least time found is the ceiling."""
    times = {"copy<4>": 2.0, "driver fill": 0.5, "read<8>": 1.0, "nothing": 1.25, "one_element": 3.5}
    device = MadeUp(lambda name: times.get(name, 10.0))
    ceiling = measured(device, 16000)
    assert [sweep.phase for sweep in ceiling.rounds] == ["start"] * ROUNDS
    assert all((sweep.launch_us, sweep.event_overhead_us) == (3.5, 1.25) for sweep in ceiling.rounds)
    ways = [(point.copy_by, point.read_by, point.write_by) for sweep in ceiling.rounds for point in sweep.sweep]
    assert ways == [("copy<4>", "read<8>", "device fill")] * ROUNDS
    assert device.allocated.count(16000) == 2 * (ROUNDS + 1)


def test_the_least_of_all_rounds_is_the_ceiling() -> None:
    """A round that comes out faster than the choice did lowers the ceiling: nothing reached in a run is beyond it."""
    reads = 0

    def us(name: str) -> float:
        nonlocal reads
        reads += name == "read<1>"
        return 10.0 - reads if name == "read<1>" else 10.0

    ceiling = measured(MadeUp(us), 16000)
    assert [sweep.sweep[0].read_us for sweep in ceiling.rounds] == [8.0, 7.0, 6.0]
    assert ceiling.sweep[0].read_us == 6.0


def test_the_end_of_a_run_times_the_same_ways() -> None:
    """What was chosen at the start is timed again, though another way were faster by now; the sweep itself stays."""
    before = measured(MadeUp(lambda name: 1.0 if name == "read<2>" else 2.0), 16000)
    device = MadeUp(lambda name: 5.0 if name == "read<2>" else 1.0)
    after = measure_again(device, before)  # type: ignore[arg-type] # only what a ceiling needs of a device
    assert after.sweep == before.sweep
    assert [sweep.phase for sweep in after.rounds] == ["start"] * ROUNDS + ["end"] * ROUNDS
    assert {sweep.sweep[0].read_us for sweep in after.rounds[ROUNDS:]} == {5.0}


def test_a_sweep_of_unknown_ways_is_left_alone() -> None:
    """Nothing is timed that could not be compared with the start of the run."""
    before = Ceiling(sweep=(CeilingPoint(16000, 1.0, 1.0, 1.0),))
    device = MadeUp(lambda _: 1.0)
    assert measure_again(device, before) == before  # type: ignore[arg-type] # as above
    assert not device.allocated


def test_old_gpus_are_asked_for_no_hints() -> None:
    """A GPU whose L2 cache takes no hints never gets a kernel with one; newer ones try them in reads and copies."""
    old, new = MadeUp(lambda _: 1.0), MadeUp(lambda _: 1.0)
    old.info = replace(INFO, compute_capability=(7, 5))
    for device in (old, new):
        measured(device, 1024)
    hinted = [{plan.variant for plan in device.plans if "evict_first" in plan.variant} for device in (old, new)]
    assert hinted[0] == set()
    assert {name.partition(" ")[0] for name in hinted[1]} == {"read", "copy"}


def test_a_tie_goes_to_the_first_way() -> None:
    """Ways within one step of the timer are equal, so that two runs time the same work; a faster one wins."""
    times = {"read<1>": 4.032, "read<2>": 4.0, "copy<1>": 4.064, "copy<8>": 4.0}
    (point,) = measured(MadeUp(lambda name: times.get(name, 9.0)), 16000).sweep
    assert (point.read_by, point.copy_by) == ("read<1>", "copy<8>")
