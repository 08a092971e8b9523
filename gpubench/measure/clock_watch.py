"""Which samples were taken while the GPU was slow: judged by the SM clock that each sample carries."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from gpubench.model import Sample

SLOW = 0.75
"""A sample is discarded when its SM clock is under this part of the highest that the run has seen."""

WITNESSES = 3
"""So many samples must have reached a clock before it counts as seen: one misread stamp condemns nothing."""


class ClockWatch:
    """Remembers the highest SM clock of a run; share one over all cases of a run."""

    def __init__(self) -> None:
        self._highest: list[float] = []

    def see(self, samples: Iterable[Sample]) -> None:
        """Take note of the samples' clocks."""
        for sample in samples:
            if sample.sm_mhz is not None:
                heapq.heappush(self._highest, sample.sm_mhz)
                if len(self._highest) > WITNESSES:
                    heapq.heappop(self._highest)

    @property
    def highest(self) -> float | None:
        """The highest SM clock in MHz that `WITNESSES` samples reached; None before that many were seen."""
        return self._highest[0] if len(self._highest) == WITNESSES else None

    def is_slow(self, sample: Sample) -> bool:
        """Tell whether the sample's clock was too low. A sample without a clock never is."""
        highest = self.highest
        return sample.sm_mhz is not None and highest is not None and sample.sm_mhz < SLOW * highest
