"""The ceilings, on a device whose times are made up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from gpubench.devices.ceiling import UNROLLS, measure_ceiling
from gpubench.devices.fake_memory import FakeBuffer
from gpubench.model import Plan, Sample


class MadeUp:
    """Takes the time that `us(name of what ran last, its grid)` gives."""

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


def measured(device: MadeUp, *sizes: int) -> Any:
    """Measure on the made-up device."""
    return measure_ceiling(device, sizes)  # type: ignore[arg-type] # only what a ceiling needs of a device


def test_the_fastest_candidate_counts_and_bytes_are_those_of_the_operation() -> None:
    """A copy moves its size twice, a read and a fill once; own kernels and the driver's compete."""
    times = {"nothing": 1.25, "one_element": 3.5, "copy<4>": 2.0, "driver fill": 0.5, "read<8>": 1.0}
    ceilings = measured(MadeUp(lambda name: times.get(name, 10.0)), 16000)
    (ceiling,) = ceilings.values()
    assert ceiling.copy_GBps == 16.0
    assert ceiling.read_GBps == 16.0
    assert ceiling.write_GBps == 32.0
    assert ceiling.event_overhead_us == 1.25
    assert ceiling.launch_us == 3.5


def test_a_sweep_gives_one_ceiling_a_size() -> None:
    """Keys are the sizes asked for."""
    assert list(measured(MadeUp(lambda _: 1.0), 1024, 4096)) == [1024, 4096]


def test_little_memory_makes_smaller_operands() -> None:
    """A full GPU still gives a ceiling: a quarter of what is free for each operand."""
    device = MadeUp(lambda _: 1.0, free=4001)
    ceiling = measured(device, 2**30)[2**30]
    assert max(device.allocated) == 992
    assert ceiling.copy_GBps == pytest.approx(2 * 992 / 1e3, rel=0.1)


def test_every_vector_is_covered_once() -> None:
    """Grid times block times unroll is the smallest multiple that covers all vectors."""
    device = MadeUp(lambda _: 1.0)
    vectors = 100_003
    measured(device, 16 * vectors)
    copies = [plan for plan in device.plans if plan.variant.startswith("copy")]
    assert len(copies) == len(UNROLLS)
    for plan, unroll in zip(copies, UNROLLS, strict=True):
        (launch,) = plan.launches
        tile = launch.block[0] * unroll
        assert (launch.grid[0] - 1) * tile < vectors <= launch.grid[0] * tile
