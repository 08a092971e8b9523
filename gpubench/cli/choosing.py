"""What the commands that show results share: the records that the filter options leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.cli import output
from gpubench.cli.options import Filters
from gpubench.errors import UsageError

if TYPE_CHECKING:
    from gpubench.model import ResultSet


def chosen(result: ResultSet, filters: Filters) -> ResultSet:
    """Return the result with the records that the filters keep; UsageError, with the nearest names, for none."""
    from gpubench.suite.filters import select

    if filters.is_empty:
        return result
    contenders: dict[str, dict[str, None]] = {}
    for record in result.records:
        contenders.setdefault(record.case.id, {})[record.contender] = None
    cases = {record.case.id: record.case for record in result.records}
    kept = select(
        [replace(case, contenders=tuple(contenders[name])) for name, case in cases.items()],
        expression=filters.expression,
        operators=filters.operators,
        dtypes=filters.dtypes,
        contenders=filters.contenders,
    )
    wanted = {(case.id, contender) for case in kept for contender in case.contenders}
    return replace(
        result, records=tuple(record for record in result.records if (record.case.id, record.contender) in wanted)
    )


def chosen_of_all(results: Sequence[tuple[Path, ResultSet]], filters: Filters) -> list[ResultSet]:
    """Return those of several results in which the filters keep something; the others are told of by their path.

    UsageError, with the nearest names, where nothing is kept of any.
    """
    kept: list[ResultSet] = []
    refused: list[tuple[Path, UsageError]] = []
    for path, result in results:
        try:
            kept.append(chosen(result, filters))
        except UsageError as error:
            refused.append((path, error))
    if not kept:
        raise refused[0][1]
    for path, reason in refused:
        output.report(f"{path}: {reason}")
    return kept


def worst_of(results: Sequence[ResultSet], subject: str, count: int) -> list[ResultSet]:
    """Return the results with those cases only in which `subject` stands worst of all, in each the worst first.

    UsageError where the subject was never timed beside another contender.
    """
    import difflib

    from gpubench.standing import standings, worst

    placed = [(place, standing) for place, result in enumerate(results) for standing in standings([result])]
    places = {id(standing): place for place, standing in placed}
    ranked = worst((standing for _, standing in placed), subject, count)
    if not ranked and any(record.simulated for result in results for record in result.records):
        raise UsageError("The times of a simulated device say nothing of who is behind: run the suite on a GPU.")
    if not ranked:
        names = list(dict.fromkeys(record.contender for result in results for record in result.records))
        near = difflib.get_close_matches(subject, names, n=3) or names[:5]
        raise UsageError(f"{subject!r} was not timed beside another contender. There are: {', '.join(near)}.")
    kept = []
    for place, result in enumerate(results):
        order = {standing.case.id: rank for rank, standing in enumerate(ranked) if places[id(standing)] == place}
        mine = [record for record in result.records if record.case.id in order]
        mine.sort(key=lambda record: order[record.case.id])
        if mine:
            kept.append(replace(result, records=tuple(mine)))
    return kept
