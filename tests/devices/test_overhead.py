"""What events add to a kernel, on a device whose kernels tell spans that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpubench.devices.overhead import ASSUMED_EDGES_US, EDGES_US, SAMPLES, launch_overhead_us, middle_mean
from gpubench.model import Sample
from tests.devices.cuda_double import INFO

ADDED_US = 2.5


class Spinning:
    """A device whose events read `ADDED_US` and the edges of its launches more than the kernel notes."""

    def __init__(self, edges_us: float, step_ns: int = 1, capability: tuple[int, int] = (9, 0)) -> None:
        self.info = replace(INFO, compute_capability=capability)
        self.edges_us = edges_us
        self.step_ns = step_ns
        self.now_ns = 10**12
        self.spans = np.zeros((INFO.sm_count, 2), np.uint64)
        self.runs = 0

    def allocate(self, nbytes: int) -> Any:
        """Return memory that nobody touches."""
        return SimpleNamespace(address=4096, nbytes=nbytes)

    def bind(self, plan: Any, addresses: Any, workspace: Any) -> Any:
        """Return the kernel: block b begins and ends b nanoseconds late, by a timer that moves in steps."""
        del addresses, workspace
        spin_ns = int.from_bytes(plan.launches[0].arguments[1].data, "little")

        def run() -> None:
            self.runs += 1
            self.now_ns += 70_313
            for block in range(INFO.sm_count):
                begin = self.now_ns + block
                self.spans[block] = [time // self.step_ns * self.step_ns for time in (begin, begin + spin_ns)]
            self.span_us = (spin_ns + INFO.sm_count - 1) / 1e3

        return SimpleNamespace(run=run)

    def download(self, buffer: Any, array: Any) -> None:
        """Give what the blocks noted."""
        assert array.nbytes == buffer.nbytes
        array[:] = self.spans

    def sample(self, method: str, restore: Any, run: Any, batch: int) -> Sequence[Sample]:
        """Return the events' time, with one straggler that something else held up."""
        assert (method, batch) == ("cold", 1)
        restore()
        run()
        late = 30.0 if self.runs == 5 else 0.0
        return [Sample(self.span_us + self.edges_us + ADDED_US + late)]


def overhead(device: Spinning) -> float:
    """Measure."""
    return launch_overhead_us(device)  # type: ignore[arg-type] # only what the measurement needs of a device


def test_what_events_add_is_found_without_another_clock() -> None:
    """The kernel's own span and the chip's edges are no overhead; one straggler moves nothing."""
    device = Spinning(EDGES_US[9, 0])
    assert overhead(device) == pytest.approx(ADDED_US, abs=0.001)
    assert device.runs == SAMPLES + 1


def test_a_coarse_timer_is_seen_through() -> None:
    """A timer that moves in whole microseconds leaves less than a sixth of one."""
    assert overhead(Spinning(EDGES_US[9, 0], step_ns=1024)) == pytest.approx(ADDED_US, abs=0.15)


def test_a_gpu_never_measured_gets_assumed_edges() -> None:
    """Better a likely constant than none; the overhead is never negative."""
    assert overhead(Spinning(ASSUMED_EDGES_US, capability=(8, 0))) == pytest.approx(ADDED_US, abs=0.001)
    assert overhead(Spinning(-5.0)) == 0.0


def test_the_middle_half_counts() -> None:
    """Of eight values the two least and the two largest are left out; of three none."""
    assert middle_mean([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 99.0]) == 3.5
    assert middle_mean([1.0, 2.0, 6.0]) == 3.0
