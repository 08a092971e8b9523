"""Kernel arguments passed by value: the bytes of C scalars and of the structs that kernels take (little-endian)."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

from gpubench.model import Value

MAX_DIMS = 8
"""Dims that `gpubench::Strided` holds."""


class _HasBytes(Protocol):
    def tobytes(self) -> bytes: ...


def scalar(value: _HasBytes) -> Value:
    """Pack a numpy scalar, such as `np.int64(3)`, as the C scalar of its dtype."""
    return Value(value.tobytes())


def int32(value: int) -> Value:
    """Pack a C `int`."""
    return Value(struct.pack("<i", value))


def int64(value: int) -> Value:
    """Pack a C `long long`."""
    return Value(struct.pack("<q", value))


def float64(value: float) -> Value:
    """Pack a C `double`."""
    return Value(struct.pack("<d", value))


def strided(sizes: Sequence[int], strides: Sequence[int]) -> Value:
    """Pack a `gpubench::Strided` (136 bytes): int dims, int padding, long long sizes[8], long long strides[8].

    Dims stand slowest first; strides count elements; unused places hold size 1, stride 0. ValueError for more than 8.
    """
    if len(sizes) > MAX_DIMS:
        raise ValueError(f"{len(sizes)} dims do not fit in a Strided of {MAX_DIMS}")
    if len(sizes) != len(strides):
        raise ValueError(f"{len(sizes)} sizes but {len(strides)} strides")
    unused = MAX_DIMS - len(sizes)
    return Value(struct.pack("<ii8q8q", len(sizes), 0, *sizes, *[1] * unused, *strides, *[0] * unused))
