"""How many elements one access moves, and how many a thread works on."""

from __future__ import annotations

from collections.abc import Sequence

OLDER_ITEMS = 4
"""Elements a thread in the original's older form."""

WIDEST = 8
BYTES_OF_AN_ACCESS = 16


def items_per_thread(itemsizes: Sequence[int]) -> int:
    """Return the elements a thread works on in the newer form: 8, or 16 where every element is one byte."""
    return 16 if all(itemsize == 1 for itemsize in itemsizes) else 8


def aligned_width(places: Sequence[int], itemsizes: Sequence[int], widest: int) -> int:
    """Return the widest of `widest`, its half ... 1 at which every pointer is a multiple of its vector.

    places: bytes of each operand's first element after a boundary of 256 bytes.
    """
    width = widest
    while any(place % (width * itemsize) for place, itemsize in zip(places, itemsizes, strict=True)):
        width //= 2
    return width


def older_width(places: Sequence[int], itemsizes: Sequence[int]) -> int:
    """Return the older form's width: 4, 2 or 1, by alignment alone (four doubles make two accesses)."""
    return aligned_width(places, itemsizes, OLDER_ITEMS)


EIGHT_WIDE = ((9, 0), (10, 0))
"""Compute capabilities on which the newer form goes beyond vectors of four."""


def newer_width(places: Sequence[int], itemsizes: Sequence[int], capability: tuple[int, int]) -> int:
    """Return the newer form's width: 8, 4, 2 or 1; at most 16 bytes of the output (the first), 4 where it has
    one byte, and 4 on GPUs that are not listed in `EIGHT_WIDE`.

    The output alone sets the limit of 16 bytes: an operand with larger elements takes several accesses.
    """
    output = itemsizes[0]
    most = WIDEST if capability in EIGHT_WIDE and output > 1 else OLDER_ITEMS
    return aligned_width(places, itemsizes, min(most, BYTES_OF_AN_ACCESS // output))
