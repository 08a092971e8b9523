"""The arithmetic of the references: wider than the dtype under test, and blocks of answers that can be kept.

float64 for 16- and 32-bit floats; numpy's longdouble (80 bits on x86, at least 64 elsewhere) for float64, so that the
reference's own rounding stays below what the check allows; int64 for integers, exact and wrapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpubench.dtypes import is_exact as is_exact

Array = np.ndarray[Any, np.dtype[Any]]
Block = tuple[slice, Array, "Array | None"]

KEEP_BYTES = 1 << 30
"""Answers up to this size are kept for the next contender of the case; larger ones are worked out again."""

_WIDE: dict[str, Any] = {
    "float16": np.float64,
    "bfloat16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


def wide(array: Array, dtype: str) -> Array:
    """Return a copy of `array`, whose dtype is called `dtype`, in the arithmetic of the references."""
    return array.astype(_WIDE.get(dtype, np.int64))


def magnitude(values: Array) -> Array:
    """Return |values| as float64. Of complex numbers NaN counts as infinity: a magnitude of NaN has another meaning
    there (see `gpubench.measure.check`).
    """
    sizes: Array = np.asarray(np.abs(values)).astype(np.float64, copy=False)
    if values.dtype.kind == "c":
        sizes[np.isnan(sizes)] = np.inf
    return sizes


def narrow(value: Array) -> Array:
    """Return the value as a reference hands it out: float64, complex128 or int64, row-major."""
    kind = value.dtype.kind
    target = np.int64 if kind in "iu" else np.complex128 if kind == "c" else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(value, dtype=target)


def quiet() -> Any:
    """Silence numpy's warnings about NaN, infinity and wrapping, which are part of the answers."""
    return np.errstate(all="ignore")


class BlockReference:
    """A `Reference` made of a function that works out the blocks; keeps them when they are small enough."""

    def __init__(self, produce: Callable[[], Iterator[Block]], outputs: int, bytes_per_output: int = 16) -> None:
        """`produce` starts the work anew at each call; `outputs` and `bytes_per_output` say whether to keep it."""
        self._produce = produce
        self._keep = outputs * bytes_per_output <= KEEP_BYTES
        self._kept: tuple[Block, ...] | None = None

    def blocks(self) -> Iterator[Block]:
        """Yield (slice of the flattened output, value, magnitude), in order."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Block] = []
        for block in self._produce():
            if self._keep:
                kept.append(block)
            yield block
        if self._keep:
            self._kept = tuple(kept)
