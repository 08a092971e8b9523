"""Which samples were taken while the GPU was slow: judged by the SM clock that each sample carries."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Iterable, Sequence

from gpubench.model import Sample

SLOW = 0.75
"""A sample is discarded when its SM clock is under this part of the highest that the run has seen."""

WITNESSES = 3
"""So many samples must have reached a clock before it counts as seen: one misread stamp condemns nothing."""


class ClockWatch:
    """Remembers the highest SM clock of a run; share one over all cases of a run.

    `rated_mhz`: the highest clock that the card is built for, None where it is not known.
    """

    def __init__(self, rated_mhz: float | None = None) -> None:
        self.rated_mhz = rated_mhz
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

    def held_at(self, samples: Sequence[Sample]) -> float | None:
        """Return the samples' clock where it is too far under the card's own: capped, or throttled from the start.

        Samples of such a run are steady among themselves, so that none of them is slow; their times are the cap's all
        the same.
        """
        clocks = [sample.sm_mhz for sample in samples if sample.sm_mhz is not None]
        if not clocks or not self.rated_mhz:
            return None
        clock = statistics.median(clocks)
        return clock if clock < SLOW * self.rated_mhz else None
