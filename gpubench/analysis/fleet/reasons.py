"""What may explain a slow or wrong GPU: what it, its link or its driver told that its likes did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from gpubench.analysis.fleet.table import Seen
from gpubench.model import Json

SLOWING = (
    "sw_power_cap",
    "hw_slowdown",
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
)
"""The driver's reasons that hold clocks down though there is work to do."""

LESS = 0.99
HOTTER_C = 10.0

_MOVING = (
    ("sm_mhz", "SM clock", "MHz"),
    ("memory_mhz", "memory clock", "MHz"),
    ("copy_GBps", "copies memory at", "GB/s"),
)


def reasons(member: Seen, likes: Sequence[Seen]) -> tuple[str, ...]:
    """Return what sets a member apart from the others of its model, in plain words; empty when nothing does."""
    others = [other for other in likes if other is not member]
    return tuple(_all(member, others))


def _all(member: Seen, others: Sequence[Seen]) -> Iterator[str]:
    for name, words, unit in _MOVING:
        usual = _usual([other.figures.get(name) for other in others])
        own = member.figures.get(name)
        if own is not None and usual is not None and own < LESS * usual:
            yield f"{words} {own:.0f} {unit} where others have {usual:.0f}"
    for reason, count in member.throttled.items():
        if reason in SLOWING and count > 2 * (_usual([other.throttled.get(reason, 0) for other in others]) or 0):
            yield f"clocks held down by {reason} in {count} of {member.records} records"
    hot, usual = member.figures.get("temperature_c"), _usual([other.figures.get("temperature_c") for other in others])
    if hot is not None and usual is not None and hot > usual + HOTTER_C:
        yield f"{hot:.0f} C where others have {usual:.0f}"
    device, likes = _device(member), [_device(other) for other in others]
    yield from _limits(device, likes)
    yield from _memory(device, likes)


def _limits(device: Mapping[str, Json], others: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """Power cap, PCIe, driver and company."""
    cap, usual = _number(device, "power_limit_w"), _usual([_number(other, "power_limit_w") for other in others])
    normal = usual if usual is not None else _number(device, "power_default_w")
    if cap is not None and normal is not None and cap < LESS * normal:
        yield f"power limit {cap:.0f} W where {'others have' if usual is not None else 'usual are'} {normal:.0f}"
    width, most = _number(device, "pcie_width"), _number(device, "pcie_max_width")
    usual = _usual([_number(other, "pcie_width") for other in others])
    full, who = (usual, "others have") if usual is not None else (most, "there could be")
    if width is not None and full is not None and width < full:
        yield f"PCIe link of {width:.0f} lanes where {who} {full:.0f}"
    for key, words in (("driver", "driver"), ("mig", "MIG"), ("ecc", "ECC")):
        common = _common([other.get(key) for other in others])
        if common is not None and device.get(key) is not None and device.get(key) != common:
            yield f"{words} {_word(device.get(key))} where others have {_word(common)}"
    company = _number(device, "neighbours")
    if company:
        yield f"{company:.0f} other process{'es' * (company > 1)} on the GPU when it was opened"


def _memory(device: Mapping[str, Json], others: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    del others  # a fault of the memory needs no comparison
    errors, rows = _number(device, "ecc_uncorrected"), _number(device, "rows_remapped")
    if errors:
        yield f"{errors:.0f} uncorrected memory errors since the driver started"
    if device.get("remap_failed") is True:
        yield "a bad row of the memory could not be replaced"
    if rows:
        yield f"{rows:.0f} row{'s' * (rows > 1)} of the memory replaced"


def _device(member: Seen) -> Mapping[str, Json]:
    device = member.environment.get("device")
    return device if isinstance(device, Mapping) else {}


def _number(device: Mapping[str, Json], key: str) -> float | None:
    value = device.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _usual(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _common(values: Sequence[Json]) -> Json:
    known = Counter(value for value in values if isinstance(value, str | bool))
    return known.most_common(1)[0][0] if known else None


def _word(value: Json) -> str:
    return {True: "on", False: "off"}.get(value, str(value))
