"""What happens during a run, for whoever shows it. Passed to the supervisor's `on_event` in the order it happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpubench.model import Ceiling, Json, Record


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The device is open. `records` is how many records the run will give, `resumed` how many are there already."""

    records: int
    resumed: int
    environment: Mapping[str, Json]
    ceiling: Ceiling


@dataclass(frozen=True, slots=True)
class ContenderStarted:
    """The worker turned to a contender of a case (empty: to work that serves all of them)."""

    case: str
    contender: str
    stage: str


@dataclass(frozen=True, slots=True)
class RecordFinished:
    """A record is in the journal."""

    record: Record


@dataclass(frozen=True, slots=True)
class WorkerRestarted:
    """A worker had to be replaced."""

    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the user should know; a warning even one who asked for quiet."""

    message: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class RunStopped:
    """The run ends before its last case."""

    reason: str


Event = RunStarted | ContenderStarted | RecordFinished | WorkerRestarted | Note | RunStopped
