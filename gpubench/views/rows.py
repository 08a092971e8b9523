"""Records as rows: the figures that tables and charts show, worked out once for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gpubench.model import Json, Record, ResultSet

LAUNCH_BOUND_FACTOR = 3.0
"""A median under this many times the duration of an empty launch is launch-bound: most of it is not the kernel's."""

HOST_CONTENDERS = ("numpy",)
"""Contenders whose time is the host's wall time, so that neither a launch nor the device's ceiling says anything."""

YARDSTICK = "numpy"
"""The contender that the speed-up is over."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record's figures. None: the record does not have it, or (simulated) it would say nothing."""

    case: str
    operator: str
    dtype: str
    contender: str
    status: str
    message: str | None
    simulated: bool
    bytes: int | None
    median_us: float | None
    low_us: float | None
    high_us: float | None
    min_us: float | None
    p95_us: float | None
    samples: int | None
    GBps: float | None
    fraction: float | None
    speedup: float | None
    launch_bound: bool
    check_ok: bool | None
    over_tolerance: float | None
    variant: str | None
    registers: int | None

    @property
    def noise(self) -> float | None:
        """The interval's larger half relative to the median."""
        if not self.median_us or self.low_us is None or self.high_us is None:
            return None
        return max(self.high_us - self.median_us, self.median_us - self.low_us) / self.median_us


def rows(result: ResultSet) -> list[Row]:
    """Return one row a record, in the order of the file."""
    yardsticks = {
        record.case.id: median
        for record in result.records
        if record.contender == YARDSTICK and not record.simulated and (median := _number(record.summary, "median_us"))
    }
    overhead = max(result.ceiling.launch_us or 0.0, result.ceiling.event_overhead_us or 0.0)
    return [_row(record, yardsticks.get(record.case.id), overhead) for record in result.records]


def _row(record: Record, yardstick_us: float | None, overhead_us: float) -> Row:
    summary = record.summary
    median = _number(summary, "median_us")
    low, high = _interval(summary)
    timed_on_device = record.contender not in HOST_CONTENDERS and not record.simulated
    return Row(
        case=record.case.id,
        operator=record.case.operator,
        dtype=record.case.dtype,
        contender=record.contender,
        status=record.status,
        message=record.message,
        simulated=record.simulated,
        bytes=record.bytes,
        median_us=median,
        low_us=low,
        high_us=high,
        min_us=_number(summary, "min_us"),
        p95_us=_number(summary, "p95_us"),
        samples=_integer(summary, "n"),
        GBps=None if record.simulated else _number(summary, "GBps"),
        fraction=_number(summary, "fraction_of_ceiling") if timed_on_device else None,
        speedup=yardstick_us / median if yardstick_us and median and not record.simulated else None,
        launch_bound=bool(timed_on_device and median and median < LAUNCH_BOUND_FACTOR * overhead_us),
        check_ok=record.check.ok if record.check else None,
        over_tolerance=record.check.max_error_over_tolerance if record.check else None,
        variant=_text(record.kernel, "variant"),
        registers=_integer(record.kernel, "registers"),
    )


def _number(data: Mapping[str, Json] | None, key: str) -> float | None:
    value = data.get(key) if data else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _integer(data: Mapping[str, Json] | None, key: str) -> int | None:
    value = _number(data, key)
    return None if value is None else int(value)


def _text(data: Mapping[str, Json] | None, key: str) -> str | None:
    value = data.get(key) if data else None
    return value if isinstance(value, str) else None


def _interval(summary: Mapping[str, Json] | None) -> tuple[float | None, float | None]:
    both = summary.get("ci95_us") if summary else None
    if not isinstance(both, list | tuple) or len(both) != 2:
        return None, None
    ends = {"low": both[0], "high": both[1]}
    return _number(ends, "low"), _number(ends, "high")
