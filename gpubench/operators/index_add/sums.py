"""The types of index_add/sums.cuh: those of sums, and of alpha."""

from __future__ import annotations

from gpubench import dtypes
from gpubench.model import Value
from gpubench.operators.structs import float64, int32, int64


def sum_bytes(dtype: str) -> int:
    """Return the bytes of `gpubench::index_add::sum_t`."""
    row = dtypes.dtype(dtype)
    return 4 if row.kind == "integer" and row.itemsize <= 4 else dtypes.dtype(row.accumulator).itemsize


def alpha_value(alpha: float, dtype: str) -> Value:
    """Return alpha as `gpubench::index_add::alpha_t`: of integers it wraps."""
    import numpy as np

    row = dtypes.dtype(dtype)
    if row.kind == "integer":
        bits = 8 * sum_bytes(dtype)
        wrapped = (int(alpha) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        return int32(wrapped) if bits == 32 else int64(wrapped)
    if dtypes.dtype(row.accumulator).part == "float64":
        return float64(alpha)
    return Value(np.float32(alpha).tobytes())
