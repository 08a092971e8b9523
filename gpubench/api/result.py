"""What `gpubench.run` gives: a result with its views, the same that the command line prints and draws."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from gpubench.comparison import Comparison
from gpubench.errors import MissingExtraError, UsageError
from gpubench.limits import Missed, missed
from gpubench.model import Record, ResultSet
from gpubench.names import REFUTED
from gpubench.results.read import read as read_file
from gpubench.views.columns import COLUMNS, Look, default_columns
from gpubench.views.rows import rows
from gpubench.views.tables import results_table, totals

Level = Literal["record", "round", "sample"]


class Result:
    """One run's records. `set` is the result file's content, `path` where it lies (None: nowhere)."""

    def __init__(self, content: ResultSet, path: Path | None = None) -> None:
        self.set = content
        self.path = path

    @property
    def records(self) -> tuple[Record, ...]:
        """One record a case and contender, in order."""
        return self.set.records

    def record(self, contender: str, case: str | None = None) -> Record:
        """Return the record of a contender, in a result of one case or in the case of this id. KeyError without one."""
        for record in self.records:
            if record.contender == contender and case in (None, record.case.id):
                return record
        raise KeyError(contender if case is None else (case, contender))

    @property
    def wrong(self) -> tuple[Record, ...]:
        """The records whose answer is not right, or whose time cannot be."""
        return tuple(record for record in self.records if record.status in REFUTED)

    @property
    def missed_limits(self) -> list[Missed]:
        """The limits of the suite that are not kept."""
        return missed(self.records)

    def table(self, columns: Sequence[str] | None = None, sort: str | None = None, width: int | None = None) -> str:
        """Return the table of `gpubench show` as text; `width`: columns of a terminal, None for one line a row."""
        return results_table(self.set, Look(width=width), columns, sort)

    def to_pandas(self, level: Level = "record") -> Any:
        """Return a pandas DataFrame: a row a record, a round or a sample. Times in microseconds, rates in GB/s.

        MissingExtraError without pandas; ValueError for another level.
        """
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        makers = {"record": self._by_record, "round": self._by_round, "sample": self._by_sample}
        if level not in makers:
            raise ValueError(f"level is {level!r}; allowed: {', '.join(makers)}")
        return pandas.DataFrame(list(makers[level]()))

    def _by_record(self) -> Iterator[dict[str, Any]]:
        for row, record in zip(rows(self.set), self.records, strict=True):
            yield {**dataclasses.asdict(row), "params": dict(record.case.params)}

    def _by_round(self) -> Iterator[dict[str, Any]]:
        import statistics

        for record in self.records:
            for number, samples in enumerate(record.timing.rounds if record.timing else ()):
                times = [sample.us for sample in samples]
                median = statistics.median(times) if times else None
                yield {**_key(record), "round": number, "median_us": median, "samples": len(times)}

    def _by_sample(self) -> Iterator[dict[str, Any]]:
        for record in self.records:
            if record.timing is None:
                continue
            for number, samples in enumerate(record.timing.rounds):
                for sample in samples:
                    yield {**_key(record), "round": number, "us": sample.us, "sm_mhz": sample.sm_mhz, "kept": True}
            for number, sample in record.timing.discarded:
                yield {**_key(record), "round": number, "us": sample.us, "sm_mhz": sample.sm_mhz, "kept": False}

    def compare(self, baseline: Result | str | Path, threshold: float = 0.01, alpha: float = 0.05) -> Compared:
        """Compare with another result: a `Result`, a file, or the name of a saved baseline. This one is the new one.

        threshold: the least change that counts, as a fraction. ComparisonError where the two must not be compared.
        """
        from gpubench.analysis.compare import Options, compare
        from gpubench.analysis.rule import Rule

        if isinstance(baseline, Result):
            old, name = baseline.set, str(baseline.path or "baseline")
        else:
            from gpubench.results.baselines import find

            place = find(str(baseline), self.set, Path())
            old, name = read_file(place), str(place)
        options = Options(rule=Rule(threshold, alpha), old=name, new=str(self.path or "new"))
        return Compared(compare(old, self.set, options))

    def plot(self, kind: str = "bandwidth", over: str | None = None) -> list[Any]:
        """Return matplotlib figures of one kind of chart (`gpubench plot --help` names them); a notebook shows them.

        over: the contender of a speed-up. UsageError for another kind. An empty list where there is nothing to show.
        """
        from gpubench.views.charts.files import KINDS, Wish, charts, default_over
        from gpubench.views.style import styled

        known = next((offered for offered in KINDS if offered == kind), None)
        if known is None:
            raise UsageError(f"There is no chart {kind!r}; there are {', '.join(KINDS)}.")
        with styled():
            made = charts(self.set, Wish(known, over or default_over(self.set), self.set))
            return [chart.draw() for chart in made]

    def save(self, path: str | Path) -> Path:
        """Write the result file and return its path. ResultFileError when it cannot be written."""
        from gpubench.results.write import write

        self.path = Path(path)
        write(self.set, self.path)
        return self.path

    def __repr__(self) -> str:
        return f"<gpubench.Result: {totals(rows(self.set))}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook, every text of it escaped."""
        all_rows = rows(self.set)
        names = default_columns(all_rows)
        head = "".join(f"<th>{html.escape(COLUMNS[name].heading)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(COLUMNS[name].cell(row, Look()))}</td>" for name in names) + "</tr>"
            for row in all_rows
        )
        notes = "".join(f"<p>limit missed: {html.escape(str(miss))}</p>" for miss in self.missed_limits)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _key(record: Record) -> dict[str, Any]:
    return {"case": record.case.id, "contender": record.contender, "status": record.status}


class Compared:
    """Two results beside each other: `comparison` holds the rows and what is known of the machine."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    def table(self, width: int | None = None, only_changed: bool = False) -> str:
        """Return what `gpubench compare` prints."""
        from gpubench.views.comparison import comparison_text

        return comparison_text(self.comparison, Look(width=width), only_changed=only_changed)

    @property
    def verdicts(self) -> dict[tuple[str, str], str]:
        """SLOWER, FASTER, SAME and so on, by case and contender."""
        return {(row.case, row.contender): row.verdict for row in self.comparison.rows}

    def __repr__(self) -> str:
        from collections import Counter

        counts = Counter(self.verdicts.values())
        return f"<gpubench.Compared: {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook, every text of it escaped."""
        return f"<pre>{html.escape(self.table())}</pre>"


def read(path: str | Path) -> Result:
    """Read a result file. ResultFileError when it is none."""
    return Result(read_file(Path(path)), Path(path))
