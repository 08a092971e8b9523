"""`gpubench plan`: how many rounds would show a change."""

from __future__ import annotations

from pathlib import Path

import click

from gpubench.cli import output
from gpubench.cli.choosing import chosen
from gpubench.cli.comparing import fraction, rule_options
from gpubench.cli.options import Filters, OutputFile, filter_options
from gpubench.errors import ExitCode


@click.command()
@click.argument("result", metavar="RESULT", type=click.Path(path_type=Path))
@click.option(
    "--detect", default="2%", show_default=True, metavar="CHANGE", callback=fraction, help="The change to be seen."
)
@rule_options(threshold="1%")
@filter_options
@click.option(
    "-o", "--output", "plan_file", type=OutputFile(), metavar="FILE", help="Write the plan for --rounds-from."
)
def command(
    result: Path,
    detect: float,
    threshold: float,
    threshold_us: float,
    alpha: float,
    filters: Filters,
    plan_file: Path | None,
) -> ExitCode:
    """Say how many rounds each case of RESULT needs, so that comparing two runs shows a change, and what they take.

    `gpubench run SUITE --rounds-from FILE` runs each case with the rounds of the plan. Where no number of rounds would
    show the change, because runs differ by more, the case keeps its rounds and the plan says what could be seen.
    """
    import json

    from gpubench.analysis.planning import plan
    from gpubench.analysis.rule import Rule
    from gpubench.errors import UsageError
    from gpubench.results.read import read
    from gpubench.views.plan import plan_json, plan_text

    if detect <= threshold:
        raise UsageError(f"A change of {detect:g} is not beyond the threshold of {threshold:g}: lower --threshold.")
    content = read(result)
    planned = plan(content, detect, Rule(threshold, alpha, threshold_us), chosen(content, filters).records)
    if plan_file is not None:
        document = plan_json(planned, detect, threshold, content.suite.get("name"))
        output.put(plan_file, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if plan_file is None or plan_file.name != "-":
        output.write(plan_text(planned, detect, threshold, output.look()))
    return ExitCode.FINE if any(row.rounds is not None for row in planned) else ExitCode.NOT_COMPARABLE
