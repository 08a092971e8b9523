"""What charts draw: a result's records with their figures, and the quantities that only charts need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpubench.model import Json, Record, ResultSet
from gpubench.names import AUTO, MEASURED, NUMPY
from gpubench.views.rows import LAUNCH_BOUND_FACTOR, Row, rows


@dataclass(frozen=True, slots=True)
class Point:
    """One record and its figures."""

    record: Record
    row: Row

    @property
    def name(self) -> str:
        """Case and contender."""
        return f"{self.row.case} {self.row.contender}"

    @property
    def why(self) -> str:
        """Case, contender and what became of it, for lists of what has no number."""
        return f"{self.name} ({self.row.status})"

    @property
    def has_speed(self) -> bool:
        """True when it was timed and is right; what was sampled before a failure is no speed."""
        return self.row.status in MEASURED

    @property
    def rate(self) -> float | None:
        """GB/s; of a simulated run too, because a chart marks it all over. Wrong answers and failures have no speed."""
        row = self.row
        if not self.has_speed:
            return None
        if row.GBps is not None:
            return row.GBps
        if row.bytes and row.median_us:
            return row.bytes / row.median_us / 1e3
        return None

    @property
    def fraction(self) -> float | None:
        """The share of the ceiling. Wrong answers and failures have none."""
        return self.row.fraction if self.has_speed else None

    @property
    def rate_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate, from that of the median time."""
        row, rate = self.row, self.rate
        if rate is None or not row.median_us or not row.low_us or not row.high_us:
            return None
        return rate * row.median_us / row.high_us, rate * row.median_us / row.low_us


def points(result: ResultSet) -> list[Point]:
    """Return one point a record, in the order of the result."""
    return [Point(record, row) for record, row in zip(result.records, rows(result), strict=True)]


def is_simulated(found: Iterable[Point]) -> bool:
    """Tell whether any of the points comes from a simulation."""
    return any(point.row.simulated for point in found)


def launch_bound_us(result: ResultSet) -> float | None:
    """Return the median below which a case is launch-bound; None when the run measured no launch."""
    overhead = max(result.ceiling.launch_us or 0.0, result.ceiling.event_overhead_us or 0.0)
    return LAUNCH_BOUND_FACTOR * overhead or None


def device_number(result: ResultSet, key: str) -> float | None:
    """Return a positive number of the device's block, None where there is none."""
    device = result.environment.get("device")
    value = device.get(key) if isinstance(device, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e30:
        return None
    return float(value)


def contenders(found: Iterable[Point]) -> list[str]:
    """Return the contenders in the order in which they should be named: ours first, numpy last."""
    names = dict.fromkeys(point.row.contender for point in found)
    return sorted(names, key=lambda name: (name == NUMPY, name != AUTO, name))


def family(record: Record) -> tuple[str, ...]:
    """Return what all cases of one sweep over sizes share.

    That is everything but the size: of a one-dimensional operand its length, of a square its side, of any other the
    first dim.
    """
    return record.case.operator, record.case.dtype, record.case.distribution, _sizeless(record.case.params)


def _sizeless(value: Json, key: str = "") -> str:
    if key == "shape" and isinstance(value, list | tuple):
        square = len(value) > 1 and len(set(map(str, value))) == 1
        return f"{len(value)}d" + ("square" if square else str(list(value[1:])))
    if key == "indices":
        return "n"
    if isinstance(value, Mapping):
        return str(sorted((str(name), _sizeless(item, str(name))) for name, item in value.items()))
    if isinstance(value, list | tuple):
        return str([_sizeless(item) for item in value])
    return str(value)
