"""`gpubench show`: print the table of a result file again, or give it in another form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.choosing import chosen_of_all, worst_of
from gpubench.cli.options import Filters, filter_options, results_argument, split_commas
from gpubench.errors import UsageError
from gpubench.names import AUTO

if TYPE_CHECKING:
    from gpubench.model import ResultSet


@click.command()
@results_argument
@click.option(
    "--sort",
    metavar="ORDER",
    help="The order of rows: case, contender, median, gbps, ceiling, speedup or status; without it, the file's.",
)
@click.option(
    "--columns",
    multiple=True,
    callback=split_commas,
    metavar="NAMES",
    help="Which columns, separated by commas: case, contender, median, interval, gbps, ceiling, speedup, check, status "
    "(these are shown without the option; peer and versus too, where other libraries ran), bytes, min, p95, samples, "
    "variant, registers, copy, corrected, cupti.",
)
@click.option("--markdown", "form", flag_value="markdown", help="Print Markdown for a pull request (60 KB at most).")
@click.option("--json", "form", flag_value="json", help="Print the result as JSON; of several, an array.")
@click.option("--jsonl", "form", flag_value="jsonl", help="Print JSON lines, one record each.")
@click.option(
    "--as-suite", "form", flag_value="suite", help="Print the cases as a suite, with their contenders, to be run again."
)
@click.option("--csv", "form", flag_value="csv", help="Print comma-separated values, one record a line.")
@click.option(
    "--worst",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Only the N cases in which --of stands worst beside the fastest other contender, worst first.",
)
@click.option("--of", "subject", default=AUTO, show_default=True, metavar="CONTENDER", help="Whose worst cases.")
@filter_options
def command(
    results: tuple[Path, ...],
    sort: str | None,
    columns: tuple[str, ...],
    form: str | None,
    worst: int | None,
    subject: str,
    filters: Filters,
) -> None:
    """Print the table of each result file RESULT.

    On a terminal the rows stand in groups, a case each, and columns that do not fit are left out; piped, every row is
    one plain line with nothing left out. "Of ceiling" is against the rate that the device reached in the same run.
    """
    from gpubench.results.read import read
    from gpubench.views.tables import COLUMNS, SORTS

    _require_known("column", columns, COLUMNS)
    _require_known("order", () if sort is None else (sort,), SORTS)
    contents = chosen_of_all([(path, read(path)) for path in results], filters)
    if worst is not None:
        contents = worst_of(contents, subject, worst)
    if form == "suite":
        output.write(_suite(contents, subject, "worst" if worst is not None else "cases"))
        return
    output.write(_render(contents, form, columns or None, sort))


def _render(contents: Sequence[ResultSet], form: str | None, columns: Sequence[str] | None, sort: str | None) -> str:
    """Return the results in the form that was asked for; None is a table each."""
    from gpubench.results import export, write
    from gpubench.views import tables

    match form:
        case "json":
            documents = [write.dumps(content) for content in contents]
            return documents[0] if len(documents) == 1 else "[" + ",".join(documents) + "]\n"
        case "jsonl":
            return "".join(line for content in contents for line in export.json_lines(content))
        case "csv":
            return export.csv_text(*contents)
        case "markdown":
            return "\n".join(tables.results_markdown(content, columns, sort) for content in contents)
    return "\n".join(tables.results_table(content, output.look(), columns, sort) for content in contents)


def _suite(contents: Sequence[ResultSet], subject: str, name: str) -> str:
    """Return the cases of the results as a suite; each with how its subject stands, where that is known."""
    from gpubench.standing import standings
    from gpubench.suite.write import suite_text

    cases = {record.case.id: record.case for content in contents for record in content.records}
    remarks = {}
    for standing in standings(contents):
        ratio, other = standing.versus(subject), standing.best_other(subject)
        if ratio is not None:
            remarks[standing.case.id] = f"{ratio:.2f} x {other}"
    return suite_text(name, list(cases.values()), remarks)


def _require_known(kind: str, given: Collection[str], allowed: Collection[str]) -> None:
    for name in given:
        if name not in allowed:
            raise UsageError(f"There is no {kind} {name!r}; there are {', '.join(allowed)}.")
