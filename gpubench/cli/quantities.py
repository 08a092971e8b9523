"""Quantities of the command line: a share such as 0.5%, a number of bytes such as 8G."""

from __future__ import annotations

import click

MOST_BYTES = 2**60
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read `0.5%` or `0.005`."""
    del context, parameter
    if value is None:
        return None
    try:
        number = float(value[:-1]) / 100 if value.endswith("%") else float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise click.BadParameter(f"{value!r} is no share between 0 and 100 %, such as 0.5% or 0.005")
    return number


def size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Read a number of bytes: `8G`, `512M` or `1000000`."""
    del context, parameter
    if value is None:
        return None
    text = value.upper().removesuffix("B").removesuffix("I")
    unit = _UNITS.get(text[-1:], 1)
    try:
        number = int(float(text[:-1] if unit > 1 else text) * unit)
    except (ValueError, OverflowError):
        number = 0
    if not 0 < number <= MOST_BYTES:
        raise click.BadParameter(f"{value!r} is no size such as 8G or 512M")
    return number
