"""What the commands that compare share: their options, and where the outcome goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpubench.cli import output
from gpubench.cli.options import Number, OutputFile, json_file_option
from gpubench.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from gpubench.analysis.gate import FailOn
    from gpubench.comparison import Comparison

F = TypeVar("F", bound=Callable[..., Any])

FAIL_ON = ("none", "wrong", "slower", "missing")

CODES = """\b
Exit codes, the first that applies:
  2    bad usage or input
  3    results that must not be compared, or nothing in common
  4    a wrong answer that the baseline does not have         (--fail-on wrong)
  5    a crash or other failure that it does not have         (--fail-on wrong)
  1    a case is SLOWER                                      (--fail-on slower)
       or REMOVED                                           (--fail-on missing)
  3    nothing could be decided
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
    """Where a comparison goes, and in which order its rows stand."""

    json_file: Path | None
    markdown_file: Path | None
    junit_file: Path | None
    sort: str | None
    only_changed: bool
    fail_on: FailOn

    @property
    def on_standard_output(self) -> list[str]:
        """The options whose file is standard output."""
        from gpubench.results.paths import STREAM

        files = (("--json", self.json_file), ("--markdown", self.markdown_file), ("--junit", self.junit_file))
        return [name for name, file in files if file == STREAM]


def _file_option(name: str, parameter: str, what: str) -> Callable[[F], F]:
    return click.option(
        name,
        parameter,
        metavar="FILE",
        type=OutputFile(),
        help=f"Write {what} to this file; - is standard output (and then no table).",
    )


def rule_options(threshold: str) -> Callable[[F], F]:
    """Add --threshold (with this default) and --alpha."""

    def add(function: F) -> F:
        function = click.option(
            "--alpha",
            default=0.01,
            show_default=True,
            type=Number(0, 0.5, min_open=True),
            help="The level of significance, for all pairs together.",
        )(function)
        return click.option(
            "--threshold",
            default=threshold,
            show_default=True,
            metavar="CHANGE",
            callback=fraction,
            help="The least change that counts; a case's own noise floor counts where it is larger.",
        )(function)

    return add


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
        _file_option("--markdown", "markdown_file", "Markdown for a pull request (60 KB at most)"),
        json_file_option,
        click.option("--sort", type=click.Choice(["ratio", "name"]), help="The order of the rows."),
        click.option("--only-changed", is_flag=True, help="Leave out rows that are SAME or UNDECIDED."),
        click.option(
            "--fail-on",
            type=click.Choice(FAIL_ON),
            default="slower",
            show_default=True,
            help="What makes the exit code other than 0; each level includes the one before it.",
        ),
    ):
        wrapped = decorate(wrapped)
    return wrapped  # type: ignore[no-any-return] # the same command with more options


def emit(comparisons: Sequence[Comparison], outputs: Outputs, quiet: bool = False) -> ExitCode:
    """Print the tables (unless `quiet`), write the files, and return the exit code."""
    from gpubench.analysis.gate import exit_code, row_code
    from gpubench.views.comparison import comparison_markdown, comparison_text
    from gpubench.views.comparison_files import comparison_json, junit

    code = exit_code(comparisons, outputs.fail_on)
    if not quiet and not outputs.on_standard_output:
        look = output.look()
        for one in comparisons:
            output.write(comparison_text(one, look, outputs.sort, outputs.only_changed))
    if outputs.json_file is not None:
        output.put(outputs.json_file, _json(comparison_json(comparisons, int(code))))
    if outputs.markdown_file is not None:
        limit = 60_000 // len(comparisons)
        parts = [comparison_markdown(one, outputs.sort, outputs.only_changed, limit) for one in comparisons]
        output.put(outputs.markdown_file, "\n".join(parts))
    if outputs.junit_file is not None:
        output.put(outputs.junit_file, junit(comparisons, lambda row: row_code(row, outputs.fail_on) != ExitCode.FINE))
    return code


def _json(document: Any) -> str:
    import json

    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
