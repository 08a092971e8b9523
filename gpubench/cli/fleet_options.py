"""The options of `gpubench run` over many GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from gpubench.cli.options import SECONDS, OutputFile, OutputFolder
from gpubench.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


class Span(click.ParamType):  # type: ignore[type-arg] # generic since click 8.5 only
    """A span of time: 60, 60s, 5m or 1h; at most a week. Gives seconds."""

    name = "time"
    _UNITS = (("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds, or fail."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        unit, factor = next(((unit, factor) for unit, factor in self._UNITS if text.endswith(unit)), ("", 1.0))
        try:
            seconds = float(text.removesuffix(unit)) * factor
        except ValueError:
            self.fail(f"{value!r} is no span of time; write 60s, 5m or 1h.", param, ctx)
        return SECONDS.convert(seconds, param, ctx)


class ResultPlace(click.ParamType):  # type: ignore[type-arg] # generic since click 8.5 only
    """Where the result goes, judged before any work is done: a file, or a folder where several GPUs are measured."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path, or fail with what is wrong with it."""
        given = ctx.params if ctx is not None else {}
        several = any(isinstance(given.get(name), str) for name in ("devices", "cluster"))  # else unset, or None
        return (OutputFolder() if several else OutputFile()).convert(value, param, ctx)


def fleet_options(function: F) -> F:
    """Add the options of a run over many GPUs; the command gets them among its keyword arguments."""
    for decorate in reversed(
        (
            click.option(
                "--devices",
                is_eager=True,
                metavar="LIST",
                help="Measure several GPUs, a result file each: all, or numbers and ranges such as 0,2,5-7.",
            ),
            click.option(
                "--cluster",
                is_eager=True,
                metavar="ADDRESS",
                help="Measure the GPUs of a dask cluster, a worker each: tcp://scheduler:8786 (tls:// too).",
            ),
            click.option(
                "--parallel",
                is_flag=True,
                help="Let the GPUs of a host work at once, not one after the other; they then share power and PCIe.",
            ),
            click.option(
                "--profile",
                "fleet_profile",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="With --devices: measure again what is slower than this profile of `gpubench fleet profile`.",
            ),
            click.option(
                "--soak",
                type=Span(),
                default=0.0,
                metavar="TIME",
                help="Keep each device at work for 60s, say, before anything is measured, so that it is warm.",
            ),
        )
    ):
        function = decorate(function)
    return function


def require_one_way(given: Mapping[str, Any], with_one_device: bool) -> None:
    """UsageError for options of a fleet that do not go together, or without one."""
    if given["devices"] is not None and given["cluster"] is not None:
        raise UsageError("--devices is for this machine, --cluster for many: give one of the two.")
    if with_one_device:
        raise UsageError("--devices and --cluster make a folder of result files: leave out --device and --json.")
    alone = given["devices"] is None and given["cluster"] is None
    for name, option in (("parallel", "--parallel"), ("fleet_profile", "--profile")):
        if alone and given[name]:
            raise UsageError(f"{option} is for several GPUs: give --devices all, or a list such as --devices 0,2.")
