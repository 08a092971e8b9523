"""How contenders stand beside each other: the times of one case, and how far each is behind the fastest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpubench.model import Case, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, TRUSTED


@dataclass(frozen=True, slots=True)
class Standing:
    """One case of one result. times: the median, microseconds, of each contender whose time may be trusted; contenders
    that run on the host are none. contenders: all that the result has for this case.
    """

    case: Case
    times: Mapping[str, float]
    contenders: tuple[str, ...]

    def factor(self, contender: str) -> float:
        """Return a contender's time over that of the fastest, 1 for the fastest; infinity for one without a time."""
        return self.times[contender] / min(self.times.values()) if contender in self.times else math.inf

    def best_other(self, contender: str) -> str | None:
        """Return the fastest of the others; None without any."""
        others = [name for name in self.times if name != contender]
        return min(others, key=self.times.__getitem__, default=None)

    def versus(self, contender: str) -> float | None:
        """Return the time of the fastest other over a contender's: under 1 it is behind. None where one is missing."""
        other = self.best_other(contender)
        if other is None or contender not in self.times:
            return None
        return self.times[other] / self.times[contender]


def standings(results: Iterable[ResultSet]) -> list[Standing]:
    """Return the standing of every case of every result in which two contenders have times, in order."""
    found = [standing for result in results for standing in _of(result.records)]
    return [standing for standing in found if len(standing.times) > 1]


def _of(records: Sequence[Record]) -> list[Standing]:
    cases: dict[str, list[Record]] = {}
    for record in records:
        if record.contender not in HOST_CONTENDERS and not record.simulated:
            cases.setdefault(record.case.id, []).append(record)
    return [standing_of(group) for group in cases.values()]


def standing_of(records: Sequence[Record]) -> Standing:
    """Return the standing of the records of one case."""
    times = {}
    for record in records:
        median = (record.summary or {}).get("median_us")
        if record.status in TRUSTED and isinstance(median, int | float) and 0 < median < math.inf:
            times[record.contender] = float(median)
    return Standing(records[0].case, times, tuple(record.contender for record in records))


def worst(found: Iterable[Standing], contender: str, count: int | None = None) -> list[Standing]:
    """Return the cases in which a contender stands worst beside the fastest other, worst first, `count` at most."""
    ranked = [(ratio, standing) for standing in found if (ratio := standing.versus(contender)) is not None]
    return [standing for _, standing in sorted(ranked, key=lambda pair: (pair[0], pair[1].case.id))][:count]
