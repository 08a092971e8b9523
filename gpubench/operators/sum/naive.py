"""The host rule of reduce_sum/naive.cu: one thread forms one output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import Accuracy, DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.dims import split
from gpubench.operators.launch import BLOCK_THREADS, grid_stride, too_many_dims, walk
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64

SOURCE = "reduce_sum/naive.cu"


class Naive:
    """Takes every shape, dtype and layout; the first step of the ladder."""

    name: str = "naive"
    summary: str = "one thread forms one output"
    origin: str = "textbook; no parallelism inside a sum"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; it also writes the zeros of an empty sum. None when there is no output.

        Refuses more dims than the kernel's strided walk holds.
        """
        x, y = problem.operand("x"), problem.operand("y")
        kept, reduced = split(x.view, problem.params.dim)
        if refused := too_many_dims(kept, reduced):
            return refused
        outputs, terms = y.view.size, math.prod(reduced[0])
        accuracy = Accuracy(max(terms, 1), dtypes.dtype(y.dtype).accumulator)
        if outputs == 0:
            return Plan(self.name, (), accuracy)
        launch = Launch(
            SOURCE,
            kernel(x.dtype, y.dtype),
            grid_stride(outputs, device),
            (BLOCK_THREADS, 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                walk(*kept),
                walk(y.view.shape, y.view.strides),
                walk(*reduced),
                int64(outputs),
                int64(terms),
            ),
        )
        return Plan(self.name, (launch,), accuracy)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a dtype: integers add up to int64."""
        return ((SOURCE, kernel(dtype, sum_dtype(dtype))),)


def kernel(x: str, y: str) -> str:
    """Return the name expression for these dtypes."""
    return f"gpubench::sum::naive<{dtypes.dtype(x).cpp}, {dtypes.dtype(y).cpp}>"
