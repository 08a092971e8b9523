"""Seeded changes of a case's inputs on the device, so that no answer can be kept from an earlier run.

A window of each input is overwritten with its ink: of floats the largest finite element of the input, over and over, so
that even a sum of a million terms shows it (such inputs are never checked: their rounding is not random); of integers
(indices too) elements of the input in another order. So every value stays one that the input could hold.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpubench.dtypes import dtype
from gpubench.engine.guards import Window
from gpubench.model import Problem

if TYPE_CHECKING:
    from gpubench.devices.base import Buffer, Device
    from gpubench.operators.base import Array

WINDOW = 4096
"""Elements that one change overwrites at most."""

SHARE = 4
"""... and at most this part of the input."""


def window(elements: int) -> int:
    """Return how many of so many elements a change overwrites; at least one where there are any."""
    return min(WINDOW, -(-elements // SHARE))


def ink(storage: Array, name: str) -> Array:
    """Return what a change writes into an input of this dtype, a window of elements."""
    import numpy

    size = window(storage.size)
    generator = numpy.random.default_rng(storage.size)
    if dtype(name).kind == "integer":
        return storage[generator.integers(0, storage.size, size)]
    sizes = numpy.abs(storage[: 1 << 22].astype(numpy.complex64 if dtype(name).kind == "complex" else numpy.float32))
    largest = int(numpy.argmax(numpy.where(numpy.isfinite(sizes), sizes, -1)))
    return numpy.repeat(storage[largest : largest + 1], size)


class Inks:
    """The inks of a case's inputs on the device, for all contenders and rounds."""

    def __init__(self, device: Device, problem: Problem[Any], inputs: Mapping[str, Array]) -> None:
        """Upload them. OutOfMemoryError when the device refuses."""
        self.device = device
        self.sources: dict[str, tuple[Buffer, int]] = {}
        """The ink of an operand, and its bytes an element."""
        self._digests: dict[str, int] = {}
        for operand in problem.operands:
            storage = inputs.get(operand.name)
            if operand.role == "in" and storage is not None and storage.size:
                new = ink(storage, operand.dtype)
                buffer = device.allocate(new.nbytes)
                device.upload(new, buffer)
                self.sources[operand.name] = buffer, storage.itemsize

    def digests(self, unchanged: Mapping[str, Buffer]) -> Mapping[str, int]:
        """Return the digest of each input as it was made, worked out on the first set of buffers, which holds them."""
        self._digests = self._digests or {name: self.device.digest(buffer) for name, buffer in unchanged.items()}
        return self._digests


class Changes:
    """The changes of one set of buffers on the device. One is in place at a time; all are copies on the stream."""

    def __init__(self, inks: Inks, buffers: Mapping[str, Buffer], seed: int) -> None:
        self._device = inks.device
        self._random = random.Random(seed)
        self._undo: list[tuple[Buffer, Window]] = []
        self._inputs = [
            (buffers[name], source, inks.device.allocate(source.nbytes), itemsize)
            for name, (source, itemsize) in inks.sources.items()
        ]
        """(operand, ink, what was there before, bytes an element)"""

    def apply(self) -> None:
        """Enqueue undoing the change in place, and another one."""
        self.undo()
        for buffer, source, before, itemsize in self._inputs:
            elements = (buffer.nbytes - source.nbytes) // itemsize
            start = buffer.address + itemsize * self._random.randrange(elements + 1)
            there = Window(start, source.nbytes, buffer)
            self._device.copy(there, before)
            self._device.copy(source, there)
            self._undo.append((before, there))

    def undo(self) -> None:
        """Enqueue putting back what the change in place overwrote."""
        for before, there in self._undo:
            self._device.copy(before, there)
        self._undo.clear()
