"""Options that several commands share, each defined once so that they mean the same everywhere."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from gpubench.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Filters:
    """What the filter options of a command line select. Empty means everything; several values of one kind are `or`,
    several kinds are `and`.
    """

    expression: str | None = None
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    contenders: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True when nothing was asked for."""
        return self == Filters()


class Number(click.FloatRange):
    """A finite number within bounds. click's own range lets `nan` through, which is neither below nor above them."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or fail."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


SECONDS = Number(min=0, max=7 * 86400, min_open=True)
"""A span of time, up to a week."""
SEED = click.IntRange(0, 2**63 - 1)


class OutputFile(click.ParamType):  # type: ignore[type-arg] # generic since click 8.5 only
    """A file to be written, judged before any work is done: see `results.paths.output_file`. `-` gives STREAM."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail with what is wrong with it."""
        from gpubench.results.paths import output_file

        return _judged(lambda: output_file(os.fspath(value)), self, param, ctx)


class OutputFolder(click.ParamType):  # type: ignore[type-arg] # generic since click 8.5 only
    """A folder to be written to, judged before any work is done: see `results.paths.output_folder`."""

    name = "folder"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail with what is wrong with it."""
        from gpubench.results.paths import output_folder

        return _judged(lambda: output_folder(os.fspath(value)), self, param, ctx)


def _judged(
    judge: Callable[[], Path], kind: click.ParamType[Path], param: click.Parameter | None, ctx: click.Context | None
) -> Path:
    try:
        return judge()
    except UsageError as error:
        kind.fail(str(error), param, ctx)


def split_commas(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Let `--dtype float32,float16` mean the same as giving the option twice."""
    del context, parameter
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


_FILTERS = (
    ("-k", "expression", "EXPR", "Only cases whose id matches: words joined by and, or, not and parentheses."),
    ("--operator", "operators", "NAME", "Only this operator (repeat, or separate by commas)."),
    ("--dtype", "dtypes", "NAME", "Only this dtype (repeat, or separate by commas)."),
    ("--contender", "contenders", "NAME", "Only this contender (repeat, or separate by commas)."),
)
"""Option, field of `Filters`, what it takes, help."""


def filter_options(function: F) -> F:
    """Add `-k`, `--operator`, `--dtype` and `--contender`; the command gets them as one `filters: Filters`."""

    def collect(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        """Put each option's value into the context's Filters; click calls this once an option."""
        given = split_commas(context, parameter, value) if isinstance(value, tuple) else value
        parts: dict[str, Any] = context.meta.setdefault("gpubench.filters", {})
        parts[str(parameter.name)] = given
        context.params["filters"] = Filters(**parts)
        return given

    for option, name, takes, words in reversed(_FILTERS):
        add = click.option(
            option,
            name,
            multiple=option != "-k",
            metavar=takes,
            callback=collect,
            expose_value=False,
            help=words,
        )
        function = add(function)
    return function


def seed_option(function: F) -> F:
    """Add `--seed`, of the suites' random entries. The command gets `seed: int | None`."""
    return click.option("--seed", type=SEED, metavar="N", help="Draw the cases of `random` entries with this seed.")(
        function
    )


def result_option(name: str, dash: str = "") -> Callable[[F], F]:
    """Add `-o`, where a command's result goes. name: the file's own without it; dash: words on what `-` does.

    The command gets `result_file: Path | None`.
    """
    words = f"Where the result goes{dash}; without it, runs/DEVICE/{name} here."
    return click.option("-o", "--output", "result_file", type=OutputFile(), metavar="FILE", help=words)


def suites_argument(function: F) -> F:
    """Add the argument SUITE... : files, or names of the suites that come with gpubench. The command gets `suites`."""
    return click.argument("suites", metavar="SUITE...", nargs=-1, required=True, type=str)(function)


def result_argument(function: F) -> F:
    """Add the argument RESULT, a result file. The command gets `result: Path`."""
    return click.argument("result", metavar="RESULT", type=click.Path(path_type=Path))(function)


def results_argument(function: F) -> F:
    """Add the argument RESULT..., one or more result files. The command gets `results: tuple[Path, ...]`."""
    return click.argument("results", metavar="RESULT...", nargs=-1, required=True, type=click.Path(path_type=Path))(
        function
    )


def device_option(function: F) -> F:
    """Add `--device`. The command gets `device: str`."""
    return click.option(
        "--device",
        default="auto",
        show_default=True,
        metavar="DEVICE",
        help="auto (the GPU if there is one, else the host), cuda:0 ..., or host.",
    )(function)


def share_option(function: F) -> F:
    """Add `--share-device`. The command gets `share_device: bool`."""
    return click.option(
        "--share-device",
        is_flag=True,
        help="Run beside another gpubench on the device, though each disturbs the other.",
    )(function)


def quiet_option(function: F) -> F:
    """Add `-q/--quiet`. The command gets `quiet: bool`."""
    return click.option("-q", "--quiet", is_flag=True, help="Print no progress and no table; errors are still told.")(
        function
    )


def json_flag(function: F) -> F:
    """Add `--json` as a flag: JSON on standard output in place of the table. The command gets `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")(function)


def json_file_option(function: F) -> F:
    """Add `--json FILE` (`-` is standard output). The command gets `json_file: Path | None`."""
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        type=OutputFile(),
        help="Write JSON to this file; - is standard output (and then no table).",
    )(function)
