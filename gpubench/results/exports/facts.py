"""What the formats share: figures of a record that can be trusted to be numbers, and names that are harmless text.

`environment`, `summary` and `params` of a result file are free JSON, so every figure is looked at before it is used.
"""

from __future__ import annotations

import math
import statistics
from datetime import UTC, datetime

from gpubench.model import Json, Record, ResultSet
from gpubench.names import MEASURED

MOST_CHARACTERS = 1000
"""Of a name or message that are exported."""

LEAST_US, MOST_US = 1e-9, 1e15
"""Times in microseconds: a femtosecond to thirty years."""


def harmless(value: Json, most: int = MOST_CHARACTERS) -> str:
    r"""Return a text on one line without what acts on a terminal or is no character of XML: `\n`, `\x1b` stand for it.

    None gives an empty text; of a long one the beginning.
    """
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text[:most]
    )


def number(value: Json) -> float | None:
    """Return a finite number that is not negative, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def figure(record: Record, key: str) -> float | None:
    """Return a number of the record's summary; None where it has none, or was not measured with an answer."""
    return number((record.summary or {}).get(key)) if record.status in MEASURED else None


def median_us(record: Record) -> float | None:
    """Return the median in microseconds of a record that was measured, None for the others.

    None, too, where the median or a sample is no time that anything takes: no format's arithmetic need fear it then.
    """
    found = figure(record, "median_us") or 0.0
    samples = () if record.timing is None else record.timing.samples
    return found if all(LEAST_US <= us <= MOST_US for us in (found, *(sample.us for sample in samples))) else None


def interval_us(record: Record) -> tuple[float, float] | None:
    """Return the 95 % interval of the median in microseconds, None where it is not known."""
    found = (record.summary or {}).get("ci95_us")
    if record.status not in MEASURED or not isinstance(found, list | tuple) or len(found) != 2:
        return None
    low, high = number(found[0]), number(found[1])
    return None if low is None or high is None else (low, high)


def rounds_us(record: Record) -> list[tuple[float, int]]:
    """Return the median in microseconds and the number of samples of each round that has any."""
    rounds = () if record.timing is None else record.timing.rounds
    return [(statistics.median(sample.us for sample in samples), len(samples)) for samples in rounds if samples]


def bytes_per_second(record: Record, us: float) -> float | None:
    """Return the rate at which the case's bytes move in a time of `us` microseconds; None for no bytes."""
    return record.bytes / us * 1e6 if record.bytes and record.bytes < 2**63 else None


def records(result: ResultSet) -> list[Record]:
    """Return the records, one a case and contender: the last where a file has several."""
    return list({(record.case.id, record.contender): record for record in result.records}.values())


def device(result: ResultSet, key: str = "name") -> str:
    """Return what the result says of its device, as harmless text; empty where it says nothing."""
    found = result.environment.get("device")
    return harmless(found.get(key)) if isinstance(found, dict) else ""


def suite(result: ResultSet) -> str:
    """Return the name of the suite."""
    return harmless(result.suite.get("name"))


def is_simulated(result: ResultSet) -> bool:
    """Tell whether some time says nothing about a GPU."""
    return any(record.simulated for record in result.records)


def created_seconds(result: ResultSet) -> float | None:
    """Return when the result was made, in seconds since 1970; None where the file has no such time."""
    try:
        made = datetime.fromisoformat(result.created)
        return (made if made.tzinfo else made.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def case_parts(record: Record) -> str:
    """Return the case without its operator: `4096x4096/dim=1/float32`."""
    return harmless(record.case.id.removeprefix(record.case.operator + "/"))


def reason(record: Record) -> str:
    """Return why a record has no figures: its status, and its message."""
    return harmless(f"{record.status}: {record.message}" if record.message else record.status)
