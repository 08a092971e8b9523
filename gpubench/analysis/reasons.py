"""Why a pair may differ: what the records say about the kernel, the clocks and the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TypeGuard

from gpubench.analysis.environment import CLOCK_TOLERANCE
from gpubench.analysis.pairing import Pair
from gpubench.comparison import Difference
from gpubench.model import Json, Record

RESOURCES: tuple[tuple[str, str], ...] = (
    ("variant", "variant"),
    ("registers", "registers"),
    ("spill_bytes", "spilled bytes"),
    ("shared_bytes", "shared bytes"),
    ("occupancy", "occupancy"),
)


def same_code(old: Record, new: Record) -> bool:
    """Return whether both ran the same machine code with the same launches on the same work."""
    before, after = old.kernel or {}, new.kernel or {}
    digest, launches = before.get("cubin_sha256"), before.get("launches")
    return (
        isinstance(digest, str)
        and bool(digest)
        and bool(launches)
        and digest == after.get("cubin_sha256")
        and _geometry(launches) == _geometry(after.get("launches"))
        and before.get("variant") == after.get("variant")
        and _work(old) == _work(new)
    )


def _geometry(launches: Json) -> Json:
    """Return the launches without the path of their source: the same code may come from two checkouts."""
    if not isinstance(launches, list | tuple):
        return launches
    return [
        {key: value for key, value in one.items() if key != "source"} if isinstance(one, Mapping) else one
        for one in launches
    ]


def _work(record: Record) -> tuple[Json, ...]:
    case = record.case
    return (case.operator, case.dtype, case.params, case.distribution, case.seed, case.timing.method, record.bytes)


def clock(record: Record, key: str = "sm_mhz") -> float | None:
    """Return the median clock of a record in MHz, None where it is not known.

    The SM clocks stand with the samples; the memory clock in the telemetry.
    """
    if key == "sm_mhz" and record.timing is not None:
        clocks = [sample.sm_mhz for sample in record.timing.samples if sample.sm_mhz]
        if clocks:
            return float(median(clocks))
    entry = (record.telemetry or {}).get(key)
    values = [float(one) for one in (entry if isinstance(entry, list | tuple) else [entry]) if is_positive(one)]
    return median(values) if values else None


def clocks_differ(pair: Pair) -> str | None:
    """Return what to say about clocks that are not the same, None when they are or are not known."""
    if pair.old is None or pair.new is None:
        return None
    for key, name in (("sm_mhz", "SM clock"), ("memory_mhz", "memory clock")):
        old, new = clock(pair.old, key), clock(pair.new, key)
        if old and new and abs(new - old) > CLOCK_TOLERANCE * old:
            return f"{name} {old:.0f} -> {new:.0f} MHz"
    return None


def for_pair(pair: Pair, differences: Sequence[Difference]) -> list[str]:
    """Return what may explain a change of a measured pair, the most telling first."""
    old, new = pair.old, pair.new
    if old is None or new is None:
        return []
    found = [clocks_differ(pair), *_resources(old, new), _throttled(old, new), _noisy(old, new), _bytes(old, new)]
    drivers = [f"driver {one.old} -> {one.new}" for one in differences if one.name.endswith("driver")]
    if not same_code(old, new) and _digest(old) and _digest(old) == _digest(new):
        found.append("same machine code, other launches or work")
    return [*(one for one in found if one), *drivers]


def _digest(record: Record) -> Json:
    return (record.kernel or {}).get("cubin_sha256")


def _resources(old: Record, new: Record) -> list[str]:
    before, after = old.kernel or {}, new.kernel or {}
    said = []
    for key, name in RESOURCES:
        a, b = before.get(key), after.get(key)
        if a is not None and b is not None and a != b:
            said.append(f"{name} {_brief(a)} -> {_brief(b)}")
    return said


def _brief(value: Json) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _throttled(old: Record, new: Record) -> str | None:
    return _either(old, new, lambda record: record.status == "throttled", "throttled")


def _noisy(old: Record, new: Record) -> str | None:
    return _either(old, new, lambda record: record.status == "noisy", "noisy")


def _either(old: Record, new: Record, test: Callable[[Record], bool], word: str) -> str | None:
    which = [name for name, record in (("old", old), ("new", new)) if test(record)]
    return f"{word} ({' and '.join(which)})" if which else None


def _bytes(old: Record, new: Record) -> str | None:
    return f"bytes {old.bytes} -> {new.bytes}" if old.bytes != new.bytes else None


def is_positive(value: Json) -> TypeGuard[float]:
    """Return whether the value is a number over 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
