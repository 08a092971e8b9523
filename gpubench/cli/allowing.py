"""What a command may run of what its suites bring: by flags, or because a suite is trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpubench.api.staging import brought_by as brought_by
from gpubench.api.staging import files_of as files_of
from gpubench.api.staging import needs_of as needs_of

if TYPE_CHECKING:
    from gpubench.model import Case
    from gpubench.suite.expand import Suite

F = TypeVar("F", bound=Callable[..., Any])


def allow_options(function: F) -> F:
    """Add `--allow-kernels` and `--allow-code`. The command gets `allow: Permission`."""

    def collect(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
        """Put the larger of both flags into the parameter `allow`."""
        held = context.params.get("allow", "nothing")
        wanted = "code" if parameter.name == "allow_code" else "kernels"
        context.params["allow"] = wanted if value and held != "code" else held
        return value

    kernels = click.option(
        "--allow-kernels",
        is_flag=True,
        callback=collect,
        expose_value=False,
        help="Run the .cu, .ptx and .cubin that the suites bring, on the GPU.",
    )
    code = click.option(
        "--allow-code",
        is_flag=True,
        callback=collect,
        expose_value=False,
        help="Run all that the suites bring, with your rights: Python, .so, and kernels on the host device.",
    )
    return kernels(code(function))


def needs_lines(suite: Suite, cases: Sequence[Case]) -> list[str]:
    """Return a line for each thing that the suite brings for these cases: its file, and what running it asks for."""
    from gpubench.own.trust import FLAGS

    wanted = {name for case in cases for name in (*case.contenders, case.operator)}
    return [
        f"{name} ({file}) needs {FLAGS[needs]}" + (", on the host device --allow-code" if file.endswith(".cu") else "")
        for origin in suite.brings
        for name, file, needs in needs_of(origin.brought)
        if name in wanted
    ]
