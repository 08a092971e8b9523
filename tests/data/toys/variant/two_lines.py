"""The host rule of cumsum/two_lines.cu: one thread walks two lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.launch import BLOCK_THREADS, grid_stride
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64

SOURCE = "cumsum/two_lines.cu"


class TwoLines:
    """Contiguous tensors, summed along the last dim."""

    name: str = "two_lines"
    summary: str = "one thread walks two lines"
    origin: str = "a toy; contiguous, the last dim"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch."""
        x, y = problem.operand("x"), problem.operand("y")
        if not x.view.is_contiguous or problem.params.dim != len(x.view.shape) - 1 or x.view.size == 0:
            return Refused("takes contiguous elements, summed along the last dim")
        length = x.view.shape[-1]
        lines = x.view.size // length
        launch = Launch(
            SOURCE,
            kernel(x.dtype, y.dtype),
            grid_stride(lines, device),
            (BLOCK_THREADS, 1, 1),
            (Pointer("x"), Pointer("y"), int64(lines), int64(length)),
        )
        return Plan(self.name, (launch,), bound(problem))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a dtype."""
        return ((SOURCE, kernel(dtype, sum_dtype(dtype))),)


def kernel(x: str, y: str) -> str:
    """Return the name expression for these dtypes."""
    return f"gpubench::cumsum::two_lines<{dtypes.dtype(x).cpp}, {dtypes.dtype(y).cpp}>"
