"""`gpubench fleet`: what the results of many GPUs say of each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpubench.cli import exit_codes, output
from gpubench.cli.options import OutputFile, json_flag, quiet_option, share_option
from gpubench.cli.quantities import share
from gpubench.errors import ComparisonError, ExitCode

if TYPE_CHECKING:
    from gpubench.engine.fleet.load import Loaded
    from gpubench.findings import Findings

F = TypeVar("F", bound=Callable[..., Any])

CHECK_CODES = {
    1: "a GPU is slow, gave a wrong answer, or none",
    3: "members are missing, too few to judge, or seem slow and were not measured again",
}


@click.group()
def command() -> None:
    """Judge the GPUs that `gpubench run SUITE --devices all` measured: which is slow, and which is wrong.

    FLEET is the folder that the run made, or its fleet.json.
    """


def judged(function: F) -> F:
    """Add FLEET and the options of the judgement."""
    for decorate in reversed(
        (
            click.argument("fleet", metavar="FLEET", type=click.Path(path_type=Path)),
            click.option(
                "--profile",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Hold the GPUs against this profile of their model, not against each other.",
            ),
            click.option(
                "--min-effect",
                callback=share,
                default="1%",
                show_default=True,
                metavar="SHARE",
                help="Call no GPU slow for less.",
            ),
            click.option(
                "--noise-floor",
                callback=share,
                default="0.3%",
                show_default=True,
                metavar="SHARE",
                help="How much GPUs that are alike differ at least.",
            ),
        )
    ):
        function = decorate(function)
    return function


def found(fleet: Path, profile: Path | None, min_effect: float, noise_floor: float) -> tuple[Loaded, Findings]:
    """Read the fleet and judge it. ResultFileError, ComparisonError."""
    from gpubench.analysis.fleet.judge import judge
    from gpubench.analysis.fleet.rule import Rule
    from gpubench.engine.fleet.load import load
    from gpubench.results.profiles import read_profile

    loaded = load(fleet)
    stored = None if profile is None else read_profile(profile)
    return loaded, judge(loaded.fleet, loaded.members, loaded.again, stored, Rule(noise_floor, min_effect))


@command.command(epilog=exit_codes(CHECK_CODES))
@judged
@json_flag
@quiet_option
def check(
    fleet: Path, profile: Path | None, min_effect: float, noise_floor: float, as_json: bool, quiet: bool
) -> ExitCode:
    """Say whether every GPU of FLEET is healthy, for a script: by the exit code, and a line for each that is not.

    A GPU is slow when the median of its times over all cases lies beyond k x max(MAD, noise floor) of the others, k
    growing with their number, and at least --min-effect, and a second measurement beside a healthy GPU shows it again.
    Fewer than five of a model are judged by --profile only. Wrong answers outrank slow ones.
    """
    from gpubench.views.fleet import check_lines, document

    _, findings = found(fleet, profile, min_effect, noise_floor)
    if as_json:
        output.write_json(document(findings))
    elif not quiet:
        for line in check_lines(findings, output.look()):
            output.write(line)
    return code(findings)


def code(findings: Findings) -> ExitCode:
    """Return the exit code of a check."""
    from gpubench.findings import BAD

    if findings.having(*BAD):
        return ExitCode.REGRESSION
    if findings.having("MISSING", "SUSPECT", "UNJUDGED"):
        return ExitCode.NOT_COMPARABLE
    return ExitCode.FINE


@command.command()
@judged
@click.option("-o", "page", metavar="FILE", type=OutputFile(), help="Write an HTML page here; - is standard output.")
def report(fleet: Path, profile: Path | None, min_effect: float, noise_floor: float, page: Path | None) -> None:
    """Show how the GPUs of FLEET compare: each one's effect, what may explain it, and where answers differ.

    In the terminal, or with -o as one HTML page with a strip of dots, a heat map GPU x case and the table.
    """
    from gpubench.results.paths import STREAM
    from gpubench.views.fleet import report_text

    _, findings = found(fleet, profile, min_effect, noise_floor)
    if page is None:
        output.write(report_text(findings, output.look()))
        return
    from gpubench.views.fleet_page import fleet_html

    output.put(page, fleet_html(findings))
    if page != STREAM:
        output.write(str(page))


@command.command("profile")
@judged
@click.option("-o", "file", metavar="FILE", type=OutputFile(), required=True, help="Where the profile goes.")
def make(fleet: Path, profile: Path | None, min_effect: float, noise_floor: float, file: Path) -> None:
    """Make a profile of the healthy GPUs of FLEET, which must be of one model.

    With --profile, which are healthy is judged by that earlier one.
    """
    from gpubench.analysis.fleet.profiles import make_profile
    from gpubench.results.profiles import dumps
    from gpubench.views.text import percent, printable

    loaded, findings = found(fleet, profile, min_effect, noise_floor)
    made = make_profile(loaded.fleet, loaded.members, findings)
    output.put(file, dumps(made))
    left = len(loaded.fleet.members) - made.gpus
    differ = f"; they differ by {percent(made.scale)}" if made.scale else ""
    output.report(
        f"{printable(made.model)}: {made.gpus} GPU{'s' * (made.gpus > 1)}, {len(made.standards)} pieces of work{differ}"
        + (f". Left out: {left}." if left else ".")
    )


@command.command()
@judged
@share_option
@quiet_option
def repeat(
    fleet: Path, profile: Path | None, min_effect: float, noise_floor: float, share_device: bool, quiet: bool
) -> ExitCode:
    """Measure the GPUs of FLEET that seem slow a second time, beside a healthy one, on this machine."""
    from gpubench.cli.fleet_run import measure_again

    loaded, findings = found(fleet, profile, min_effect, noise_floor)
    if not findings.having("SUSPECT"):
        output.report("No GPU of this fleet needs a second measurement.")
        return ExitCode.FINE
    if loaded.fleet.cluster is not None:
        raise ComparisonError("This fleet was measured by a cluster: give its `run --cluster` again, with --resume.")
    return measure_again(loaded, findings, share_device, quiet)
