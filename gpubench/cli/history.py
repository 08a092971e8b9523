"""`gpubench history`: what many results say together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpubench.cli import output
from gpubench.cli.comparing import CODES, Outputs, emit, github_option, output_options, rule_options
from gpubench.cli.options import OutputFile, OutputFolder, json_flag, quiet_option
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.past import Group
    from gpubench.results.index import Index

F = TypeVar("F", bound=Callable[..., Any])

LAST = 200
"""Runs that are looked at without --last."""


@click.group()
def command() -> None:
    """Follow times over many results: draw them, find steps, gate a new run, publish pages.

    The results in a folder (--in, runs without it) are the history. Their index, .index.sqlite beside them, is a cache:
    it is made and kept up to date by every call, and can be deleted.
    """


def folder_option(function: F) -> F:
    """Add `--in`. The command gets `folder: Path`."""
    return click.option(
        "--in",
        "folder",
        type=click.Path(path_type=Path),
        default=Path("runs"),
        show_default=True,
        metavar="FOLDER",
        help="The folder that holds the results, in folders of any depth.",
    )(function)


def group_options(function: F) -> F:
    """Add `--in`, `--suite`, `--gpu` and `--last`; the command gets `folder`, `suite`, `gpu`, `last`."""
    for decorate in (
        click.option(
            "--last",
            type=click.IntRange(2, 1_000_000),
            default=LAST,
            show_default=True,
            metavar="N",
            help="Look at so many runs, the newest.",
        ),
        click.option("--gpu", metavar="NAME", help="Only runs on this model of GPU, as its name or a part of it."),
        click.option("--suite", metavar="NAME", help="Only runs of this suite."),
        folder_option,
    ):
        function = decorate(function)
    return function


def opened(folder: Path, quiet: bool = False) -> Index:
    """Return the index of a folder, up to date; files that hold no result are named on standard error."""
    from gpubench.results.index import Index
    from gpubench.views.text import printable

    index = Index(folder)
    report = None
    if not quiet and output.is_terminal():

        def report(done: int, all_of: int) -> None:
            """Say how far a long reading has come."""
            if all_of >= 1000 and done % 1000 == 0:
                output.report(f"read {done} of {all_of} results")

    index.refresh(report)
    if index.note is not None:
        output.report(printable(index.note))
    for problem in index.problems():
        output.report(printable(f"skipped: {problem.reason}"))
    return index


def groups(index: Index, suite: str | None, gpu: str | None) -> list[Group]:
    """Return the groups that are asked for. UsageError, with those there are, for none."""
    everything = index.groups()
    found = [
        group
        for group in everything
        if suite in (None, group.suite) and (gpu is None or gpu.lower() in group.device.lower())
    ]
    if not found:
        there = "; ".join(f"{group.suite} on {group.device} ({group.runs} runs)" for group in everything[:8]) or "none"
        raise UsageError(f"{index.folder}: holds no such results. There are: {there}.")
    return found


@command.command("index")
@folder_option
@quiet_option
def index_(folder: Path, quiet: bool) -> ExitCode:
    """Bring the index up to date and say what it holds. Exit 2 when a file holds no result."""
    from gpubench.results.index import NAME
    from gpubench.views.text import printable

    with opened(folder, quiet) as index:
        if not quiet:
            for group in index.groups():
                mark = ", simulated" if group.simulated else ""
                words = f"{group.suite} on {group.device}{mark}: {group.runs} runs, {len(index.series(group))} series"
                output.write(printable(words))
            output.write(f"Index: {output.near(folder / NAME)}")
        return ExitCode.USAGE if index.problems() else ExitCode.FINE


@command.command("show")
@click.argument("case", metavar="CASE")
@click.option("--contender", metavar="NAME", help="Only this contender; without it, gpubench:auto or the first there.")
@group_options
@click.option(
    "-o", "--output", "chart", type=OutputFile(), metavar="FILE", help="Draw the chart here: .svg, .pdf or .png."
)
def show(
    case: str, contender: str | None, folder: Path, suite: str | None, gpu: str | None, last: int, chart: Path | None
) -> None:
    """Draw the times of CASE over the runs, with its steps and its last runs.

    CASE is a whole id, such as sum/1024/dim=0/float32, or a part that only one case has.
    """
    from gpubench.cli.past import line_of
    from gpubench.views.history import line_text

    with opened(folder) as index:
        line = line_of(index, groups(index, suite, gpu), case, contender, last)
    if chart is not None:
        from gpubench.cli.past import draw

        draw(line, chart)
        output.report(f"Chart: {output.near(chart)}")
    output.write(line_text(line, output.look()))


@command.command("steps")
@group_options
@click.option("--since", metavar="TIME", help="Only steps from this time on: 2026-01-31, or a longer ISO time.")
@rule_options(threshold="1%")
@json_flag
@github_option
def steps(
    folder: Path,
    suite: str | None,
    gpu: str | None,
    last: int,
    since: str | None,
    threshold: float,
    threshold_us: float,
    alpha: float,
    as_json: bool,
    github: bool,
) -> None:
    """List where times changed for good, and what changed with them: commits, machine code, driver, clocks, card.

    A step means what SLOWER means in a comparison. Needs the extra `history`.
    """
    from gpubench.analysis.rule import Rule
    from gpubench.cli.past import find_steps, steps_json
    from gpubench.views.annotations import step_annotations
    from gpubench.views.history import steps_text
    from gpubench.views.text import printable

    if as_json and github:
        raise UsageError("--json and --github cannot both go to standard output.")
    documents = []
    with opened(folder) as index:
        for group in groups(index, suite, gpu):
            found = find_steps(index, group, last, Rule(threshold, alpha, threshold_us), since)
            documents.append(steps_json(found))
            if as_json:
                continue
            output.write(printable(f"{group.suite} on {group.device}"))
            output.write(steps_text(found.steps, found.machines, found.runs, found.sees))
            if github:
                output.write("\n".join(step_annotations(found.steps)))
    if as_json:
        import json

        output.write(json.dumps(documents, indent=1))


@command.command("gate", epilog=CODES)
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path))
@folder_option
@click.option(
    "--last", type=click.IntRange(2, 100_000), default=LAST, show_default=True, metavar="N", help="Runs looked back at."
)
@rule_options(threshold="1%")
@click.option("--adjust-machine", is_flag=True, help="Judge what is left when the machine has changed.")
@output_options
def gate(
    new: Path,
    folder: Path,
    last: int,
    threshold: float,
    threshold_us: float,
    alpha: float,
    adjust_machine: bool,
    outputs: Outputs,
) -> ExitCode:
    """Compare the result NEW with the history of its suite on its GPU: with all runs since each series' last step.

    The verdicts and exit codes are those of `gpubench compare`. NEW may lie in the folder. Needs the extra `history`.
    """
    from gpubench.analysis.rule import Rule
    from gpubench.cli.past import gated

    with opened(folder) as index:
        comparison = gated(index, new, last, Rule(threshold, alpha, threshold_us, adjust_machine))
    return emit([comparison], outputs)


@command.command("publish")
@group_options
@click.option(
    "-o", "--output", "site", type=OutputFolder(), metavar="FOLDER", required=True, help="Where the pages go."
)
@rule_options(threshold="1%")
def publish(
    folder: Path,
    suite: str | None,
    gpu: str | None,
    last: int,
    site: Path,
    threshold: float,
    threshold_us: float,
    alpha: float,
) -> None:
    """Write static pages of the history: one a suite and GPU, a small chart for each series, and an index.

    The pages need no network. Needs the extra `history`.
    """
    from gpubench.analysis.rule import Rule
    from gpubench.cli.past import pages
    from gpubench.results.write import replace_file

    with opened(folder) as index:
        made = pages(index, groups(index, suite, gpu), last, Rule(threshold, alpha, threshold_us))
    for name, content in made.items():
        replace_file(site / name, content.encode("utf-8"))
    output.write(f"{len(made)} pages: {output.near(site / 'index.html')}")
