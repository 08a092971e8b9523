"""Time that other programs do not lengthen."""

from __future__ import annotations

import resource


def children_s() -> float:
    """Return the processor's time, in seconds, of the processes that this one has waited for."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
