"""What the commands that compare share: their options, and where the outcome goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpubench.cli import output
from gpubench.cli.gate import LEVELS, FailOn, Gate, exit_code, row_code, undecided
from gpubench.cli.options import Number, OutputFile, json_file_option
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.comparison import Comparison

F = TypeVar("F", bound=Callable[..., Any])

CODES = """\b
Exit codes, the first that applies:
  2    bad usage or input
  3    results that must not be compared, or nothing in common
  4    a wrong answer that the baseline does not have         (--fail-on wrong)
  5    a crash or other failure that it does not have         (--fail-on wrong)
  3    the machine changed by more than the threshold  (not with --adjust-machine)
  1    a case is SLOWER, or the mean (--fail-on-mean)        (--fail-on slower)
       or a case is REMOVED                                 (--fail-on missing)
  3    nothing could be decided, less than --min-decided, or nearly all missing
  0    none of these
  130  interrupted
Each level of --fail-on includes the one before it: none, wrong, slower, missing.
"""

_PERCENT = re.compile(r"\s*([0-9.eE+-]+)\s*(%?)\s*")


def fraction(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Return a relative change, `1%` or the fraction `0.01`, as a fraction: at least 0 and under 1 (100 %)."""
    match = _PERCENT.fullmatch(value)
    try:
        number = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number < 1:
        raise click.BadParameter(
            f"{value!r} is not a change: write 1% or 0.01, at least 0 and under 100%.", context, parameter
        )
    return number


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a comparison goes, in which order its rows stand, and what makes the exit code other than 0."""

    json_file: Path | None
    markdown_file: Path | None
    csv_file: Path | None
    junit_file: Path | None
    sort: str | None
    only_changed: bool
    fail_on: FailOn
    fail_on_mean: float | None
    min_decided: float
    github: bool

    @property
    def on_standard_output(self) -> list[str]:
        """The options whose file is standard output."""
        from gpubench.results.paths import STREAM

        files = (
            ("--json", self.json_file),
            ("--markdown", self.markdown_file),
            ("--csv", self.csv_file),
            ("--junit", self.junit_file),
        )
        return [name for name, file in files if file == STREAM]

    @property
    def gate(self) -> Gate:
        """What the exit code depends on."""
        return Gate(self.fail_on, self.min_decided, self.fail_on_mean)


def _file_option(name: str, parameter: str, what: str) -> Callable[[F], F]:
    return click.option(
        name,
        parameter,
        metavar="FILE",
        type=OutputFile(),
        help=f"Write {what} to this file; - is standard output (and then no table).",
    )


def github_option(function: F) -> F:
    """Add `--github`. The command gets `github: bool`."""
    return click.option(
        "--github",
        is_flag=True,
        help="Print annotations for GitHub Actions too: errors and warnings on the run's page.",
    )(function)


def rule_options(threshold: str) -> Callable[[F], F]:
    """Add --threshold (with this default), --threshold-us and --alpha."""
    options = (
        click.option(
            "--threshold",
            default=threshold,
            show_default=True,
            metavar="CHANGE",
            callback=fraction,
            help="The least change that counts, SAME lies within it.",
        ),
        click.option(
            "--threshold-us",
            default=0.0,
            metavar="US",
            type=Number(0, 1e6),
            help="The least change in microseconds, where that is more: for kernels as short as a launch.",
        ),
        click.option(
            "--alpha",
            default=0.01,
            show_default=True,
            type=Number(0, 0.5, min_open=True),
            help="The level of significance, for all pairs together.",
        ),
    )

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def optional_fraction(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a relative change as `fraction` does; None where none was given."""
    return None if value is None else fraction(context, parameter, value)


