"""What of a GPU's state would spoil a measurement, judged from NVML's figures. Changes nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpubench.devices import nvml
from gpubench.model import Json

Level = Literal["good", "note", "spoils", "blocks"]
"""good: as it should be. note: worth knowing. spoils: times would be wrong or not comparable. blocks: no run at all."""

Figures = Mapping[str, Json]
Judgement = tuple[Level, str]

HARMLESS_THROTTLE = ("gpu_idle", "applications_clocks_setting", "sync_boost", "display_clock_setting")
FREE_SHARE = 0.5
"""A GPU with less of its memory free than this is in use by somebody, and large cases would be skipped."""
BUSY_PERCENT = 5
"""NVML counts in steps of some percent over up to a second; an idle GPU gives 0."""
MARGIN_C = 5
_COMPUTE_MODES = {2: "prohibited", 3: "exclusive process"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `subject` is the device or the part of the machine; `message` has plain words."""

    area: str
    subject: str
    level: Level
    message: str


def gpu_findings(spec: str, pci_bus_id: str) -> list[Finding]:
    """Look at one GPU. A single note when NVML tells nothing of it."""
    figures = {**nvml.facts(pci_bus_id), **nvml.telemetry(pci_bus_id), **nvml.health(pci_bus_id)}
    if not figures:
        return [
            Finding("state", spec, "note", "NVML tells nothing of this GPU: its clocks and neighbours are unknown.")
        ]
    return judge(spec, figures)


def judge(spec: str, figures: Figures) -> list[Finding]:
    """Return the findings on a GPU with these figures (keys of nvml.facts, telemetry and health; None: not known)."""
    return [
        Finding(area, spec, level, message) for area, look in _AREAS.items() for level, message in look(figures) or ()
    ]


def _access(figures: Figures) -> Iterator[Judgement]:
    mode = figures.get("compute_mode")
    if mode == 2:
        yield "blocks", "compute mode is `prohibited`: no process may use the GPU. Set it with `nvidia-smi -c DEFAULT`."
    elif mode in _COMPUTE_MODES:
        yield "note", f"compute mode is `{_COMPUTE_MODES[mode]}`: a second program on this GPU will be refused."
    if figures.get("mig"):
        yield "spoils", "MIG is on: rates are those of a slice, and its neighbours share the memory's bandwidth."
    if figures.get("display"):
        yield "spoils", "a display is driven by this GPU: drawing disturbs times, and long kernels are stopped."


def _processes(figures: Figures) -> Iterator[Judgement]:
    found = figures.get("processes")
    for process in found or ():
        size = process.get("memory_bytes")
        holds = "" if size is None else f", holding {size / 1e9:.2f} GB"
        name = process.get("name") or "a process"
        yield "spoils", f"{name} (process {process['pid']}) uses the GPU{holds}: end it, or wait for it."
    busy = figures.get("busy_percent")
    if busy is not None and busy > BUSY_PERCENT and not found:
        yield "spoils", f"the GPU was busy {busy} % of the last second, by a process that is not shown here."
    elif found is None:
        yield "note", "the driver does not tell which processes use the GPU."
    elif not found:
        yield "good", "no other process uses the GPU."


def _memory(figures: Figures) -> Iterator[Judgement]:
    free, total = figures.get("memory_free_bytes"), figures.get("memory_bytes")
    if free is None or not total:
        yield "note", "the free memory is not known."
        return
    said = f"{free / 1e9:.4g} of {total / 1e9:.4g} GB are free"
    if free < FREE_SHARE * total:
        yield "spoils", f"{said}: something else lives on this GPU, and cases that do not fit are skipped."
    else:
        yield "good", f"{said}."


def _clocks(figures: Figures) -> Iterator[Judgement]:
    highest, chosen = figures.get("max_sm_mhz"), figures.get("application_sm_mhz")
    if highest and chosen and chosen < highest:
        yield (
            "note",
            (
                f"application clocks are set to {chosen} MHz of at most {highest}: compare only with results of this "
                "setting (`nvidia-smi -rac` resets it)."
            ),
        )
    if figures.get("persistence") is False:
        yield "note", "persistence mode is off: the driver starts anew with each program (`nvidia-smi -pm 1`)."
    if highest:
        now = figures.get("sm_mhz")
        yield "good", f"SM clock at most {highest} MHz" + (f", {now} MHz at this moment." if now else ".")
    else:
        yield "note", "the driver does not tell the clocks."


def _throttling(figures: Figures) -> Iterator[Judgement]:
    reasons = figures.get("throttle")
    bad = [name for name in reasons or () if name not in HARMLESS_THROTTLE]
    if bad:
        yield "spoils", f"the clocks are held down now, by {', '.join(bad)}: times would be too long."
    hot, limit = figures.get("temperature_c"), figures.get("slowdown_c")
    if hot is not None and limit and hot >= limit - MARGIN_C:
        yield "spoils", f"the GPU has {hot} C and slows down at {limit} C: let it cool."
    power, usual = figures.get("power_limit_w"), figures.get("power_default_w")
    if power and usual and power < 0.99 * usual:
        yield (
            "spoils",
            f"the power limit is {power:g} W where {usual:g} W are usual: long kernels would be slowed down.",
        )
    if reasons is None:
        yield "note", "the driver does not tell whether clocks are held down."
    elif not bad:
        heat = "" if hot is None else f" at {hot} C"
        yield "good", f"nothing holds the clocks down{heat}."


def _ecc(figures: Figures) -> Iterator[Judgement]:
    errors = figures.get("ecc_uncorrected")
    if errors:
        yield "spoils", f"{errors} uncorrected memory errors since the driver started: do not trust this GPU; reset it."
    if figures.get("remap_failed"):
        yield "spoils", "a bad row of the memory could not be replaced: the GPU needs service."
    elif figures.get("remap_pending"):
        yield "spoils", "a bad row of the memory waits for its replacement: reset the GPU."
    ecc, pending = figures.get("ecc"), figures.get("ecc_pending")
    if ecc is not None and pending is not None and ecc != pending:
        yield "note", f"ECC is {_on(ecc)} and will be {_on(pending)} after the next reset."
    if ecc is None:
        yield "note", "this GPU has no ECC, or does not tell."
    elif not errors:
        yield "good", f"ECC is {_on(ecc)}, with no uncorrected error." if ecc else "ECC is off."


def _on(state: bool) -> str:
    return "on" if state else "off"


_AREAS: dict[str, Callable[[Figures], Iterator[Judgement]]] = {
    "access": _access,
    "processes": _processes,
    "memory": _memory,
    "clocks": _clocks,
    "throttling": _throttling,
    "ecc": _ecc,
}
