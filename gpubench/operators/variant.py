"""What a variant of an operator is to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gpubench.model import DeviceInfo, Plan, Problem, Refused


class Variant(Protocol):
    """One implementation of an operator: one source in cuda_src and the host-side rule that launches it."""

    name: str
    summary: str
    """One line for `gpubench list --variants`."""
    origin: str
    """Where the design comes from, and its limits, in one line."""

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the steps, or why this variant does not take the problem. A pure function of its arguments."""
        ...

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return (source, name expression) of every kernel instance that exists for a case's dtype; may be empty."""
        ...