def share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Return a share of rows, `50%` or `0.5`, up to all of them."""
    return 1.0 if value.strip() in ("100%", "1", "1.0") else fraction(context, parameter, value)


def output_options(function: F) -> F:
    """Add the options of `Outputs`; the command gets them as one `outputs`."""
    names = Outputs.__dataclass_fields__

    def collected(**given: Any) -> Any:
        """Hand the options on as one."""
        outputs = Outputs(**{name: given.pop(name) for name in names})
        if len(outputs.on_standard_output) > 1:
            both = " and ".join(outputs.on_standard_output)
            raise UsageError(f"{both} cannot both go to standard output: name a file for one of them.")
        return function(outputs=outputs, **given)

    collected.__doc__ = function.__doc__
    collected.__name__ = function.__name__
    collected.__click_params__ = getattr(function, "__click_params__", [])  # type: ignore[attr-defined] # click's own place
    wrapped: Any = collected
    for decorate in (
        _file_option("--junit", "junit_file", "JUnit XML"),
        _file_option("--csv", "csv_file", "CSV, a row a case and contender,"),
        _file_option("--markdown", "markdown_file", "Markdown for a pull request (60 KB at most)"),
        json_file_option,
        github_option,
        click.option("--sort", type=click.Choice(["ratio", "name"]), help="The order of the rows."),
        click.option("--only-changed", is_flag=True, help="Leave out rows that are SAME or UNDECIDED."),
        click.option(
            "--min-decided",
            default="0%",
            metavar="SHARE",
            callback=share,
            help="Exit 3 when less of the rows that could be decided is.",
        ),
        click.option(
            "--fail-on-mean",
            metavar="CHANGE",
            callback=optional_fraction,
            help="Exit 1 when a mean of the changed pairs is certainly slower by more than this, as 1%.",
        ),
        click.option(
            "--fail-on",
            type=click.Choice(LEVELS),
            default="slower",
            show_default=True,
            help="What makes the exit code other than 0; each level includes the one before it.",
        ),
    ):
        wrapped = decorate(wrapped)
    return wrapped  # type: ignore[no-any-return] # the same command with more options


def emit(comparisons: Sequence[Comparison], outputs: Outputs, quiet: bool = False) -> ExitCode:
    """Print the table, or the matrix of several results (unless `quiet`), write the files, and return the exit code."""
    from gpubench.views.comparison_files import comparison_json, junit

    code = exit_code(comparisons, outputs.gate)
    if not quiet and not outputs.on_standard_output:
        output.write(_text(comparisons, outputs))
        for comparison in comparisons:
            why = undecided(comparison, outputs.gate)
            if why and code == ExitCode.NOT_COMPARABLE:
                output.report(f"{comparison.new}: {why}")
    if outputs.github:
        from gpubench.views.annotations import row_annotations

        lines = row_annotations(comparisons, lambda row: row_code(row, outputs.fail_on) != ExitCode.FINE)
        if outputs.on_standard_output:
            raise UsageError(f"--github and {outputs.on_standard_output[0]} cannot both go to standard output.")
        output.write("\n".join(lines))
    if outputs.json_file is not None:
        output.put(outputs.json_file, _json(comparison_json(comparisons, int(code))))
    if outputs.markdown_file is not None:
        output.put(outputs.markdown_file, _markdown(comparisons, outputs))
    if outputs.csv_file is not None:
        output.put(outputs.csv_file, _csv(comparisons))
    if outputs.junit_file is not None:
        output.put(outputs.junit_file, junit(comparisons, lambda row: row_code(row, outputs.fail_on) != ExitCode.FINE))
    return code


def _text(comparisons: Sequence[Comparison], outputs: Outputs) -> str:
    from gpubench.views.comparison import comparison_text
    from gpubench.views.matrix import matrix_text

    if len(comparisons) > 1:
        return matrix_text(comparisons, output.look(), outputs.only_changed)
    return comparison_text(comparisons[0], output.look(), outputs.sort, outputs.only_changed)


def _markdown(comparisons: Sequence[Comparison], outputs: Outputs) -> str:
    from gpubench.views.comparison_files import comparison_markdown
    from gpubench.views.matrix import matrix_markdown

    if len(comparisons) > 1:
        return matrix_markdown(comparisons, outputs.only_changed)
    return comparison_markdown(comparisons[0], outputs.sort, outputs.only_changed)


def _csv(comparisons: Sequence[Comparison]) -> str:
    import csv
    import io

    from gpubench.results.export import cell
    from gpubench.views.matrix import matrix_rows

    out = io.StringIO(newline="")
    csv.writer(out).writerows([[cell(value) for value in line] for line in matrix_rows(comparisons)])
    return out.getvalue()


def _json(document: Any) -> str:
    import json

    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
