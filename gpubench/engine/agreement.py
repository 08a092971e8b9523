"""Do the clocks agree? The same launches by events, corrected events, CUPTI and NVBench, over sizes.

A copy, a sum and a scan of float32 by our own kernels, each on operands cut from the same two buffers, all cold.
NVBench runs in a process of its own (`nvbench.py`), on the same kernels.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import gpubench
from gpubench.devices.harness import nothing
from gpubench.devices.overhead import SelfTimed
from gpubench.engine.environment import environment
from gpubench.measure.correction import corrected_us
from gpubench.measure.interval import median_interval
from gpubench.measure.warming import warm_up
from gpubench.model import Case, Json, Plan, Sample
from gpubench.operators import operator

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer
    from gpubench.devices.cuda import CudaDevice

OPERATIONS = {"copy": "elementwise", "sum": "sum", "scan": "cumsum"}
POWERS = tuple(range(10, 29, 2))
"""Sizes, as powers of 2. NVBench takes up to 8 s for one, two minutes for all."""
SAMPLES = 60
LEAST_SECONDS = 0.01
TOGETHER = 16
"""Samples whose mean is one value of the interval. Where a kernel's blocks land repeats every 2, 4 or 16 launches and
decides part of its time, so that single samples are no independent draws; means of 16 are, nearly."""


@dataclass(frozen=True, slots=True)
class Work:
    """One operation at one size, on its operands."""

    operation: str
    power: int
    bytes: int
    plan: Plan
    addresses: Mapping[str, int]
    workspace: Buffer

    @property
    def name(self) -> str:
        """Operation and size."""
        return f"{self.operation}/2^{self.power}"


def works(device: CudaDevice, powers: Sequence[int]) -> list[Work]:
    """Return the operations at these sizes. The operands are ones, so that no sum overflows; time does not see it."""
    import numpy

    largest = 4 * 2 ** max(powers)
    source, target = device.allocate(largest), device.allocate(largest)
    device.upload(numpy.ones(largest // 4, numpy.float32), source)
    return [_work(device, name, power, source, target) for name in OPERATIONS for power in powers]


def _work(device: CudaDevice, name: str, power: int, source: Buffer, target: Buffer) -> Work:
    found = operator(OPERATIONS[name])
    further: dict[str, dict[str, Json]] = {"copy": {"function": "copy"}, "sum": {"dim": [0]}, "scan": {"dim": 0}}
    params: dict[str, Json] = {"shape": [2**power], **further[name]}
    problem = found.problem(Case(name, found.name, "float32", params))
    plan = found.choose(problem, device.info)
    assert isinstance(plan, Plan)
    workspace = device.allocate(plan.workspace_bytes)
    device.fill(workspace, 0)
    addresses = {operand.name: (source if operand.role == "in" else target).address for operand in problem.operands}
    return Work(name, power, problem.bytes, plan, addresses, _Kept(workspace, source, target))


class _Kept:
    """A workspace that keeps the operands alive with it."""

    def __init__(self, workspace: Buffer, *operands: Buffer) -> None:
        self.address, self.nbytes = workspace.address, workspace.nbytes
        self._keep = (workspace, *operands)


def measure(
    device: CudaDevice,
    powers: Sequence[int] = POWERS,
    nvbench: Callable[[Sequence[int]], Mapping[str, Mapping[str, float]]] | None = None,
) -> dict[str, Json]:
    """Return the whole document. `nvbench` gives NVBench's figures by the works' names; None leaves them out.

    MissingExtraError without CUPTI.
    """
    ceiling = device.ceiling()
    overhead = ceiling.launch_overhead_us or 0.0
    theirs = nvbench(powers) if nvbench is not None else {}
    rows = [_row(device, work, overhead, theirs.get(work.name)) for work in works(device, powers)]
    return {
        "gpubench": gpubench.__version__,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "environment": environment(device.info),
        "launch_us": ceiling.launch_us,
        "launch_overhead_us": overhead,
        "edges_us": SelfTimed(device).beyond_us(device.trace, SAMPLES),
        "rows": rows,
    }


def _row(device: CudaDevice, work: Work, overhead: float, theirs: Mapping[str, float] | None) -> dict[str, Json]:
    """Time one work by events and by CUPTI in turns, so that a drift of the GPU meets both."""
    run = device.bind(work.plan, work.addresses, work.workspace).run
    warm_up(nothing, run, device.synchronize)
    events: list[Sample] = []
    traced: list[Sample] = []
    for _ in range(4):
        events += device.sample("cold", nothing, run, SAMPLES // 4)
        traced += device.trace("cold", nothing, run, SAMPLES // 4)
    times = [sample.us for sample in events]
    seen = [sample.traced for sample in traced if sample.traced is not None]
    median = statistics.median(times)
    row: dict[str, Json] = {
        "operation": work.operation,
        "elements": 2**work.power,
        "bytes": work.bytes,
        "variant": work.plan.variant,
        "launches": len(seen[0].launches),
        "events_us": median,
        "events_ci95_us": median_interval(times),
        "corrected_us": corrected_us(median, overhead),
        "cupti_span_us": statistics.median(trace.span_us for trace in seen),
        "cupti_sum_us": statistics.median(trace.sum_us for trace in seen),
        "samples": len(times),
        "nvbench": None,
    }
    if theirs is not None:
        row["nvbench"] = {**theirs, "ours": _in_a_tenth(device, run, theirs["wall_s"])}
    return row


def _in_a_tenth(device: CudaDevice, run: Callable[[], None], wall_s: float) -> dict[str, Json]:
    """Sample by events for a tenth of the time that NVBench took; return how well the mean is then known."""
    began = time.perf_counter()
    times: list[float] = []
    while time.perf_counter() - began < max(wall_s / 10, LEAST_SECONDS) or len(times) < 2 * TOGETHER:
        times += [sample.us for sample in device.sample("cold", nothing, run, TOGETHER)]
    seconds = time.perf_counter() - began
    together = [statistics.fmean(times[start : start + TOGETHER]) for start in range(0, len(times), TOGETHER)]
    return {
        "median_us": statistics.median(times),
        "samples": len(times),
        "wall_s": round(seconds, 4),
        "noise": _noise(statistics.fmean(times), statistics.stdev(times)),
        "interval": interval_of_mean(statistics.fmean(together), statistics.stdev(together), len(together)),
    }


def _noise(mean: float, deviation: float) -> float:
    return deviation / mean


def interval_of_mean(mean: float, deviation: float, count: float) -> float:
    """Return the half-width of the mean's 95 % interval relative to the mean, from independent values' deviation."""
    return 1.96 * deviation / math.sqrt(count) / mean
