"""What an event pair reads beyond one kernel's duration, from a kernel that tells its own span.

The kernel runs on every SM for a few microseconds and notes the GPU's global timer as its first and its last act.
Between that span and the duration that CUPTI records lie only the launch's arrival and the last block's leaving: the
*edges*, which are the chip's and were measured once. So no CUPTI is needed to know what events add on the machine at
hand.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from gpubench.model import Accuracy, Launch, Plan, Pointer, Value

if TYPE_CHECKING:
    from gpubench.devices.base import Device

SPIN_NS = 3000
SAMPLES = 32
EDGES_US = {(9, 0): 0.736}
"""How much longer than its own span the kernel is by CUPTI, by compute capability; on an NVIDIA H200, cold, 1980 MHz:
0.736 for 1, 3 and 20 us of spinning. `gpubench agreement` measures it anew."""
ASSUMED_EDGES_US = 0.75
"""For GPUs on which nobody measured it."""


class SelfTimed:
    """A kernel of one block an SM that spins for `SPIN_NS` and notes when each block began and ended."""

    def __init__(self, device: Device) -> None:
        """Load the kernel, and bind it to memory for a pair of times a block."""
        self._device = device
        self._blocks = device.info.sm_count
        self._spans = device.allocate(16 * self._blocks)
        arguments = (Pointer("spans"), Value(SPIN_NS.to_bytes(8, "little")))
        grid, block = (self._blocks, 1, 1), (device.info.warp_size, 1, 1)
        launch = Launch("harness/clock.cu", "gpubench::harness::self_timed", grid, block, arguments)
        plan = Plan("self_timed", (launch,), Accuracy(0, "float32"))
        self._bound = device.bind(plan, {"spans": self._spans.address}, device.allocate(0))

    def run(self) -> None:
        """Enqueue the kernel."""
        self._bound.run()

    def span_us(self) -> float:
        """Return the time from the first block's begin to the last one's end in the latest run."""
        import numpy

        times = numpy.empty((self._blocks, 2), numpy.uint64)
        self._device.download(self._spans, times)
        return (int(times[:, 1].max()) - int(times[:, 0].min())) / 1e3


def launch_overhead_us(device: Device) -> float:
    """Measure what events add to the duration of one kernel, in microseconds. The device must be awake."""
    kernel = SelfTimed(device)
    kernel.run()
    beyond = []
    for _ in range(SAMPLES):
        (sample,) = device.sample("cold", _nothing, kernel.run, 1)
        beyond.append(sample.us - kernel.span_us())
    edges = EDGES_US.get(device.info.compute_capability, ASSUMED_EDGES_US)
    return max(middle_mean(beyond) - edges, 0.0)


def middle_mean(values: list[float]) -> float:
    """Return the mean of the middle half: unlike a median it sees between the steps of a coarse timer."""
    quarter = len(values) // 4
    return statistics.fmean(sorted(values)[quarter : len(values) - quarter])


def _nothing() -> None:
    """Restore nothing."""
