"""`gpubench doctor`: what this machine can do, and what would spoil a measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpubench.cli import output
from gpubench.cli.options import json_flag
from gpubench.errors import ExitCode

if TYPE_CHECKING:
    from gpubench.devices.health import Finding, Level
    from gpubench.model import Json

EPILOG = """\b
Exit codes:
  0  a GPU can be measured, and nothing was found that would spoil it
  2  no GPU can be measured here; the lines marked `blocks` say why
  3  a run is possible, but its times would not be worth comparing: see the lines marked `spoils`
"""

_ORDER: tuple[Level, ...] = ("good", "note", "spoils", "blocks")


@click.command("doctor", epilog=EPILOG)
@json_flag
def command(as_json: bool) -> int:
    """Look at driver, compilers, rights, clocks, neighbours, memory and disk, and say what would spoil a measurement.

    Nothing is changed and nothing is timed. Works without a GPU, and then says what is missing.
    """
    findings = list(_look())
    worst = _worst(findings)
    code = {"blocks": ExitCode.USAGE, "spoils": ExitCode.NOT_COMPARABLE}.get(worst, ExitCode.FINE)
    if as_json:
        from dataclasses import asdict

        output.write_json(
            {"worst": worst, "exit_code": int(code), "findings": [asdict(finding) for finding in findings]}
        )
        return code
    from gpubench.views.text import printable

    for finding in findings:
        lines = finding.message.splitlines() or [""]
        head = f"{finding.level:<7} {finding.subject:<8} {finding.area:<12}"
        output.write(
            "\n".join(printable(f"{head if not at else ' ' * len(head)} {line}") for at, line in enumerate(lines))
        )
    output.write(_summary(findings))
    return code


def _look() -> Iterator[Finding]:
    from gpubench.devices import nvml
    from gpubench.devices.health import gpu_findings
    from gpubench.engine import machine
    from gpubench.engine.identity import device_key

    yield from machine.driver()
    opened: dict[str, dict[str, Json]] = {}
    for finding, device in machine.gpus():
        yield finding
        if device is not None:
            opened[finding.subject] = device
    architectures = {"sm_" + str(device.get("compute_capability")).replace(".", "") for device in opened.values()}
    wanted: list[str | None] = [*sorted(architectures)]
    for architecture in wanted or [None]:
        yield from machine.compilers(architecture)
    yield machine.host_compiler()
    buses = {spec: str(device.get("pci_bus_id")) for spec, device in opened.items()}
    for spec, bus in (buses or {f"gpu {at}": bus for at, bus in enumerate(nvml.bus_ids())}).items():
        yield from gpu_findings(spec, bus)
    for spec, device in opened.items():
        yield machine.shared(spec, device_key({"device": device}))
    yield from machine.places(Path.cwd())
    yield from machine.host_state()


def _worst(findings: Sequence[Finding]) -> Level:
    return max((finding.level for finding in findings), key=_ORDER.index, default="good")


def _summary(findings: Sequence[Finding]) -> str:
    counts = {level: sum(finding.level == level for finding in findings) for level in _ORDER}
    if counts["blocks"]:
        return "\nNo GPU can be measured here: see the lines marked `blocks`. The host simulator checks answers only."
    if counts["spoils"]:
        return f"\n{counts['spoils']} finding(s) would spoil a measurement: see the lines marked `spoils`."
    return "\nNothing was found that would spoil a measurement."
