"""The comparison of clocks, on a device whose kernels and events take known times: what is measured, and from what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gpubench.devices.cuda import CudaDevice
from gpubench.engine import agreement
from gpubench.model import Ceiling, Sample, Traced
from gpubench.views.agreement import block
from tests.devices.cuda_double import INFO

OVERHEAD_US = 2.4
KERNEL_US = 3.0
GAP_US = 0.5
EDGES_US = 0.75


class Clocked:
    """A device on which all work has so many launches of `KERNEL_US`, with gaps; events add `OVERHEAD_US`."""

    info = INFO

    def __init__(self, launches: int = 1) -> None:
        self.launches = launches
        self.taken = {"events": 0, "cupti": 0}

    def allocate(self, nbytes: int) -> Any:
        """Return memory that nobody touches."""
        return SimpleNamespace(address=4096, nbytes=nbytes)

    def upload(self, array: Any, buffer: Any) -> None:
        """Take anything."""

    def download(self, buffer: Any, array: Any) -> None:
        """Give the spans that a kernel would note of itself."""
        assert array.nbytes == buffer.nbytes
        array[:] = (1000, 1000 + int(1e3 * (KERNEL_US - EDGES_US)))

    def fill(self, buffer: Any, byte: int) -> None:
        """Take anything."""

    def synchronize(self) -> None:
        """Nothing is under way."""

    def bind(self, plan: Any, addresses: Any, workspace: Any) -> Any:
        """Return work that does nothing."""
        del plan, addresses, workspace
        return SimpleNamespace(run=lambda: None)

    def ceiling(self) -> Ceiling:
        """Return what the run would measure."""
        return Ceiling(launch_us=3.4, launch_overhead_us=OVERHEAD_US)

    @property
    def _span(self) -> float:
        return self.launches * KERNEL_US + (self.launches - 1) * GAP_US

    def sample(self, method: str, restore: Any, run: Any, batch: int) -> list[Sample]:
        """Return times by events, jumping by a step."""
        del restore
        assert method == "cold"
        run()
        self.taken["events"] += batch
        return [Sample(self._span + OVERHEAD_US + 0.032 * (number % 2)) for number in range(batch)]

    def trace(self, method: str, restore: Any, run: Any, batch: int) -> list[Sample]:
        """Return times by CUPTI."""
        del restore
        assert method == "cold"
        run()
        self.taken["cupti"] += batch
        traced = Traced(tuple(("k", KERNEL_US) for _ in range(self.launches)), self._span)
        return [Sample(self._span, None, traced)] * batch


def figures(powers: Sequence[int]) -> Mapping[str, Mapping[str, float]]:
    """Stand in for NVBench: quick, so that a tenth of its time is nothing."""
    one = {"median_us": 5.4, "mean_us": 5.4, "samples": 100.0, "wall_s": 0.01, "noise": 0.03, "interval": 0.006}
    return {f"{name}/2^{power}": one for name in agreement.OPERATIONS for power in powers}


def measured(powers: Sequence[int], nvbench: Any = None, launches: int = 1) -> tuple[Clocked, dict[str, Any]]:
    """Run the comparison."""
    device = Clocked(launches)
    return device, agreement.measure(cast(CudaDevice, device), powers, nvbench)


def test_every_clock_is_asked_at_every_size() -> None:
    """A row for each operation and size, NVBench's figures in each; the document goes through JSON into the page."""
    _, document = measured((10, 12), figures)
    rows = document["rows"]
    assert [(row["operation"], row["elements"]) for row in rows] == [
        (name, 2**power) for name in ("copy", "sum", "scan") for power in (10, 12)
    ]
    assert all(row["nvbench"]["ours"]["samples"] >= 16 for row in rows)
    again = json.loads(json.dumps(document, allow_nan=False))
    assert "in 6 of 6 rows" in block(again)


def test_events_and_cupti_see_the_same_number_of_runs_in_turns() -> None:
    """A drift of the GPU must meet both clocks."""
    device, document = measured((10,))
    (copy, *_) = document["rows"]
    assert copy["samples"] == agreement.SAMPLES
    assert device.taken["events"] == 3 * agreement.SAMPLES
    assert device.taken["cupti"] == 4 * agreement.SAMPLES  # and the kernel that tells its span
    assert all(row["nvbench"] is None for row in document["rows"])


def test_corrected_events_are_the_kernel_s_time() -> None:
    """What the run measured as overhead is taken off, and nothing else; one launch has one duration."""
    _, document = measured((10,))
    (copy, *_) = document["rows"]
    assert copy["events_us"] == pytest.approx(KERNEL_US + OVERHEAD_US, abs=0.033)
    assert copy["corrected_us"] == pytest.approx(KERNEL_US, abs=0.033)
    assert copy["cupti_span_us"] == copy["cupti_sum_us"] == KERNEL_US
    assert document["edges_us"] == pytest.approx(EDGES_US)


def test_several_launches_have_a_span_beyond_their_sum() -> None:
    """The gap between two launches is part of what a user pays."""
    _, document = measured((10,), launches=3)
    for row in document["rows"]:
        assert row["launches"] == 3
        assert row["cupti_sum_us"] == 3 * KERNEL_US
        assert row["cupti_span_us"] == 3 * KERNEL_US + 2 * GAP_US
