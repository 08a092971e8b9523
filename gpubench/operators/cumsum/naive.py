"""The host rule of cumsum/naive.cu: one thread walks one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.geometry.dims import without
from gpubench.operators.launch import BLOCK_THREADS, grid_stride, too_many_dims, walk
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64

SOURCE = "cumsum/naive.cu"


class Naive:
    """Takes every shape, dtype and layout; the first step of the ladder."""

    name: str = "naive"
    summary: str = "one thread walks one line"
    origin: str = "textbook; no parallelism inside a line"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none for an empty tensor. Refuses more dims than the kernel's strided walk holds."""
        x, y = problem.operand("x"), problem.operand("y")
        dim = problem.params.dim
        x_lines, y_lines = without(x.view, dim), without(y.view, dim)
        if refused := too_many_dims(x_lines, y_lines):
            return refused
        length = x.view.shape[dim] if x.view.shape else 1
        accuracy = bound(problem)
        if x.view.size == 0:
            return Plan(self.name, (), accuracy)
        lines = x.view.size // length
        launch = Launch(
            SOURCE,
            kernel(x.dtype, y.dtype),
            grid_stride(lines, device),
            (BLOCK_THREADS, 1, 1),
            (
                Pointer("x"),
                Pointer("y"),
                walk(*x_lines),
                walk(*y_lines),
                int64(lines),
                int64(length),
                int64(x.view.strides[dim] if x.view.shape else 0),
                int64(y.view.strides[dim] if y.view.shape else 0),
            ),
        )
        return Plan(self.name, (launch,), accuracy)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a dtype: integers add up to int64."""
        return ((SOURCE, kernel(dtype, sum_dtype(dtype))),)


def kernel(x: str, y: str) -> str:
    """Return the name expression for these dtypes."""
    return f"gpubench::cumsum::naive<{dtypes.dtype(x).cpp}, {dtypes.dtype(y).cpp}>"
