"""Elements in vectors of 16 bytes, and the bytes that kernels work and exchange in; a test holds them to cuda_src."""

from __future__ import annotations

from typing import Any

from gpubench import dtypes
from gpubench.model import Problem

VECTOR_BYTES = 16


def vector_items(problem: Problem[Any]) -> int:
    """Return the elements of one vector of the kernels: 16 bytes of the widest operand (`vector_items` in C++)."""
    return items_of(*(operand.dtype for operand in problem.operands))


def items_of(*names: str) -> int:
    """Return `vector_items` for operands of these dtypes."""
    return max(VECTOR_BYTES // max(dtypes.dtype(name).itemsize for name in names), 1)


def sides_of(*names: str) -> tuple[int, ...]:
    """Return the numbers of columns side by side of which a vector for these dtypes holds two rows, or pairs.

    Of more columns a thread that walks them loads as much at once.
    """
    items = items_of(*names)
    return tuple(side for side in range(1, items + 1) if items % side == 0 and (side == 2 or 2 * side <= items)) or (1,)


def is_narrow(name: str) -> bool:
    """Return whether a dtype is an integer of 1 or 2 bytes, of which 32 bits hold many sums (`is_narrow` in C++)."""
    return dtypes.dtype(name).kind == "integer" and dtypes.dtype(name).itemsize < 4


def is_half(name: str) -> bool:
    """Return whether a dtype is a float of 16 bits, two of which are one word."""
    return dtypes.dtype(name).kind == "float" and dtypes.dtype(name).itemsize == 2


def accumulator_bytes(name: str) -> int:
    """Return the bytes of a dtype's accumulator."""
    return dtypes.dtype(dtypes.dtype(name).accumulator).itemsize


def published_bytes(name: str, side: int = 1) -> int:
    """Return the bytes of so many accumulators that blocks exchange (`Published` in gpubench/grid/published.cuh)."""
    width = side * accumulator_bytes(name)
    return 8 if width <= 4 else 2 * width


def exchange_bytes(name: str, items: int) -> int:
    """Return the bytes that a warp exchanges for `items` a lane; 0 for wide dtypes.

    8 bytes for each of `PackedPart::entries` in gpubench/movement/narrow.cuh.
    """
    if not is_narrow(name):
        return 0
    per_word = 4 // dtypes.dtype(name).itemsize
    run = min(items, 4 * per_word)
    pairs = -(-run // per_word // 2)
    plane = 32 * min(run // per_word, 2) + (8 if pairs > 1 else 0)
    return 8 * items // run * pairs * plane
