"""What an event pair reads beyond one kernel's duration, from a kernel that tells its own span.

The kernel runs on every SM for a few microseconds and notes the GPU's global timer as its first and its last act.
Between that span and the duration that CUPTI records lie only the launch's arrival and the last block's leaving: the
*edges*, which are the chip's and were measured once. So no CUPTI is needed to know what events add on the machine at
hand.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpubench.devices.harness import CLOCK, harness_plan, nothing
from gpubench.model import Pointer, Sample, Value

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
        spin = Value(SPIN_NS.to_bytes(8, "little"))
        plan = harness_plan("self_timed", CLOCK, self._blocks, device.info.warp_size, Pointer("spans"), spin)
        self._bound = device.bind(plan, {"spans": self._spans.address}, device.allocate(0))

    def beyond_us(self, sample: Callable[..., Sequence[Sample]], count: int = SAMPLES) -> float:
        """Return what a clock reads beyond the kernel's own span in `count` runs.

        The clock is `sample` or `trace` of the device.
        """
        self._bound.run()  # so that loading it is over
        beyond = []
        for _ in range(count):
            (one,) = sample("cold", nothing, self._bound.run, 1)
            beyond.append(one.us - self._span_us())
        return middle_mean(beyond)

    def _span_us(self) -> float:
        """Return the time from the first block's begin to the last one's end in the latest run."""
        import numpy

        times = numpy.empty((self._blocks, 2), numpy.uint64)
        self._device.download(self._spans, times)
        return (int(times[:, 1].max()) - int(times[:, 0].min())) / 1e3


def launch_overhead_us(device: Device) -> float:
    """Measure what events add to the duration of one kernel, in microseconds. The device must be awake."""
    edges = EDGES_US.get(device.info.compute_capability, ASSUMED_EDGES_US)
    return max(SelfTimed(device).beyond_us(device.sample) - edges, 0.0)


def middle_mean(values: list[float]) -> float:
    """Return the mean of the middle half: unlike a median it sees between the steps of a coarse timer."""
    quarter = len(values) // 4
    return statistics.fmean(sorted(values)[quarter : len(values) - quarter])
