"""What is different around two results, and whether they may be compared at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from gpubench.comparison import Difference
from gpubench.model import Json, ResultSet

CLOCK_TOLERANCE = 0.01
"""Clocks closer than this are the same clock: the governor moves by single steps of 15 MHz in 1,980."""

HARMLESS = ("python", "os", "cpu", "hostname", "host", "numpy", "device.uuid", "device.properties.uuid", "device.name")
"""Entries of the environment that cannot make a kernel faster; they are listed all the same. (Another device name is
refused, or allowed explicitly, before this is asked.)"""

VOLATILE = ("free_bytes", "pci_bus_id", "temperature_c", "power_w")
"""Last words of entries that differ from run to run and say nothing."""


def differences(old: ResultSet, new: ResultSet) -> tuple[Difference, ...]:
    """Return every entry of the environments that is not the same, those that matter first."""
    before = dict(_flat({**old.environment, "gpubench": old.gpubench}))
    after = dict(_flat({**new.environment, "gpubench": new.gpubench}))
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name.rpartition(".")[2] in VOLATILE or _alike(before.get(name), after.get(name)):
            continue
        matters = not any(name == one or name.startswith(f"{one}.") for one in HARMLESS)
        found.append(Difference(name, before.get(name), after.get(name), matters))
    return tuple(sorted(found, key=lambda one: not one.matters))


def device_name(result: ResultSet) -> str:
    """Return the name of the device that a result was measured on, `unknown` where it does not say."""
    device = result.environment.get("device")
    name = device.get("name") if isinstance(device, Mapping) else None
    return name if isinstance(name, str) else "unknown"


def is_simulated(result: ResultSet) -> bool:
    """Return whether any time in the result comes from a simulator."""
    return any(record.simulated for record in result.records)


def refusals(old: ResultSet, new: ResultSet) -> list[str]:
    """Return why these results must not be compared, one sentence each; empty when they may be."""
    found = []
    if device_name(old) != device_name(new):
        found.append(f"the devices differ: {device_name(old)} and {device_name(new)}")
    if is_simulated(old) != is_simulated(new):
        which = "first" if is_simulated(old) else "second"
        found.append(f"the {which} result is simulated and the other is not")
    return found


def _flat(entry: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _alike(old: Json, new: Json) -> bool:
    if _is_number(old) and _is_number(new):
        return math.isclose(old, new, rel_tol=1e-9)
    return bool(old == new)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
