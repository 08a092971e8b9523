"""What PyTorch does for a sum: zeros for a sum of nothing, else its one reduction."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem
from gpubench.operators.sum.reduce_config import ReduceConfigured


class AutoPytorch:
    """PyTorch's choice."""

    name: str = "auto_pytorch"
    summary: str = "PyTorch's dispatch: reduce_config for whatever has terms"
    origin: str = "PyTorch 2.6 sum_kernel_cuda; limits of reduce_config; integers are converted as they are loaded"

    def __init__(self) -> None:
        """There is one design to choose from."""
        self._only = ReduceConfigured()

    def refuses(self, problem: Problem[Any], device: DeviceInfo) -> str | None:
        """Refuse what that design refuses."""
        return self._only.refuses(problem, device)

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan:
        """Return its plan under this name."""
        plan = self._only.plan(problem, device)
        return dataclasses.replace(plan, variant=self.name, notes={"chosen": self._only.name, **plan.notes})

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return that design's instances."""
        return self._only.instances(dtype)
