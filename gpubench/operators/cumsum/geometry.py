"""How the fast kernels see a problem: as rows, summed along contiguous memory, or as columns, summed across it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Problem
from gpubench.operators.coalesce import coalesce
from gpubench.operators.cumsum import tuning


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r of x starts at r * pitch, its elements are `step` apart; y is contiguous. Counted in elements."""

    rows: int
    length: int
    pitch: int
    step: int

    @property
    def contiguous(self) -> bool:
        """True when x is one piece of memory, row after row."""
        return self.step == 1 and (self.rows == 1 or self.pitch == self.length)

    @property
    def span(self) -> int:
        """Elements from the first of x to the last, both counted."""
        return (self.rows - 1) * self.pitch + (self.length - 1) * self.step + 1


@dataclass(frozen=True, slots=True)
class Columns:
    """`outer` blocks of `length` rows of `inner` neighbouring columns; sums run down the rows.

    outer_pitch, row_pitch: distances of x in elements; y is contiguous.
    """

    outer: int
    length: int
    inner: int
    outer_pitch: int
    row_pitch: int

    @property
    def contiguous(self) -> bool:
        """True when each block of x is one piece of memory."""
        return self.length == 1 or self.row_pitch == self.inner

    @property
    def span(self) -> int:
        """Elements from the first of x to the last, both counted."""
        return (self.outer - 1) * self.outer_pitch + (self.length - 1) * self.row_pitch + self.inner


def rows_of(problem: Problem[Any]) -> Rows | None:
    """Return the problem as rows; None where the summed dim is not the fastest of y or the rows have no one pitch."""
    x, y = problem.operand("x").view, problem.operand("y").view
    dim = problem.params.dim
    if not y.is_contiguous or x.size == 0:
        return None
    if not x.shape or (x.shape[dim] == 1 and x.is_contiguous):
        return Rows(x.size, 1, 1, 1)
    if math.prod(x.shape[dim + 1 :]) != 1:
        return None
    outer = _one_pitch(x.shape[:dim], x.strides[:dim])
    if outer is None:
        return None
    length, step = x.shape[dim], x.strides[dim] if x.shape[dim] > 1 else 1
    return Rows(outer[0], length, outer[1] if outer[0] > 1 else length, step)


def is_aligned(problem: Problem[Any], rows: Rows) -> bool:
    """Tell whether x stands on the grid of y's 16-byte vectors in every row, its elements side by side."""
    items = vector_items(problem)
    between = 0 if rows.rows == 1 else rows.pitch - rows.length  # buffers begin on a vector, and so does y
    return rows.step == 1 and problem.operand("x").view.offset % items == 0 and between % items == 0


def columns_of(problem: Problem[Any]) -> Columns | None:
    """Return the problem as columns; None where there are none or their memory has no such form."""
    x, y = problem.operand("x").view, problem.operand("y").view
    dim = problem.params.dim
    if not y.is_contiguous or x.size == 0 or not x.shape:
        return None
    inner = _one_pitch(x.shape[dim + 1 :], x.strides[dim + 1 :])
    outer = _one_pitch(x.shape[:dim], x.strides[:dim])
    if inner is None or outer is None or inner[0] == 1 or inner[1] != 1:
        return None
    length = x.shape[dim]
    row_pitch = x.strides[dim] if length > 1 else inner[0]
    return Columns(outer[0], length, inner[0], outer[1] if outer[0] > 1 else length * inner[0], row_pitch)


def _one_pitch(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Return (size, stride) of dims that walk as one; None when they do not."""
    sizes, (steps,) = coalesce(shape, strides)
    if not sizes:
        return 1, 1
    return (sizes[0], steps[0]) if len(sizes) == 1 else None


def gives_up_x(problem: Problem[Any], device: DeviceInfo) -> bool:
    """Tell whether the L2 cache had better give up x first, so that it keeps y and pushes out less of what it held."""
    return problem.bytes <= tuning.STREAMING_L2 * device.l2_bytes


def vector_items(problem: Problem[Any]) -> int:
    """Return the elements of one vector of the kernels: 16 bytes of the wider of x and y (`vector_items` in C++)."""
    return items_of(problem.operand("x").dtype, problem.operand("y").dtype)


def items_of(x: str, y: str) -> int:
    """Return `vector_items` for two dtypes."""
    return max(16 // max(dtypes.dtype(x).itemsize, dtypes.dtype(y).itemsize), 1)


def is_narrow(x: str) -> bool:
    """Return whether a dtype is an integer of 1 or 2 bytes, of which 32 bits hold many sums (`is_narrow` in C++)."""
    return dtypes.dtype(x).kind == "integer" and dtypes.dtype(x).itemsize < 4


def is_half(x: str) -> bool:
    """Return whether a dtype is a float of 16 bits, two of which are one word."""
    return dtypes.dtype(x).kind == "float" and dtypes.dtype(x).itemsize == 2


def accumulator_bytes(dtype: str) -> int:
    """Return the bytes of the accumulator of y's dtype."""
    return dtypes.dtype(dtypes.dtype(dtype).accumulator).itemsize


def published_bytes(dtype: str) -> int:
    """Return the bytes of one sum that blocks exchange (`Published` in gpubench/grid/published.cuh)."""
    width = accumulator_bytes(dtype)
    return 8 if width <= 4 else 2 * width


def exchange_bytes(x: str, items: int) -> int:
    """Return the bytes that a warp exchanges for `items` a lane (`PackedPart::entries` in C++); 0 for wide dtypes."""
    if not is_narrow(x):
        return 0
    per_word = 4 // dtypes.dtype(x).itemsize
    run = min(items, 4 * per_word)
    pairs = -(-run // per_word // 2)
    plane = 32 * min(run // per_word, 2) + (8 if pairs > 1 else 0)
    return 8 * items // run * pairs * plane
