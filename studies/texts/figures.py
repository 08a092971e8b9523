"""The figures of a result that the page of the texts' claims shows, by case and contender, and how they are written."""

from __future__ import annotations

from collections.abc import Mapping

from gpubench.model import Json, Record, ResultSet
from gpubench.names import MEASURED
from gpubench.views import text
from gpubench.views.rows import Row, rows


def finished(result: ResultSet) -> set[str]:
    """Return the cases of a result; of a run that was stopped, those of which each contender had its turn."""
    cases = {record.case.id for record in result.records}
    if "stopped" not in result.extra:
        return cases
    return cases - {record.case.id for record in result.records if record.status == "skipped"}


class Figures:
    """The rows of results by case and contender. A case is taken whole from the last result that has it: times of two
    runs are never set beside each other. A run that was stopped has the cases that it finished.
    """

    def __init__(self, *results: ResultSet) -> None:
        """Keep the rows whose times may be shown, and the records for what their kernels chose."""
        self._rows: dict[tuple[str, str], Row] = {}
        self._records: dict[tuple[str, str], Record] = {}
        last = {case: number for number, result in enumerate(results) for case in finished(result)}
        for number, result in enumerate(results):
            found = {(row.case, row.contender): row for row in rows(result) if row.status in MEASURED and row.median_us}
            self._rows |= {key: row for key, row in found.items() if last.get(key[0]) == number}
            for record in result.records:
                if last.get(record.case.id) == number:
                    self._records[record.case.id, record.contender] = record
        self.cases = list(dict.fromkeys(record.case.id for result in results for record in result.records))

    def row(self, case: str, contender: str) -> Row | None:
        """Return the row, None when it was not measured (or failed)."""
        return self._rows.get((case, contender))

    def record(self, case: str, contender: str) -> Record | None:
        """Return the record, whatever its status."""
        return self._records.get((case, contender))

    def records(self) -> list[Record]:
        """Return every record, in the order of the result, whatever its status."""
        return list(self._records.values())

    def chosen(self, case: str, contender: str) -> dict[str, Json] | None:
        """Return what the host's rule chose: the plan's notes (the parts of one that has parts beside the others), then
        kernel, grid and block of the first launch. None where there is no kernel.
        """
        record = self.record(case, contender)
        kernel = record.kernel if record is not None else None
        if not kernel:
            return None
        found: dict[str, Json] = {}
        notes = kernel.get("notes")
        for key, value in notes.items() if isinstance(notes, Mapping) else ():
            found |= value if isinstance(value, dict) else {key: value}
        launches = kernel.get("launches")
        first = launches[0] if isinstance(launches, list) and launches else None
        if isinstance(first, Mapping):
            found |= {key: _blocks(first[key]) for key in ("kernel", "grid", "block") if key in first}
        return found


def _blocks(value: Json) -> Json:
    """Return a launch's three numbers without the last, which is 1 in all of these kernels; anything else as it is."""
    return value[:2] if isinstance(value, list) else value


def verdict(slow: Row, fast: Row) -> str:
    """Say whether `fast` takes less time than `slow`."""
    if slow.low_us is None or slow.high_us is None or fast.low_us is None or fast.high_us is None:
        return "undecided"
    if fast.high_us < slow.low_us:
        return "holds"
    return "does not hold" if slow.high_us < fast.low_us else "undecided"


def median(row: Row) -> float:
    """Return the median of a row that is shown."""
    assert row.median_us is not None, "only rows with a median are kept"
    return row.median_us


def shown(row: Row | None) -> str:
    """Return the median with its unit, `-` where there is none."""
    return "-" if row is None else text.duration(median(row))


def bound(*some: Row) -> str:
    """Return the mark of times that are mostly the launch's."""
    return " (launch-bound)" if any(row.launch_bound for row in some) else ""
