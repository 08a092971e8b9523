"""How much a result can still take so that the reader will read it: asked before a record is kept, not when all are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpubench.errors import ResultFileError, UsageError
from gpubench.model import Case, Record, ResultSet
from gpubench.results.format import record_to_json
from gpubench.results.strict import MAX_BYTES, MAX_MEMORY, memory_estimate, parse
from gpubench.results.write import dumps, json_text

_HEAD = (1 << 20, 4 << 20)
"""Bytes and memory kept free for what a result holds beside its records: environment, ceilings, times."""
_MESSAGE = "x" * 600
"""As long as any reason for which a record was not reached."""
_LEAST_BYTES = 6
_LEAST_MEMORY = 100
"""What one sample takes at least, written and read."""


class FullError(ResultFileError):
    """The record is measured, but the result has no room for it."""


class Room:
    """The room of one result. Every pair of case and contender has its place from the start, as `skipped`."""

    def __init__(self, cases: Sequence[Case], done: Iterable[Record] = ()) -> None:
        """Reserve a place for each pair. UsageError, before anything is measured, when the cases cannot all fit."""
        self._bytes, self._memory = _HEAD
        self._reserved: dict[tuple[str, str], tuple[int, int]] = {}
        samples = 0
        for case in cases:
            for contender in dict.fromkeys(case.contenders):
                self._reserved[case.id, contender] = size = _size(Record(case, contender, "skipped", _MESSAGE, None))
                samples += case.timing.min_samples
                self._bytes += size[0]
                self._memory += size[1]
        if self._bytes > MAX_BYTES or self._memory > MAX_MEMORY:
            raise UsageError(f"{len(self._reserved)} records are more than one result can hold. Narrow with -k.")
        least = (self._bytes + samples * _LEAST_BYTES, self._memory + samples * _LEAST_MEMORY)
        if least[0] > MAX_BYTES or least[1] > MAX_MEMORY:
            raise UsageError(
                f"{len(self._reserved)} contenders would have at least {samples:,} samples together, more than one "
                "result can hold. Take fewer (--min-samples), or narrow with -k and make several results."
            )
        for record in done:
            self.take(record)

    def take(self, record: Record) -> None:
        """Fill the place of a record. FullError when that does not fit; then it is still reserved."""
        data = json_text(record_to_json(record)).encode("ascii")
        parse(data, f"{record.case.id} {record.contender}")
        before = self._reserved.get((record.case.id, record.contender), (0, 0))
        size = len(data) + 2, memory_estimate(data)
        total = self._bytes + size[0] - before[0], self._memory + size[1] - before[1]
        if total[0] > MAX_BYTES or total[1] > MAX_MEMORY:
            raise FullError(
                f"the result is full: {record.case.id} {record.contender} does not fit any more. Run the rest by "
                "itself (narrow with -k), or take fewer samples"
            )
        self._bytes, self._memory = total
        self._reserved[record.case.id, record.contender] = size


def _size(record: Record) -> tuple[int, int]:
    data = json_text(record_to_json(record)).encode("ascii")
    return len(data) + 2, memory_estimate(data)


def times(result: ResultSet, count: int) -> bool:
    """Tell whether the samples of so many results like this one fit into one."""
    data = dumps(result).encode("ascii")
    return len(data) * count <= MAX_BYTES and memory_estimate(data) * count <= MAX_MEMORY
