"""The random numbers that cases are drawn from: whole numbers only, the same on every machine and in every version.

A `Numbers` is named by a text. Its words are the SHA-256 digests (FIPS 180-4) of that text, a NUL and a counter from 0
in decimal, each cut into four unsigned 64-bit numbers, big end first. No floating-point function takes part, whose last
bit may differ between machines; a share such as 0.4 is compared as floor(0.4 * 2^32) over 2^32, which is exact.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

GENERATOR = 1
"""The version of all that decides which cases a seed stands for: these numbers, and what the operators draw from them.
A change of either that changes one case is a new version."""

_ONE = 1 << 32


class Numbers:
    """A stream of random numbers. Streams of different names are independent."""

    def __init__(self, name: str) -> None:
        """Start the stream called `name`."""
        self._name = name
        self._words = self._stream()

    def of(self, part: str) -> Numbers:
        """Return the stream of a part, which is the same whatever else is drawn."""
        return Numbers(f"{self._name}/{part}")

    def _stream(self) -> Iterator[int]:
        counter = 0
        while True:
            yield from struct.unpack(">4Q", hashlib.sha256(f"{self._name}\0{counter}".encode()).digest())
            counter += 1

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to limit - 1, each as likely; limit is 1 to 2^64. Others are drawn again."""
        last = (1 << 64) - (1 << 64) % limit
        return next(word for word in self._words if word < last) % limit

    def between(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[self.below(len(values))]

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """Return `count` different places' values, in random order (Fisher and Yates)."""
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(count)]

    def chance(self, share: float) -> bool:
        """Return True in this share of all draws."""
        return self.below(_ONE) < int(share * _ONE)

    def weighted(self, weights: Mapping[str, float]) -> str:
        """Return one of the names, each as often as its weight says. ValueError where no weight is above 0."""
        whole = {name: int(weight * _ONE) for name, weight in weights.items()}
        if sum(whole.values()) == 0:
            raise ValueError("no weight is above 0")
        place = self.below(sum(whole.values()))
        for name, weight in whole.items():
            if place < weight:
                return name
            place -= weight
        raise AssertionError("the place lies within the sum of the weights")

    def logarithmic(self, low: int, high: int) -> int:
        """Return a whole number from low (1 at least) to high, as likely in each octave."""
        step = self.between(steps_of(low), steps_of(high))
        return min(max(self.within_step(step), low), high)

    def within_step(self, step: int) -> int:
        """Return a whole number of one of the steps into which octaves are cut."""
        first = start_of(step)
        return self.between(first, max(start_of(step + 1) - 1, first))


STEPS = 16
"""Steps into which an octave is cut."""


def steps_of(number: int) -> int:
    """Return the steps from 1 to a number of at least 1: floor(16 log2 number), exactly."""
    return int(number**STEPS).bit_length() - 1


def start_of(step: int) -> int:
    """Return floor(2^(step / 16)), where a step begins: the 16th root by four square roots, each cut down."""
    root = 1 << step
    for _ in range(STEPS.bit_length() - 1):
        root = math.isqrt(root)
    return root
