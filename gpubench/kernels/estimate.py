"""How far a long compilation is, and when it will be done, from how long its parts took so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Kernels that are done, of how many, and the seconds that the others will probably take."""

    done: int
    total: int
    seconds_left: float


class Estimate:
    """Kernels of one source take about equally long; those of a source that was not met yet, the mean of all others."""

    def __init__(self, parts: Sequence[tuple[str, int]], processes: int) -> None:
        """Take the (source, kernels) of each part, and how many parts are at work at the same time."""
        self._parts = parts
        self._processes = processes
        self._waiting = dict(enumerate(parts))
        self._total = sum(count for _, count in parts)
        self._seconds: dict[str, float] = {}
        self._kernels: dict[str, int] = {}

    def after(self, number: int, seconds: float) -> Progress:
        """Take the seconds that a part took, and return how far all is."""
        source, count = self._waiting.pop(number)
        self._seconds[source] = self._seconds.get(source, 0.0) + seconds
        self._kernels[source] = self._kernels.get(source, 0) + count
        left = sum(count for _, count in self._waiting.values())
        return Progress(self._total - left, self._total, self._left())

    def _left(self) -> float:
        mean = sum(self._seconds.values()) / sum(self._kernels.values())
        work = [count * self._each(source, mean) for source, count in self._waiting.values()]
        return max(sum(work) / self._processes, max(work, default=0.0))

    def _each(self, source: str, mean: float) -> float:
        known = self._kernels.get(source)
        return self._seconds[source] / known if known else mean
