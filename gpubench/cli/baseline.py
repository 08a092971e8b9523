"""`gpubench baseline`: named results to compare with."""

from __future__ import annotations

from pathlib import Path

import click

from gpubench.cli import output


@click.group()
def command() -> None:
    """Save and list named baselines, kept at runs/<device>/baselines/<name>.json."""


@command.command("save")
@click.argument("name", metavar="NAME")
@click.argument("result", metavar="RESULT", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a baseline of that name.")
def save(name: str, result: Path, force: bool) -> None:
    """Keep a copy of the result file RESULT as the baseline NAME of its device."""
    from gpubench.results import baselines

    output.write(f"saved {baselines.save(name, result, Path(), force)}")


@command.command("list")
def list_() -> None:
    """List the baselines: device, name, when it was measured, its suite, and whether it carries noise floors."""
    from gpubench.analysis.calibration import calibrated
    from gpubench.errors import GpubenchError
    from gpubench.results import baselines
    from gpubench.results.read import read
    from gpubench.views.text import printable

    found = baselines.saved(Path())
    if not found:
        output.write("no baselines in runs/*/baselines")
    for baseline in found:
        try:
            result = read(baseline.path)
            floors = "calibrated" if calibrated(result) else "not calibrated"
            rest = f"{result.created}  {result.suite.get('name', 'suite')}  {floors}"
        except GpubenchError as error:
            rest = f"unreadable: {error}"
        output.write(printable(f"{baseline.device}  {baseline.name}  {rest}"))
