"""How the indices are drawn, and how many different places they name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpubench.operators.index_add import given
from gpubench.operators.index_add.params import Below, Duplicates, FromFile, OutOfRange, Pattern

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Octave:
    """Ranks `start` to `start + size - 1` of the zipf pattern; all octaves are equally likely.

    Inside an octave every rank has the same chance, so rank r has a chance of about 1 / r in steps; whole numbers alone
    draw it, so it is the same on every machine.
    """

    start: int
    size: int


def octaves(places: int) -> tuple[Octave, ...]:
    """Cut the ranks 0 to places - 1 into octaves of 1, 2, 4 ... ranks, the last one cut short."""
    found = []
    start = 0
    while start < places:
        found.append(Octave(start, min(start + 1, places - start)))
        start += start + 1
    return tuple(found)


def distinct_places(pattern: Pattern, places: int, indices: int) -> int:
    """Return how many of `places` are named by `indices` draws: exact for same and duplicates, else the expected number
    rounded (an even draw misses a place with a chance of (1 - 1/places)^indices).
    """
    if indices == 0 or places == 0:
        return 0
    if pattern == "same":
        return 1
    if isinstance(pattern, Duplicates):
        return -(-indices // pattern.duplicates)
    if isinstance(pattern, FromFile):
        return pattern.distinct
    if isinstance(pattern, OutOfRange):
        return _expected(places, max(indices - pattern.out_of_range, 0), 1.0)
    if isinstance(pattern, Below):
        return _expected(pattern.below, indices, 1.0)
    if pattern == "zipf":
        parts = octaves(places)
        named = sum(part.size * _chance(1 / (len(parts) * part.size), indices) for part in parts)
        return max(1, round(named))
    if pattern == "half_same":
        return 1 + round((places - 1) * _chance(0.5 / places, indices))
    return _expected(places, indices, 1.0)


def is_exact(pattern: Pattern) -> bool:
    """Say whether `distinct_places` counts, or expects."""
    return pattern == "same" or isinstance(pattern, Duplicates | FromFile)


def _chance(each: float, draws: int) -> float:
    """Return the chance that a place with chance `each` a draw is named at all."""
    return 1.0 if each >= 1 else -math.expm1(draws * math.log1p(-each))


def _expected(places: int, draws: int, share: float) -> int:
    if draws == 0:
        return 0
    return max(1, round(places * _chance(share / places, draws)))


def most_duplicates(pattern: Pattern, places: int, indices: int) -> int:
    """Return a number that the draws of one place hardly ever exceed: the mean of the likeliest place, six standard
    deviations and ten; exact for same and duplicates.
    """
    if indices == 0 or places == 0:
        return 0
    if pattern == "same":
        return indices
    if isinstance(pattern, Duplicates):
        return min(pattern.duplicates, indices)
    if isinstance(pattern, FromFile):
        return pattern.most
    if pattern == "zipf":
        mean = indices / len(octaves(places))
    elif pattern == "half_same":
        mean = indices * (0.5 + 0.5 / places)
    elif isinstance(pattern, Below):
        mean = indices / pattern.below
    else:
        mean = indices / places
    return min(indices, math.ceil(mean + 6 * math.sqrt(mean) + 10))


def draw(pattern: Pattern, places: int, indices: int, seed: int, stream: int, threads: int | None = None) -> Array:
    """Return int64 indices by the pattern: the same on every machine for a seed."""
    import numpy as np

    from gpubench.operators import chunks
    from gpubench.operators.inputs import generator

    if isinstance(pattern, FromFile):
        return given.load(pattern.file, pattern.sha256)
    drawn = np.empty(indices, np.int64)
    parts = octaves(places)
    starts = np.array([part.start for part in parts], np.int64)
    sizes = np.array([part.size for part in parts], np.int64)

    def fill(number: int) -> None:
        target = drawn[number * chunks.CHUNK : (number + 1) * chunks.CHUNK]
        random = generator(seed, stream, number)
        if pattern == "zipf":
            octave = random.integers(0, len(parts), target.size)
            target[:] = scatter(starts[octave] + random.integers(0, sizes[octave]), places)
        else:
            limit = pattern.below if isinstance(pattern, Below) else places
            target[:] = random.integers(0, limit, target.size)
            if pattern == "half_same":
                target[random.integers(0, 2, target.size) == 0] = places // 2

    if pattern == "same":
        drawn[:] = places // 2
    elif isinstance(pattern, Duplicates):
        random = generator(seed, stream, 0)
        drawn[:] = scatter(random.permutation(indices) // pattern.duplicates, places)
    else:
        chunks.run(fill, range(-(-indices // chunks.CHUNK)), threads)
    if pattern == "sorted":
        drawn.sort()
    if isinstance(pattern, OutOfRange):
        _push_out(drawn, pattern.out_of_range, places)
    return drawn


def scatter(ranks: Array, places: int) -> Array:
    """Map the ranks 0 to places - 1 one to one onto places far apart: neighbouring ranks should not be neighbours."""
    multiplier = _multiplier(places)
    return (ranks * multiplier + places // 3) % places


def _multiplier(places: int) -> int:
    """Return a number near 0.618 places, without common divisor, small enough that products fit 63 bits."""
    multiplier = max(1, min(int(places * 0.6180339887498949), (2**62) // max(places, 1)))
    while math.gcd(multiplier, places) != 1:
        multiplier += 1
    return multiplier


def _push_out(drawn: Array, count: int, places: int) -> None:
    """Put `count` indices, evenly spread, outside the dim: below it and above it in turn."""
    for number in range(count):
        drawn[number * drawn.size // count] = -1 if number % 2 == 0 else places
