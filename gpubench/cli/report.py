"""`gpubench report`: one self-contained HTML page of a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.options import OutputFile, result_argument

if TYPE_CHECKING:
    from gpubench.comparison import Comparison
    from gpubench.model import ResultSet


@click.command()
@result_argument
@click.option(
    "--baseline",
    metavar="BASELINE",
    help="Tell what changed since: a result file, a folder, or the name of a saved baseline.",
)
@click.option(
    "-o",
    "page",
    metavar="FILE",
    type=OutputFile(),
    default=Path("report.html"),
    show_default=True,
    help="Write here; - is standard output.",
)
def command(result: Path, baseline: str | None, page: Path) -> None:
    """Write one HTML page of the result file RESULT, and print its name.

    The page holds the summary, the charts, a table that sorts and filters, everything known of each case, and the
    environment. It needs no network and no other file, and can be mailed, archived or printed as it is.
    """
    from gpubench.results.paths import STREAM
    from gpubench.results.read import read
    from gpubench.views.report import report_html

    content = read(result)
    compared = None if baseline is None else _compared(baseline, result, content)
    output.put(page, report_html(content, compared))
    if page != STREAM:
        output.write(str(page))


def _compared(baseline: str, path: Path, content: ResultSet) -> Comparison:
    from gpubench.analysis.compare import Options, compare
    from gpubench.results.baselines import find
    from gpubench.results.read import read

    place = find(baseline, content, Path(), besides=path)
    return compare(read(place), content, replace(Options(), old=str(place), new=str(path)))
