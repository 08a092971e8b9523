"""The kernels' own index arithmetic, on the simulator: divisions near every edge, and which elements a thread holds."""

from __future__ import annotations

import numpy as np

from gpubench.operators.structs import LIMIT, divider, int32
from tests.host.simulate import host, launch

POWERS = [(1 << power) + distance for power in range(32) for distance in (-3, -2, -1, 0, 1, 2, 3)]
DIVISORS = sorted({LIMIT, *range(1, 200), *(power for power in POWERS if 1 <= power <= LIMIT)})


def edges(divisor: int) -> set[int]:
    """Return numbers at which the quotient changes: the first, middle and last multiples, and the largest numbers."""
    most = LIMIT // divisor
    near = {q * divisor + step for q in (0, 1, 2, most // 2, most - 1, most) for step in (-1, 0, 1)}
    return {number for number in near if 0 <= number <= LIMIT} | {LIMIT - 1, LIMIT}


def test_the_kernels_division_is_exact_near_every_edge() -> None:
    """The header's own code, with the host's packed numbers: quotient and remainder of all divisors near the edges."""
    pairs = [(number, divisor) for divisor in DIVISORS for number in sorted(edges(divisor))]
    numbers = np.array([number for number, _ in pairs], np.uint32)
    divisors = np.array([divisor for _, divisor in pairs], np.uint32)
    arrays = {
        "numbers": numbers,
        "dividers": np.array([divider(divisor) for _, divisor in pairs], np.uint32),
        "quotients": np.zeros_like(numbers),
        "remainders": np.zeros_like(numbers),
    }
    found = launch(host("build=checked"), "indices.cu", "divide", 2, 64, arrays, (int32(numbers.size),))
    assert np.array_equal(found["quotients"], numbers // divisors)
    assert np.array_equal(found["remainders"], numbers % divisors)


def test_a_thread_holds_the_elements_of_the_texts_example() -> None:
    """Vectors of two, four elements a thread, 512 a block: the first thread has 0, 1, 256, 257, the last 510, 511."""
    arrays = {"x": np.arange(512, dtype=np.int32), "held": np.zeros((128, 4), np.int32)}
    held = launch(host("build=checked"), "indices.cu", "hold_vectors<2, 4>", 1, 128, arrays)["held"]
    assert held[0].tolist() == [0, 1, 256, 257]
    assert held[1].tolist() == [2, 3, 258, 259]
    assert held[127].tolist() == [254, 255, 510, 511]
    assert sorted(held.flat) == list(range(512))
