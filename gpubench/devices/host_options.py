"""How the host device builds and runs kernels: what a device spec says after `host:`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, get_args

from gpubench.devices.host_compiler import Build
from gpubench.devices.host_info import LARGEST_ELEMENTS
from gpubench.devices.host_library import FORWARD, ORDERS, Schedule
from gpubench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Options:
    """How kernels are built and run.

    build: fast, checked (every access of the kernel is examined) or sanitize (AddressSanitizer, which must be loaded
    into the process when it starts). workers: OS threads that share the blocks of a launch, where they do not wait for
    each other. largest: elements of an operand beyond which the engine skips a case.
    """

    schedule: Schedule = FORWARD
    build: Build = "fast"
    workers: int = 1
    largest: int = LARGEST_ELEMENTS

    def __str__(self) -> str:
        """Render as the part of a device spec after `host:`."""
        return f"schedule={self.schedule},build={self.build},workers={self.workers},largest={self.largest}"


_MOST = {"workers": 1024, "largest": 2**40}


def _is_number(text: str, most: int) -> bool:
    """Tell whether a text is a whole number from 0 to `most`."""
    return text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most


def parse_schedule(text: str) -> Schedule:
    """Read `forward`, `reverse` or `random:SEED`. UsageError for anything else."""
    order, _, seed = text.partition(":")
    if order not in ORDERS or (seed and order != "random") or (seed and not _is_number(seed, 2**64 - 1)):
        raise UsageError(f"There is no schedule {text!r}: write forward, reverse or random:SEED.")
    return Schedule(order, int(seed or 0))


def parse_options(argument: str) -> Options:
    """Read `schedule=...,build=...,workers=N,largest=N`, each of which may be left out. UsageError otherwise."""
    found: dict[str, Any] = {"workers": os.cpu_count() or 1}
    for part in filter(None, argument.split(",")):
        name, _, value = part.partition("=")
        if name == "schedule":
            found[name] = parse_schedule(value)
        elif name == "build" and value in get_args(Build):
            found[name] = value
        elif name in _MOST and _is_number(value, _MOST[name]) and int(value) > 0:
            found[name] = int(value)
        else:
            raise UsageError(
                f"host:{argument}: {part!r} is no option of the host device. There are schedule=forward|reverse|"
                f"random:SEED, build={'|'.join(get_args(Build))}, workers=N and largest=ELEMENTS."
            )
    return Options(**found)
