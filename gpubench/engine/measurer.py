"""What a run drives, whichever process and machine the device is in, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpubench.errors import GpubenchError
from gpubench.model import Case, Ceiling, Json, Record


def _ignore(_: object) -> None:
    """Do nothing with a record or an environment."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run gave. `stopped` says why it ended early, None when it did not. `seconds`: wall time by stage.

    `error` is what kept records from being stored, to be raised once everything else is saved. `ceiling`: as at the
    start, with the rounds of the end where every case was reached. `soak`: how the device was warmed up, if it was.
    """

    records: tuple[Record, ...]
    stopped: str | None
    interrupted: bool
    error: GpubenchError | None
    workers: int
    seconds: dict[str, float]
    ceiling: Ceiling
    soak: dict[str, Json] | None = None


class Measurer(Protocol):
    """What `engine.run.execute` drives: the supervisor of a worker here, or what stands for one elsewhere."""

    def open(
        self, ceiling: Ceiling | None = None, claim: Callable[[dict[str, Json]], None] = _ignore
    ) -> tuple[dict[str, Json], Ceiling]:
        """Open the device; see `Supervisor.open`."""
        ...

    def run(
        self, cases: Sequence[Case], store: Callable[[Record], None] = _ignore, done: Iterable[Record] = ()
    ) -> Outcome:
        """Run the cases; see `Supervisor.run`."""
        ...

    def interrupt(self) -> None:
        """End the run soon, keeping what is there. Safe in a signal handler."""
        ...

    def kill(self) -> None:
        """Kill the worker at once. Safe in a signal handler."""
        ...
