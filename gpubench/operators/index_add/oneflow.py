"""The host side of index_add/seeds/oneflow.cu: one kernel whatever the number of indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.index_add.accuracy import atomic_accuracy, atomic_plan
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.structs import float64, int64

SOURCE = "index_add/seeds/oneflow.cu"
THREADS = 256
"""Threads of a block; there are as many blocks as the GPU holds at the same time by its threads, no more."""


class OneFlow:
    """Takes contiguous tensors of any shape and dtype."""

    name: str = "oneflow"
    summary: str = "one kernel whatever the number of indices: threads stride over the flat source"
    origin: str = (
        "OneFlow index_add_kernel.cu; contiguous tensors, 64-bit divisions, atomics in the dtype, in any order"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none when there is nothing to add. Takes flat arrays only."""
        destination, index, source = problem.operands
        for operand in (destination, source):
            if not operand.view.is_contiguous:
                return Refused(f"the {operand.name} is not contiguous; this design walks flat arrays")
        shape, dim = destination.view.shape or (1,), problem.params.dim
        total = source.view.size
        if total == 0:
            return Plan(self.name, (), atomic_accuracy(problem))
        blocks = min(-(-total // THREADS), device.sm_count * (device.max_threads_per_sm // THREADS))
        launch = Launch(
            SOURCE,
            kernel(destination.dtype, index.dtype),
            (blocks, 1, 1),
            (THREADS, 1, 1),
            (
                Pointer("destination"),
                Pointer("source"),
                Pointer("index"),
                int64(total),
                int64(math.prod(shape[dim + 1 :])),
                int64(index.view.size),
                int64(shape[dim]),
                float64(problem.params.alpha),
            ),
        )
        return atomic_plan(self.name, (launch,), problem, notes={"grid": blocks, "block": THREADS})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance an index dtype."""
        return tuple((SOURCE, kernel(dtype, index)) for index in INDEX_DTYPES)


def kernel(dtype: str, index: str) -> str:
    """Return the name expression for these dtypes."""
    return f"gpubench::index_add::oneflow<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"
