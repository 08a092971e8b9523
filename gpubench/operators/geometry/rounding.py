"""Whole numbers rounded up, and to powers of two."""

from __future__ import annotations


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def power_of_two(least: int) -> int:
    """Return the smallest power of two from `least` on."""
    return 1 << max(least - 1, 0).bit_length()


def power_of_two_within(most: int) -> int:
    """Return the largest power of two up to `most`, at least 1."""
    return 1 << max(most, 1).bit_length() - 1
