"""What PyTorch does for a sum: zeros for a sum of nothing, else its one reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.choosing import under_name
from gpubench.operators.sum.reduce_config import ReduceConfigured


class AutoPytorch:
    """PyTorch's choice."""

    name: str = "auto_pytorch"
    summary: str = "PyTorch's dispatch: reduce_config for whatever has terms"
    origin: str = "PyTorch 2.6 sum_kernel_cuda; limits of reduce_config; integers are converted as they are loaded"

    def __init__(self) -> None:
        """There is one design to choose from."""
        self._only = ReduceConfigured()

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return its plan under this name."""
        return under_name(self.name, self._only.plan(problem, device), chosen=self._only.name)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return that design's instances."""
        return self._only.instances(dtype)
