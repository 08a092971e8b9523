"""`gpubench devices`: the devices found here, with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.options import json_flag

if TYPE_CHECKING:
    from gpubench.devices import Listed
    from gpubench.model import DeviceInfo, Json


@click.command("devices")
@json_flag
def command(as_json: bool) -> None:
    """List the devices that `run --device` can use here, with their figures.

    A machine without any is no error: then the reasons are told.
    """
    from gpubench.devices import list_devices

    found, reasons = list_devices()
    if as_json:
        output.write_json({"devices": [_document(listed) for listed in found], "missing": reasons})
        return
    from gpubench.views.text import printable

    for line in _lines(found, reasons):
        output.write(printable(line))


def _document(listed: Listed) -> Json:
    from dataclasses import asdict

    return {"spec": listed.spec, "problem": listed.problem, **asdict(listed.info)}


def _lines(found: Sequence[Listed], reasons: Sequence[str]) -> list[str]:
    """Return a paragraph for each device, then why there are no others."""
    lines: list[str] = []
    for listed in found:
        lines.append(f"{listed.spec:<8}{listed.info.name}")
        lines += [f"        {fact}" for fact in _facts(listed.info) if fact]
        if listed.problem is not None:
            lines.append(f"        cannot be used: {listed.problem}")
    if not found:
        lines.append("No device was found.")
    return lines + [line for reason in reasons for line in reason.splitlines()]


def _facts(info: DeviceInfo) -> list[str]:
    """Return what is known of a device, a line for each group of figures."""
    from gpubench.views.text import quantity, rate, size

    known = info.properties
    memory = [
        f"{size(info.memory_bytes)} memory" if info.memory_bytes else "",
        f"{rate(info.theoretical_GBps)} GB/s theoretical" if info.theoretical_GBps else "",
        f"{size(info.l2_bytes)} L2 cache" if info.l2_bytes else "",
    ]
    chip = [
        "compute capability {}.{}".format(*info.compute_capability) if info.kind == "cuda" else "",
        f"{info.sm_count} SMs" if info.sm_count else "",
        f"{size(info.max_shared_bytes)} shared memory a block" if info.max_shared_bytes else "",
        "simulated: times say nothing about a GPU" if info.simulated else "",
    ]
    limits = [
        f"power limit {quantity(known['power_limit_w'], 'w')}" if known.get("power_limit_w") else "",
        f"at most {quantity(known['max_sm_mhz'], 'mhz')}" if known.get("max_sm_mhz") else "",
        *(f"{name.upper()} {'on' if known[name] else 'off'}" for name in ("ecc", "mig") if known.get(name) is not None),
    ]
    names = [f"driver {known['driver']}" if known.get("driver") else "", str(known.get("uuid") or "")]
    return [", ".join(part for part in group if part) for group in (chip, memory, limits, names)]
