"""`gpubench export`: write a result in the format of another program."""

from __future__ import annotations

from pathlib import Path

import click

from gpubench.cli import output
from gpubench.cli.choosing import chosen
from gpubench.cli.options import Filters, OutputFile, filter_options, result_argument
from gpubench.errors import UsageError
from gpubench.results.exports import FORMATS


@click.command()
@result_argument
@click.option(
    "--format",
    "name",
    type=click.Choice(tuple(FORMATS)),
    required=True,
    help="Read by: " + "; ".join(f"{name}: {row.readers}" for name, row in FORMATS.items()) + ".",
)
@click.option(
    "-o",
    "--output",
    "target",
    type=OutputFile(),
    metavar="FILE",
    required=True,
    help="Write here; - is standard output, for formats that are one text.",
)
@click.option(
    "--no-timestamps",
    is_flag=True,
    help="OpenMetrics without the time of the run, as the textfile collector of the node exporter wants it.",
)
@filter_options
def command(result: Path, name: str, target: Path, no_timestamps: bool, filters: Filters) -> None:
    """Write the result file RESULT in another program's format, and print its name, and those of folders beside it.

    Records without a time and a right answer are marked as the format can, or left out where it cannot.
    """
    from gpubench.results.exports import Options, export
    from gpubench.results.paths import STREAM, output_file
    from gpubench.results.read import read
    from gpubench.results.write import replace_file

    if no_timestamps and name != "openmetrics":
        raise UsageError(f"--no-timestamps is of --format openmetrics; {name} has none to leave out.")
    if target == STREAM and not FORMATS[name].is_text:
        raise UsageError(f"-o -: {name} is not one text; name a file.")
    made = export(chosen(read(result), filters), name, Options(target.name, not no_timestamps))
    if target == STREAM:
        output.write(made.data.decode())
        return
    beside = {output_file(f"{target}{end}"): data for end, data in made.beside.items()}
    for path, data in {**beside, target: made.data}.items():  # the file that names the others comes last
        replace_file(path, data)
    for path in (*dict.fromkeys(path.parent for path in beside), target):
        output.write(str(path))
