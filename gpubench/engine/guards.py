"""Guard bytes round an operand: a pattern before and behind it, so that a stray write beside it is seen.

The pattern is written when the operand is allocated and looked at once a round, outside the timed path. What lies
farther away than `GUARD_BYTES` is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpubench.model import Json

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device

GUARD_BYTES = 4096
"""The pattern's length on each side."""

PATTERN = 0x5C
"""Neither a poison nor a byte of a small number."""

LARGE_BYTES = 2 << 20
"""A CUDA device maps memory in pages of this size, and large allocations start on one. An operand of this size or more
keeps that place behind its guard, so that guards change no time."""

WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a buffer, which lives as long as the part does. A buffer like any other to a device."""

    address: int
    nbytes: int
    whole: Buffer


@dataclass(frozen=True, slots=True)
class Stray:
    """A write beside an operand: `side` is `before` or `behind`, `count` the bytes that changed within the guard,
    `distance` those between the operand and the nearest of them.
    """

    operand: str
    side: str
    distance: int
    count: int

    def to_json(self) -> Mapping[str, Json]:
        """Return it as the record holds it."""
        return {"operand": self.operand, "side": self.side, "distance_bytes": self.distance, "bytes": self.count}


def room(nbytes: int) -> int:
    """Return the bytes that a guarded buffer takes in all."""
    return _lead(nbytes) + nbytes + GUARD_BYTES


def _lead(nbytes: int) -> int:
    return LARGE_BYTES if nbytes >= LARGE_BYTES else GUARD_BYTES


class Guarded:
    """A buffer with a guard on each side. `inner` is the part between them."""

    def __init__(self, device: Device, name: str, nbytes: int) -> None:
        """Allocate, and enqueue writing the pattern. OutOfMemoryError when the device refuses."""
        self._device = device
        self._name = name
        whole = device.allocate(room(nbytes))
        start = whole.address + _lead(nbytes)
        self.inner = Window(start, nbytes, whole)
        self._sides = {
            "before": Window(start - GUARD_BYTES, GUARD_BYTES, whole),
            "behind": Window(start + nbytes, GUARD_BYTES, whole),
        }
        for side in self._sides.values():
            device.fill(side, PATTERN)

    def strays(self) -> list[Stray]:
        """Return what was written beside the operand, after all enqueued work."""
        import numpy

        found = []
        for side, window in self._sides.items():
            held = numpy.empty(GUARD_BYTES, numpy.uint8)
            self._device.download(window, held)
            changed = numpy.flatnonzero(held != PATTERN)
            if changed.size:
                distance = int(changed[0]) if side == "behind" else GUARD_BYTES - 1 - int(changed[-1])
                found.append(Stray(self._name, side, distance, int(changed.size)))
        return found


def describe(strays: list[Stray]) -> str:
    """Say what was written where."""
    told = []
    for stray in strays:
        place = "before the start" if stray.side == "before" else "behind the end"
        near = "right there" if stray.distance == 0 else f"{stray.distance} bytes away"
        told.append(f"{stray.count} bytes {place} of {stray.operand} were changed, the nearest {near}")
    return "stray writes: " + "; ".join(told)
