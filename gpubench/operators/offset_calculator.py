"""What `gpubench/offset_calculator.cuh` takes: offsets of elements by multiplication and shift in place of division.

The magic numbers follow T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI
1994 (the round-up method); they hold for numbers and divisors below 2^31.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gpubench.model import Value
from gpubench.operators.packing import MAX_DIMS

MAX_ITERATOR_DIMS = 25
"""Dims that `gpubench::OffsetCalculator` holds."""

LIMIT = 2**31 - 1
"""The largest number that may be divided, and the largest divisor."""


def magic(divisor: int) -> tuple[int, int]:
    """Return (magic, shift) with n // divisor == (n + (n * magic >> 32)) >> shift for every n of 0 to 2^31 - 1.

    ValueError for a divisor outside 1 to 2^31 - 1.
    """
    if not 1 <= divisor <= LIMIT:
        raise ValueError(f"no magic numbers for the divisor {divisor}; allowed are 1 to {LIMIT}")
    shift = (divisor - 1).bit_length()
    return (((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift)


def divider(divisor: int) -> bytes:
    """Pack a `gpubench::IntegerDivider<uint32>` (12 bytes)."""
    return struct.pack("<III", divisor, *magic(divisor))


def offset_calculator(sizes: Sequence[int], *strides: Sequence[int]) -> Value:
    """Pack a `gpubench::OffsetCalculator<len(strides)>`. Dims stand fastest first, one list of strides a tensor.

    ValueError for more than 25 dims, or numbers that 32 bits do not hold (strides may be up to 2^32 - 1).
    """
    if len(sizes) > MAX_ITERATOR_DIMS:
        raise ValueError(f"{len(sizes)} dims do not fit in an OffsetCalculator of {MAX_ITERATOR_DIMS}")
    if any(len(one) != len(sizes) for one in strides):
        raise ValueError(f"{len(sizes)} sizes but {[len(one) for one in strides]} strides")
    if any(not 0 <= stride < 2**32 for one in strides for stride in one):
        raise ValueError("a stride does not fit 32 bits")
    unused = MAX_ITERATOR_DIMS - len(sizes)
    dividers = b"".join(divider(size) for size in sizes) + divider(1) * unused
    steps = [stride for dim in zip(*strides, strict=True) for stride in dim] + [0] * (unused * len(strides))
    return Value(struct.pack("<i", len(sizes)) + dividers + struct.pack(f"<{len(steps)}I", *steps))


def divided_strided(sizes: Sequence[int], strides: Sequence[int]) -> Value:
    """Pack a `gpubench::DividedStrided` (168 bytes): dims slowest first here, fastest first there.

    ValueError for more than 8 dims; sizes must multiply to less than 2^31.
    """
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{len(sizes)} dims do not fit in a DividedStrided of {MAX_DIMS}")
    unused = MAX_DIMS - len(sizes)
    dividers = b"".join(divider(size) for size in reversed(sizes)) + divider(1) * unused
    steps = [*reversed(strides), *[0] * unused]
    return Value(struct.pack("<i", len(sizes)) + dividers + struct.pack("<4x8q", *steps))
