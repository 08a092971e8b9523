"""How an operand lies in memory: a `Layout` is the wish written in a suite, a `View` what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Layout:
    """What a suite asks for. The default is contiguous, row-major, at the start of an allocation.

    permute: order of the dims in memory, slowest first; `(1, 0)` is a transposed matrix. None keeps 0, 1, 2 ...
    step: distance in elements between neighbours of the fastest dim in memory; 2 leaves a gap after every element.
    expand: dims that are broadcast (stride 0), so that all their indices meet the same element.
    offset: elements between the start of the allocation (256-byte aligned) and the first element.
    """

    permute: tuple[int, ...] | None = None
    step: int = 1
    expand: tuple[int, ...] = ()
    offset: int = 0

    @property
    def is_default(self) -> bool:
        """True for a plain contiguous operand."""
        return self == Layout()


@dataclass(frozen=True, slots=True)
class View:
    """An operand's place in its storage. Strides, offset and storage are counted in elements, not bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: int

    @property
    def size(self) -> int:
        """Number of elements that an index can name (a broadcast element counts once for each index)."""
        return math.prod(self.shape)

    @property
    def unique_elements(self) -> int:
        """Number of different elements: broadcast dims count once."""
        if self.size == 0:
            return 0
        return math.prod(n for n, stride in zip(self.shape, self.strides, strict=True) if stride != 0)

    @property
    def is_contiguous(self) -> bool:
        """True when the elements lie side by side in row-major order (whatever the offset)."""
        return self.size <= 1 or all(
            n == 1 or stride == expected
            for n, stride, expected in zip(self.shape, self.strides, _row_major(self.shape), strict=True)
        )

    def of(self, storage: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the numpy view of a one-dimensional `storage` array of at least `self.storage` elements."""
        import numpy

        return numpy.lib.stride_tricks.as_strided(
            storage[self.offset :], self.shape, tuple(stride * storage.itemsize for stride in self.strides)
        )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def view(shape: tuple[int, ...], layout: Layout | None = None) -> View:
    """Return the view of `shape` under `layout`.

    ValueError when the layout does not fit the shape: a permutation of the wrong length, a dim out of range, a step
    under 1 or a negative offset.
    """
    layout = layout or Layout()
    dims = len(shape)
    order = layout.permute if layout.permute is not None else tuple(range(dims))
    if sorted(order) != list(range(dims)):
        raise ValueError(f"permute {list(order)} is not an order of the dims 0 to {dims - 1}")
    if layout.step < 1 or layout.offset < 0:
        raise ValueError("step must be at least 1 and offset at least 0")
    if any(not 0 <= dim < dims for dim in layout.expand):
        raise ValueError(f"expand {list(layout.expand)} names a dim outside 0 to {dims - 1}")
    strides = [0] * dims
    distance = layout.step
    for dim in reversed(order):
        if dim not in layout.expand:
            strides[dim] = distance
            distance *= max(shape[dim], 1)
    extent = 0
    if math.prod(shape) > 0:
        extent = 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    return View(shape, tuple(strides), layout.offset, layout.offset + extent)
