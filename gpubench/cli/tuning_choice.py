"""Which tuning a command's workers read: `--tuning FILE|none`, else the GPU's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from gpubench.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

CHOICE = "GPUBENCH_TUNING"
"""As `tuning.active` has it, which is imported late."""


def tuning_option(function: F) -> F:
    """Add `--tuning`. The command gets `tuning: str | None`, for `tuning_choice`."""
    return click.option(
        "--tuning",
        metavar="FILE|none",
        help="Constants of `gpubench:auto` from this tuning file, or the shipped ones; without it, this GPU's file.",
    )(function)


@contextmanager
def tuning_choice(choice: str | None) -> Iterator[None]:
    """Let the workers that are started here read this tuning. UsageError, before anything runs, for what is none."""
    if choice is None:
        yield
        return
    if choice != "none":
        from gpubench.tuning.file import read_tuning

        if not choice:
            raise UsageError("--tuning has an empty name: give a file, or none.")
        read_tuning(Path(choice))
        choice = str(Path(choice).absolute())
    before = os.environ.get(CHOICE)
    os.environ[CHOICE] = choice
    try:
        yield
    finally:
        os.environ.pop(CHOICE)
        if before is not None:
            os.environ[CHOICE] = before
