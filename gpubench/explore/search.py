"""The search: draws cases, and from those that lose most varies one parameter at a time until it knows their region.

What it asks for next follows from the cases drawn and from what came of those before, and from nothing else. So a
search that was interrupted comes to the same place again by being told the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from gpubench.explore.neighbours import Neighbour, between, further, neighbours
from gpubench.explore.regions import Finding, Region, finding, merged
from gpubench.model import Case
from gpubench.standing import Standing

BATCH = 8
"""Cases drawn at a time."""
HOPELESS = 2 * BATCH
"""Cases drawn of which none could be compared, after which none is expected to be."""
ROUNDS = 8
"""How often a number is halved or doubled further, as long as that still loses, or its end is halved in."""


class Search:
    """One search. Run the cases of each batch of `batches()`, and `take` what came of them before asking for the next.

    subject: whose losses are looked for. below: it loses where the fastest other's time is under so much of its own.
    """

    def __init__(self, draws: Iterator[Case], subject: str, below: float, most_bytes: int) -> None:
        self._draws = draws
        self._subject = subject
        self._below = below
        self._most_bytes = most_bytes
        self._known: dict[str, Standing | None] = {}
        self._drawn: list[str] = []
        self._regions: list[Region] = []

    def take(self, case: Case, standing: Standing | None) -> None:
        """Be told what came of a case; None where nothing can be compared."""
        self._known[case.id] = standing

    def batches(self) -> Iterator[list[Case]]:
        """Yield cases to be run, none twice, until the draws are over, or the first of them could not be compared."""
        while batch := list(islice(self._fresh(), BATCH)):
            self._drawn += [case.id for case in batch]
            yield batch
            if len(self._drawn) == HOPELESS and self.compared == 0:
                return
            while (worst := self._unexplained()) is not None:
                region = Region(worst.case)
                self._regions.append(region)
                yield from self._probe(region)

    def _fresh(self) -> Iterator[Case]:
        seen: set[str] = set()
        for case in self._draws:
            if case.id not in self._known and case.id not in seen:
                seen.add(case.id)
                yield case

    def _ratio(self, case_id: str) -> float | None:
        standing = self._known.get(case_id)
        return None if standing is None else standing.versus(self._subject)

    def _loses(self, case_id: str) -> bool:
        ratio = self._ratio(case_id)
        return ratio is not None and ratio < self._below

    def _unexplained(self) -> Standing | None:
        """Return the drawn case that loses most and lies in no region yet."""
        found = []
        boxes = [region.box() for region in self._regions]
        for name in self._drawn:
            standing, ratio = self._known.get(name), self._ratio(name)
            if standing is None or ratio is None or ratio >= self._below:
                continue
            if not any(box.holds(standing.case) for box in boxes):
                found.append((ratio, name, standing))
        return min(found, key=lambda ranked: ranked[:2])[2] if found else None

    def _probe(self, region: Region) -> Iterator[list[Case]]:
        """Try the neighbours of a region's case, then further along each number, and between where it ends."""
        nearby = neighbours(region.base, self._most_bytes)
        yield from self._tried(region, nearby)
        for _ in range(ROUNDS):
            beyond = self._beyond(region)
            if not beyond:
                return
            yield from self._tried(region, beyond)

    def _tried(self, region: Region, nearby: Sequence[Neighbour]) -> Iterator[list[Case]]:
        cases = {neighbour.case.id: neighbour.case for neighbour in nearby if neighbour.case.id not in self._known}
        if cases:
            yield list(cases.values())
        for neighbour in nearby:
            if self._ratio(neighbour.case.id) is not None:
                region.note(neighbour.parameter, neighbour.value, self._loses(neighbour.case.id))

    def _beyond(self, region: Region) -> list[Neighbour]:
        found: list[Neighbour] = []
        for parameter, tested in region.tested.items():
            numbers = {value: loses for value, loses in tested.items() if isinstance(value, int)}
            if len(numbers) < 2:
                continue
            for up in (False, True):
                end = max(numbers) if up else min(numbers)
                if numbers[end]:
                    found += further(region.base, parameter, list(numbers), self._most_bytes, up=up)
                else:
                    found += between(region.base, parameter, numbers, self._most_bytes, up=up)
        return [neighbour for neighbour in found if neighbour.value not in region.tested[neighbour.parameter]]

    @property
    def compared(self) -> int:
        """How many cases could be compared so far."""
        return sum(self._ratio(name) is not None for name in self._known)

    def findings(self) -> list[Finding]:
        """Return what was found so far, the worst first; regions of one kind are joined."""
        timed = [
            (self._loses(name), measured) for name, measured in self._known.items() if self._ratio(name) and measured
        ]
        losers = [measured for loses, measured in timed if loses]
        winners = [measured.case for loses, measured in timed if not loses]
        boxes = [region.box() for region in self._regions]
        alone = [loser.case for loser in losers if not any(box.holds(loser.case) for box in boxes)]  # not varied yet
        boxes = merged([*boxes, *(Region(case).box() for case in alone)], winners)
        found = [finding(box, losers, self._subject) for box in boxes]
        return sorted(found, key=lambda region: (region.ratio, region.words))
