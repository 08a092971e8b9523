"""Division by multiplication and shift: right for every divisor and number near the edges; packed as C has it."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.operators.structs import LIMIT, divided_strided, divider, magic, offset_calculator

POWERS = [(1 << power) + distance for power in range(31) for distance in (-1, 0, 1)]
EDGES = sorted({LIMIT, *range(1, 2000), *(power for power in POWERS if power > 0)})


def quotients(numbers: np.ndarray, divisor: int) -> np.ndarray:
    """Divide as the kernels do: 32-bit words throughout."""
    multiplier, shift = magic(divisor)
    upper = (numbers.astype(np.uint64) * np.uint64(multiplier)) >> np.uint64(32)
    total = upper + numbers.astype(np.uint64)
    assert total.max() < 2**32, "the sum must fit a 32-bit word"
    return total >> np.uint64(shift)


@pytest.mark.parametrize("power", range(31))
def test_division_is_exact_near_every_multiple(power: int) -> None:
    """For divisors around each power of two, and all small ones: numbers just below, at and above multiples."""
    for divisor in [edge for edge in EDGES if edge >> power == 1]:
        assert 0 <= magic(divisor)[0] < 2**32
        last = LIMIT // divisor * divisor
        near = {0, 1, divisor - 1, divisor, divisor + 1, 2 * divisor - 1, last - 1, last, last + 1, LIMIT - 1, LIMIT}
        numbers = np.array(sorted(n for n in near if 0 <= n <= LIMIT), np.int64)
        assert np.array_equal(quotients(numbers, divisor), numbers // divisor), divisor


@given(st.integers(1, LIMIT), st.integers(0, LIMIT))
def test_division_is_exact_anywhere(divisor: int, number: int) -> None:
    """Any number below 2^31 by any divisor below 2^31."""
    assert quotients(np.array([number], np.int64), divisor)[0] == number // divisor


@pytest.mark.parametrize("divisor", [0, -1, LIMIT + 1])
def test_what_cannot_be_divided_by_is_refused(divisor: int) -> None:
    """Zero, negative numbers and 2^31 have no magic numbers here."""
    with pytest.raises(ValueError, match="no magic numbers"):
        magic(divisor)


def test_the_calculator_has_the_layout_of_c() -> None:
    """4 bytes of dims, 25 dividers of 12 bytes, 25 x tensors strides of 4 bytes; unused places divide by 1."""
    packed = offset_calculator((6, 7), (4, 24), (8, 400)).data
    assert len(packed) == 4 + 25 * 12 + 25 * 2 * 4
    assert struct.unpack_from("<i", packed) == (2,)
    assert struct.unpack_from("<9I", packed, 4) == divider(6) + divider(7) + divider(1)
    assert struct.unpack_from("<4I", packed, 304) == (4, 8, 24, 400)
    with pytest.raises(ValueError, match="26 dims"):
        offset_calculator((2,) * 26, (1,) * 26)
    with pytest.raises(OverflowError):
        offset_calculator((2,), (2**32,))


def test_few_dims_are_packed_with_wide_strides() -> None:
    """Slowest first in, fastest first out: 4 bytes of dims, 8 dividers, a gap, 8 strides of 64 bits."""
    packed = divided_strided((7, 6), (1 << 40, 4)).data
    assert len(packed) == 168
    assert struct.unpack_from("<i9I", packed) == (2, *divider(6), *divider(7), *divider(1))
    assert struct.unpack_from("<8q", packed, 104) == (4, 1 << 40, 0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="9 dims"):
        divided_strided((2,) * 9, (1,) * 9)
