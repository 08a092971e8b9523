from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.operators.structs import magic, offset_calculator

LAST = 2**31 - 1
EDGES = sorted({d for k in range(32) for d in range(2**k - 3, 2**k + 4) if 1 <= d <= LAST} | set(range(1, 400)))


def divide(number: int, divisor: int) -> int:
    """Return the quotient as `gpubench::IntegerDivider` works it out, in 32-bit words."""
    multiplier, shift = magic(divisor)
    upper = (number * multiplier) >> 32
    return ((upper + number) & 0xFFFFFFFF) >> shift


def numbers_near_multiples(divisor: int) -> set[int]:
    """Return numbers at which a quotient changes, at both ends and in the middle, under 2^31."""
    most = LAST // divisor
    quotients = {0, 1, 2, most // 2, most - 1, most}
    found = {q * divisor + step for q in quotients for step in (-1, 0, 1, divisor - 1)}
    return {number for number in found if 0 <= number <= LAST} | {LAST - 1, LAST}


def test_all_divisors_near_the_edges_divide_exactly() -> None:
    """Divisors around every power of two and the small ones, at numbers where the quotient changes."""
    wrong = [
        (number, divisor)
        for divisor in EDGES
        for number in numbers_near_multiples(divisor)
        if divide(number, divisor) != number // divisor
    ]
    assert wrong == []


@settings(deadline=None, max_examples=500)
@given(st.integers(1, LAST), st.integers(0, LAST))
def test_any_divisor_divides_any_number(divisor: int, number: int) -> None:
    """Every divisor and every number below 2^31."""
    assert divide(number, divisor) == number // divisor


@given(st.integers(1, LAST))
def test_the_numbers_fit_the_struct(divisor: int) -> None:
    """The multiplier is a 32-bit word, the shift at most 31."""
    multiplier, shift = magic(divisor)
    assert 0 < multiplier < 2**32
    assert 0 <= shift <= 31


@pytest.mark.parametrize("divisor", [0, -1, 2**31])
def test_other_divisors_are_refused(divisor: int) -> None:
    """Nothing is packed that the kernel cannot divide by."""
    with pytest.raises(ValueError, match="no magic numbers"):
        magic(divisor)


@given(st.lists(st.integers(1, 6), max_size=6), st.data())
def test_the_packed_calculator_finds_every_element(sizes: list[int], data: st.DataObject) -> None:
    """Read back with C layout, dims fastest first, the packed bytes give each element's distance in both operands."""
    strides = [data.draw(st.lists(st.integers(0, 99), min_size=len(sizes), max_size=len(sizes))) for _ in range(2)]
    packed = offset_calculator(sizes, *strides).data
    assert len(packed) == 4 + 25 * (12 + 2 * 4)
    dims, *words = struct.unpack("<i75I50I", packed)
    elements = 1
    for size in sizes:
        elements *= size
    for index in range(elements):
        rest, found, right, place = index, [0, 0], [0, 0], index
        for dim in range(dims):
            divisor, multiplier, shift = words[3 * dim : 3 * dim + 3]
            quotient = (((rest * multiplier) >> 32) + rest) >> shift
            for operand in range(2):
                found[operand] += (rest - quotient * divisor) * words[75 + 2 * dim + operand]
                right[operand] += place % sizes[dim] * strides[operand][dim]
            rest, place = quotient, place // sizes[dim]
        assert found == right


def test_more_than_25_dims_are_refused() -> None:
    """The struct's size is the limit."""
    assert offset_calculator([2] * 25, [4] * 25).data[:4] == struct.pack("<i", 25)
    with pytest.raises(ValueError, match="26 dims"):
        offset_calculator([2] * 26, [4] * 26)
