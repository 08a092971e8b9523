"""What else is not the same in two results, and may explain a change: around them, and in the records of a pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import TypeGuard

from gpubench.analysis.pairing import Pair, device_of, same_code
from gpubench.comparison import Difference
from gpubench.model import Json, Record, ResultSet
from gpubench.names import HOST_CONTENDERS, MEASURED

CAPPED = 0.95
"""A median SM clock under this share of the card's maximum was held down."""

HARMLESS = (
    "python",
    "os",
    "cpu",
    "hostname",
    "host",
    "numpy",
    "device.uuid",
    "device.properties.uuid",
    "device.name",
    "source",
)
"""Entries of the environment that cannot make a kernel faster; they are listed all the same. (Another device name is
refused, or allowed explicitly, before this is asked.)"""

TUNING = "tuning.sha256"
"""The entry that tells one tuning of `auto` from another."""

VOLATILE = ("free_bytes", "pci_bus_id", "temperature_c", "power_w")
"""Last words of entries that differ from run to run and say nothing."""

MEANINGS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (
        lambda name: name.endswith("uuid"),
        "another GPU: of kernels over 50 us, 1 in 25 runs 2 % faster or slower on another card with the same code; "
        "confirm on one GPU",
    ),
    (
        lambda name: name == "harness.protocol",
        "times are taken in another way: only what changed beyond the controls counts",
    ),
    (lambda name: name.endswith("driver"), "libraries may choose other kernels, and the driver other clocks"),
    (lambda name: name.startswith("libraries."), "this library's pairs are judged as changed"),
    (lambda name: name == TUNING, "`auto` has other constants: what changed of it may be theirs, not the kernels'"),
    (lambda name: name.startswith("SM clock"), "a card held down slows some kernels more than others"),
)
"""Which differences say what to a reader of the verdicts."""


def differences(old: ResultSet, new: ResultSet) -> tuple[Difference, ...]:
    """Return everything around the results that is not the same, what matters first, with what it means."""
    before, after = _surroundings(old), _surroundings(new)
    found = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name.rpartition(".")[2] in VOLATILE or _alike(before.get(name), after.get(name)):
            continue
        matters = not any(name == prefix or name.startswith(f"{prefix}.") for prefix in HARMLESS)
        unknown = name not in before or name not in after  # a writer that did not record it yet
        meaning = "" if unknown else next((words for fits, words in MEANINGS if fits(name)), "")
        found.append(Difference(name, before.get(name), after.get(name), matters, meaning))
    found += _capped(old, new)
    return tuple(sorted(found, key=lambda difference: (not difference.meaning, not difference.matters)))


def _surroundings(result: ResultSet) -> dict[str, Json]:
    harness = {"gpubench": result.gpubench, "harness.protocol": result.harness.protocol}
    source = {"suite": result.source.suite.commit, "kernels": result.source.kernels.commit}
    told = {name: commit for name, commit in source.items() if commit is not None}
    tuning = result.environment.get("tuning")
    sha256 = (tuning.get("sha256") if isinstance(tuning, Mapping) else None) or "none"
    return dict(_flat({**result.environment, **harness, "source": told, "tuning": {"sha256": sha256}}))


def _capped(old: ResultSet, new: ResultSet) -> Iterator[Difference]:
    """Yield a difference where one of the results ran at a clock held under the card's maximum, or at another one."""
    clocks = [_median_clock(result) for result in (old, new)]
    highest = [device_of(result).get("max_sm_mhz") for result in (old, new)]
    held = [bool(mhz and _is_positive(most) and mhz < CAPPED * most) for mhz, most in zip(clocks, highest, strict=True)]
    if any(held) and all(clocks):
        before, after = (f"{mhz:.0f} of {most} MHz" for mhz, most in zip(clocks, highest, strict=True))
        meaning = next(words for fits, words in MEANINGS if fits("SM clock"))
        yield Difference("SM clock", before, after, True, meaning)


def _median_clock(result: ResultSet) -> float | None:
    clocks = [
        sample.sm_mhz
        for record in result.records
        if record.timing is not None and record.contender not in HOST_CONTENDERS
        for sample in record.timing.samples
        if sample.sm_mhz
    ]
    return float(median(clocks)) if clocks else None


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


def _is_positive(value: Json) -> TypeGuard[float]:
    """Return whether the value is a number over 0."""
    return _is_number(value) and value > 0


# --- A pair ----------------------------------------------------------------------------------------------------------

RESOURCES: tuple[tuple[str, str], ...] = (
    ("variant", "variant"),
    ("registers", "registers"),
    ("spill_bytes", "spilled bytes"),
    ("shared_bytes", "shared bytes"),
    ("occupancy", "occupancy"),
)

CLOCK_TOLERANCE = 0.01
"""Clocks closer than this are the same clock: the governor moves by single steps of 15 MHz in 1,980."""


def explanations(pair: Pair, listed: Sequence[Difference]) -> list[str]:
    """Return what may explain a change of a measured pair, the most telling first."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return []
    found = [_clocks(old, new), *_resources(old, new)]
    found += [_either(old, new, status) for status in reversed(MEASURED) if status != "ok"]
    if old.bytes != new.bytes:
        found.append(f"bytes {old.bytes} -> {new.bytes}")
    digest = (old.kernel or {}).get("cubin_sha256")
    if digest and digest == (new.kernel or {}).get("cubin_sha256") and not same_code(old, new):
        found.append("same machine code, other launches or work")
    found += [
        f"driver {difference.old} -> {difference.new}" for difference in listed if difference.name.endswith("driver")
    ]
    return [reason for reason in found if reason]


def _clock(record: Record, key: str) -> float | None:
    """Return the median clock of a record in MHz, None where it is not known.

    The SM clocks stand with the samples; the memory clock in the telemetry.
    """
    if key == "sm_mhz" and record.timing is not None:
        clocks = [sample.sm_mhz for sample in record.timing.samples if sample.sm_mhz]
        if clocks:
            return float(median(clocks))
    entry = (record.telemetry or {}).get(key)
    values = [
        float(figure) for figure in (entry if isinstance(entry, list | tuple) else [entry]) if _is_positive(figure)
    ]
    return median(values) if values else None


def _clocks(old: Record, new: Record) -> str | None:
    for key, name in (("sm_mhz", "SM clock"), ("memory_mhz", "memory clock")):
        before, after = _clock(old, key), _clock(new, key)
        if before and after and abs(after - before) > CLOCK_TOLERANCE * before:
            return f"{name} {before:.0f} -> {after:.0f} MHz"
    return None


def _resources(old: Record, new: Record) -> list[str]:
    before, after = old.kernel or {}, new.kernel or {}
    return [
        f"{name} {_brief(before[key])} -> {_brief(after[key])}"
        for key, name in RESOURCES
        if before.get(key) is not None and after.get(key) is not None and before[key] != after[key]
    ]


def _brief(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _either(old: Record, new: Record, status: str) -> str | None:
    which = [name for name, record in (("old", old), ("new", new)) if record.status == status]
    return f"{status} ({' and '.join(which)})" if which else None
