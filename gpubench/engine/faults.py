"""Whose fault it is when an attempt goes wrong, and what its record says."""

from __future__ import annotations

from gpubench.engine.messages import Begin, Fault
from gpubench.names import FINE, STATUSES, Status


def at_fault(fault: Fault, before: list[str], remaining: list[str]) -> list[str]:
    """Return which contenders a fault is laid upon.

    The one at work; all that remain when the work served all of them; none when the one at work had its record already
    (what followed was nobody's, and the record is progress, so that the attempts come to an end).
    """
    if fault.contender in remaining:
        return [fault.contender]
    if fault.contender and len(remaining) < len(before):
        return []
    return list(remaining)


def fault_of(current: Begin, status: Status, message: str) -> Fault:
    """Return a fault of what was at work, with the stage before the message."""
    where = f"{current.stage}: " if current.stage else ""
    return Fault(current.job, current.contender, status, where + message)


def status_of(fault: Fault) -> Status:
    """Return a fault's status; a worker may not claim that a fault is fine."""
    return next((status for status in STATUSES if status == fault.status and status not in FINE), "crashed")
