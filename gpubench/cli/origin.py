"""`--label` and `--private`: what a result says of where it comes from, and what it leaves out."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from gpubench.cli.options import F

if TYPE_CHECKING:
    from gpubench.model import Source

MOST_LABELS = 16
MOST_CHARACTERS = 200
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")


@dataclass(frozen=True, slots=True)
class Origin:
    """What the command line says of a result's origin. `private`: the result leaves out the command line itself."""

    label: Mapping[str, str] = field(default_factory=dict)
    private: bool = False

    def command(self) -> tuple[str, ...]:
        """Return the command line as the result keeps it."""
        return () if self.private else ("gpubench", *sys.argv[1:])

    def source(self, suites: Sequence[str]) -> Source:
        """Return which commits suites and kernels are of, with the labels."""
        from gpubench.engine.repository import source
        from gpubench.suite.locate import locate

        return source([locate(suite) for suite in suites], self.label)


def origin_options(function: F) -> F:
    """Add `--label` and `--private`; the command gets them as one `origin: Origin`."""

    def collect(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        """Put each option's value into the context's Origin; click calls this once an option."""
        parts: dict[str, Any] = context.meta.setdefault("gpubench.origin", {})
        parts[str(parameter.name)] = labels(context, parameter, value) if isinstance(value, tuple) else value
        context.params["origin"] = Origin(**parts)
        return value

    label = click.option(
        "--label",
        multiple=True,
        metavar="KEY=VALUE",
        callback=collect,
        expose_value=False,
        help=f"Keep these words with the result (repeat, up to {MOST_LABELS} times).",
    )
    private = click.option(
        "--private",
        is_flag=True,
        callback=collect,
        expose_value=False,
        help="Leave the command line, and so the names of your folders, out of the result.",
    )
    return label(private(function))


def labels(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Return the labels by key. BadParameter for one that is no KEY=VALUE, given twice, too long, or one too many."""
    found: dict[str, str] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not _KEY.fullmatch(key):
            wanted = "KEY=VALUE with a key of up to 40 letters, digits, dots, hyphens and underscores"
            raise click.BadParameter(f"{text[:60]!r} is not {wanted}.", context, parameter)
        if key in found:
            raise click.BadParameter(f"the key {key} is given twice.", context, parameter)
        if len(value) > MOST_CHARACTERS or not value.isprintable():
            what = f"a value is at most {MOST_CHARACTERS} printable characters"
            raise click.BadParameter(f"{what}; that of {key} is not.", context, parameter)
        found[key] = value
    if len(found) > MOST_LABELS:
        raise click.BadParameter(f"at most {MOST_LABELS} labels fit, {len(found)} are given.", context, parameter)
    return found
