"""What of each member's result the judgement needs, and the table GPU x work that all of them make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.rounds import Rounds, typical_us, usable
from gpubench.findings import Work
from gpubench.model import Json, Record, ResultSet
from gpubench.names import FAILED, HOST_CONTENDERS, MEASURED, Status

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """A record's bytes: the digest, and the code that they came from."""

    digest: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """One result, reduced. Times are log microseconds. `figures`: what telemetry told, by name."""

    model: str
    environment: Mapping[str, Json]
    protocol: int
    log_us: Mapping[Work, float]
    answers: Mapping[Work, Answer]
    statuses: Mapping[Work, Status]
    figures: Mapping[str, float]
    throttled: Mapping[str, int] = field(default_factory=dict)
    records: int = 0


def seen(result: ResultSet) -> Seen:
    """Return what of a result counts: the contenders on the device, not those of the host."""
    records = [record for record in result.records if record.contender not in HOST_CONTENDERS]
    device = result.environment.get("device")
    name = device.get("name") if isinstance(device, Mapping) else None
    times = {_work(record): math.log(typical_us(rounds)) for record in records if (rounds := _rounds(record))}
    return Seen(
        model=str(name or "unknown"),
        environment=result.environment,
        protocol=result.harness.protocol,
        log_us=times,
        answers={_work(record): _answer(record) for record in records},
        statuses={_work(record): record.status for record in records},
        figures=_figures(result, records),
        throttled=_throttled(records),
        records=len(records),
    )


def _work(record: Record) -> Work:
    return record.case.id, record.contender


def _rounds(record: Record) -> Rounds:
    """Return the times of a record that has any, round by round."""
    if record.status not in MEASURED or record.timing is None:
        return []
    rounds = [[sample.us for sample in samples] for samples in record.timing.rounds]
    return rounds if usable(rounds) and any(rounds) else []


def _answer(record: Record) -> Answer:
    code = (record.kernel or {}).get("cubin_sha256")
    digest = None if record.check is None else record.check.answer_sha256
    return Answer(digest, code if isinstance(code, str) else None)


def _figures(result: ResultSet, records: Sequence[Record]) -> dict[str, float]:
    """Return the medians of what moved while the member was measured, and the highest temperature."""
    clocks = [
        sample.sm_mhz
        for record in records
        if record.timing
        for sample in record.timing.samples
        if sample.sm_mhz is not None
    ]
    found = {"sm_mhz": clocks} if clocks else {}
    for name in ("memory_mhz", "power_w", "temperature_c"):
        told = [(record.telemetry or {}).get(name) for record in records]
        numbers = [float(value) for value in told if isinstance(value, int | float)]
        if numbers:
            found[name] = [max(numbers)] if name == "temperature_c" else numbers
    figures = {name: float(np.median(values)) for name, values in found.items()}
    if result.ceiling.copy_GBps:
        figures["copy_GBps"] = result.ceiling.copy_GBps
    return figures


def _throttled(records: Sequence[Record]) -> dict[str, int]:
    """Return in how many records each reason for lower clocks was met."""
    counts: dict[str, int] = {}
    for record in records:
        reasons = (record.telemetry or {}).get("throttle")
        for reason in reasons if isinstance(reasons, list) else ():
            counts[str(reason)] = counts.get(str(reason), 0) + 1
    return counts


def works(members: Sequence[Seen]) -> tuple[Work, ...]:
    """Return all work that somebody timed, in the order of the files."""
    return tuple(dict.fromkeys(work for member in members for work in member.log_us))


def matrix(members: Sequence[Seen], columns: Sequence[Work]) -> Array:
    """Return the log times, (members, works), NaN where there is none."""
    rows = [[member.log_us.get(work, math.nan) for work in columns] for member in members]
    return np.asarray(rows, dtype=np.float64).reshape(len(members), len(columns))


def failed(status: Status | None) -> bool:
    """Tell whether a status says that an answer should be there and is not."""
    return status in FAILED
