"""The dtype that a result has."""

from __future__ import annotations

from gpubench import dtypes
from gpubench.errors import UnsupportedError


def sum_dtype(dtype: str) -> str:
    """Return the dtype of a sum or a running sum: int64 for integers, the input's own otherwise."""
    return "int64" if dtypes.dtype(dtype).kind == "integer" else dtype


def require_dtype(operator: str, dtype: str, allowed: tuple[str, ...]) -> None:
    """UnsupportedError when `operator` does not take `dtype`."""
    if dtype not in allowed:
        raise UnsupportedError(f"{operator} does not take {dtype}; it takes {', '.join(allowed)}.")
