"""Numbers that a kernel divides by through multiplication and shift, and the offset calculator made of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gpubench.model import Value

MAX_DIMS = 25
"""Dims that `gpubench::OffsetCalculator` holds."""

LARGEST_DIVISOR = 2**31


def magic(divisor: int) -> tuple[int, int]:
    """Return (magic, shift) of `gpubench::IntegerDivider` for a divisor of 1 to 2^31. ValueError outside.

    shift = ceil(log2 divisor), magic = floor(2^32 (2^shift - divisor) / divisor) + 1, which is under 2^32
    (Granlund and Montgomery 1994).
    """
    if not 1 <= divisor <= LARGEST_DIVISOR:
        raise ValueError(f"the divisor {divisor} is not between 1 and 2^31")
    shift = (divisor - 1).bit_length()
    return (((1 << shift) - divisor) << 32) // divisor + 1, shift


def divide(number: int, divisor: int) -> int:
    """Return the quotient as the kernel works it out, in 32-bit words; for numbers under 2^31."""
    multiplier, shift = magic(divisor)
    upper = (number * multiplier) >> 32
    return ((upper + number) & 0xFFFFFFFF) >> shift


def offset_calculator(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> Value:
    """Pack a `gpubench::OffsetCalculator`. sizes: fastest first; strides: for each operand, in bytes.

    ValueError for more than 25 dims.
    """
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{len(sizes)} dims do not fit in an offset calculator of {MAX_DIMS}")
    unused = MAX_DIMS - len(sizes)
    dividers = [number for size in sizes for number in (size, *magic(size))] + [1, *magic(1)] * unused
    steps = [one[dim] for dim in range(len(sizes)) for one in strides] + [0] * (unused * len(strides))
    return Value(struct.pack(f"<i{len(dividers)}I{len(steps)}I", len(sizes), *dividers, *steps))
