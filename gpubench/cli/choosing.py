"""What the commands that draw results share: the records that the filter options leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpubench.cli.options import Filters

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
