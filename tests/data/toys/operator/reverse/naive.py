"""The host rule of reverse/naive.cu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import Accuracy, DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.launch import BLOCK_THREADS, grid_stride
from gpubench.operators.structs import int64

SOURCE = "reverse/naive.cu"


class Naive:
    """Takes every length."""

    name: str = "naive"
    summary: str = "one thread, one element"
    origin: str = "a toy"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none for no elements."""
        n, accuracy = problem.params.length, Accuracy(0, problem.case.dtype)
        if n == 0:
            return Plan(self.name, (), accuracy)
        kernel = f"gpubench::reverse::naive<{dtypes.dtype(problem.case.dtype).cpp}>"
        arguments = (Pointer("x"), Pointer("y"), int64(n))
        return Plan(
            self.name, (Launch(SOURCE, kernel, grid_stride(n, device), (BLOCK_THREADS, 1, 1), arguments),), accuracy
        )

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a dtype."""
        return ((SOURCE, f"gpubench::reverse::naive<{dtypes.dtype(dtype).cpp}>"),)
