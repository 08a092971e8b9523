"""How 512 threads are laid out for rows: x threads along a row, y rows side by side."""

from __future__ import annotations

LOG_THREADS = 9
FEWEST, MOST = 4, 9


def ceil_log2(value: int) -> int:
    """Return the smallest n with 2^n >= value; 0 for 0 and 1."""
    return max(value - 1, 0).bit_length()


def log_threads_x(rows: int, length: int) -> int:
    """Return log2 of the threads along a row: clamp((9 + ceil log2 length - ceil log2 rows) / 2, 4, 9).

    The ratio of x to y threads is then about that of row length to rows. Signed arithmetic, the rule as it is meant.
    """
    return _clamp((LOG_THREADS + ceil_log2(length) - ceil_log2(rows)) // 2)


def log_threads_x_unsigned(rows: int, length: int) -> int:
    """Return the same in 32-bit unsigned arithmetic, as the original works it out.

    Where the rows outnumber the values of a row more than 2^9 times, the sum wraps to nearly 2^32 and the clamp makes
    it 9: all 512 threads along a row of, say, 16 values, and one row a block.
    """
    wrapped = (LOG_THREADS + ceil_log2(length) - ceil_log2(rows)) % 2**32
    return _clamp(wrapped // 2)


def _clamp(value: int) -> int:
    return min(max(FEWEST, value), MOST)
