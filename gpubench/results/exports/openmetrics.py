"""OpenMetrics text, for Prometheus: gauges in seconds and bytes, labelled by device, suite, case and contender.

Format: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gpubench.model import Record, ResultSet
from gpubench.names import NOT_MEANT
from gpubench.results.exports import Exported, Options, facts


class _Family(NamedTuple):
    name: str
    unit: str
    help: str
    value: Callable[[Record], float | None]


def _seconds(us: float | None) -> float | None:
    return None if us is None else us / 1e6


def _bound(index: int) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        interval = facts.interval_us(record)
        return None if interval is None else interval[index] / 1e6

    return read


def _rate(record: Record) -> float | None:
    median = facts.median_us(record)
    return None if median is None else facts.bytes_per_second(record, median)


def _failed(record: Record) -> float | None:
    return None if record.status in NOT_MEANT else float(facts.median_us(record) is None)


_FAMILIES = (
    _Family(
        "gpubench_median_seconds",
        "seconds",
        "Median time of one run.",
        lambda record: _seconds(facts.median_us(record)),
    ),
    _Family("gpubench_low_seconds", "seconds", "Lower end of the 95 % interval of the median.", _bound(0)),
    _Family("gpubench_high_seconds", "seconds", "Upper end of the 95 % interval of the median.", _bound(1)),
    _Family("gpubench_rate_bytes_per_second", "bytes_per_second", "Least bytes moved over the median.", _rate),
    _Family(
        "gpubench_ceiling_ratio",
        "ratio",
        "Share of the rate that the device reached in the same run.",
        lambda record: facts.figure(record, "fraction_of_ceiling"),
    ),
    _Family("gpubench_failed", "", "1 where there is no time with an answer, though the contender was tried.", _failed),
)


def export(result: ResultSet, options: Options) -> Exported:
    """Return the exposition. Each sample has the time of the run unless `options.timestamps` is false."""
    made = facts.created_seconds(result) if options.timestamps else None
    stamp = "" if made is None else f" {made:.3f}"
    records = [(_labels(result, record), record) for record in facts.records(result)]
    lines = []
    for family in _FAMILIES:
        lines.append(f"# TYPE {family.name} gauge")
        lines += [f"# UNIT {family.name} {family.unit}"] if family.unit else []
        lines.append(f"# HELP {family.name} {family.help}")
        for labels, record in records:
            value = family.value(record)
            lines += [] if value is None else [f"{family.name}{{{labels}}} {value!r}{stamp}"]
    return Exported(("\n".join([*lines, "# EOF"]) + "\n").encode())


def _labels(result: ResultSet, record: Record) -> str:
    labels = {
        "device": facts.device(result),
        "uuid": facts.device(result, "uuid"),
        "driver": facts.device(result, "driver"),
        "suite": facts.suite(result),
        "operator": record.case.operator,
        "dtype": record.case.dtype,
        "case": record.case.id,
        "contender": record.contender,
        "simulated": "true" if record.simulated else "false",
    }
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return facts.harmless(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
