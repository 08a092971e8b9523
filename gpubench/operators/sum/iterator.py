"""The order in which PyTorch's reduction walks a tensor: dims sorted by stride, the reduced ones first, then merged.

Facts from PyTorch 2.6 (aten/src/ATen/TensorIterator.cpp); dims stand fastest first and strides count bytes, as there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators.geometry.merged import result_steps

LIMIT = 2**31 - 1
"""Elements, and bytes from the first to the last of an operand, that one launch reaches with its 32-bit offsets."""


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim: its size, and how far apart neighbours lie in y (0: reduced) and in x, in bytes."""

    size: int
    y: int
    x: int

    def extent(self) -> int:
        """Return the bytes from the first to the last index, in the operand where they are most."""
        return (self.size - 1) * max(self.y, self.x)


@dataclass(frozen=True, slots=True)
class ReduceIterator:
    """A sum, or a part of one. `dims`: the `reduced` ones first, fastest first in each group.

    y_offset, x_offset: bytes from the operands' first elements to this part's. accumulate: something was added to these
    outputs before; final: nothing comes after.
    """

    dims: tuple[Dim, ...]
    reduced: int
    y_offset: int = 0
    x_offset: int = 0
    accumulate: bool = False
    final: bool = True

    @property
    def terms(self) -> int:
        """Elements that go into one output."""
        return math.prod(dim.size for dim in self.dims[: self.reduced])

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return math.prod(dim.size for dim in self.dims[self.reduced :])

    @property
    def fits_32_bits(self) -> bool:
        """True when one launch reaches everything."""
        if self.terms * self.outputs > LIMIT:
            return False
        return all(
            1 + sum((dim.size - 1) * (dim.y if name == "y" else dim.x) for dim in self.dims) <= LIMIT
            for name in ("y", "x")
        )

    def parts(self) -> Iterator[ReduceIterator]:
        """Yield parts that each fit, first to last: halves of halves, cut along the dim that reaches farthest."""
        if self.fits_32_bits:
            yield self
            return
        for half in self._halves():
            yield from half.parts()

    def _halves(self) -> tuple[ReduceIterator, ReduceIterator]:
        # Dims of stride 0 reach nowhere, but each has elements to share: never one of size 1.
        dims = self.dims
        cut = max(range(len(dims)), key=lambda place: (dims[place].extent(), dims[place].size > 1, place))
        dim = dims[cut]
        size = dim.size // 2
        before = (*dims[:cut], replace(dim, size=size), *dims[cut + 1 :])
        after = (*dims[:cut], replace(dim, size=dim.size - size), *dims[cut + 1 :])
        shared = cut < self.reduced  # both halves add to the same outputs
        first = replace(self, dims=before, final=self.final and not shared)
        second = replace(
            self,
            dims=after,
            y_offset=self.y_offset + size * dim.y,
            x_offset=self.x_offset + size * dim.x,
            accumulate=self.accumulate or shared,
        )
        return first, second


def reduce_iterator(problem: Problem[Any]) -> ReduceIterator:
    """Return the iterator of a sum over at least one term into at least one output."""
    x, y = problem.operand("x"), problem.operand("y")
    shape, reduced = x.view.shape, problem.params.dim
    x_item, y_item = dtypes.dtype(x.dtype).itemsize, dtypes.dtype(y.dtype).itemsize
    y_strides = result_steps(shape, reduced)
    fastest_first = [
        Dim(shape[dim], y_strides[dim] * y_item, x.view.strides[dim] * x_item)
        for dim in reversed(range(len(shape)))
        if shape[dim] != 1
    ]
    dims = merge(reorder(fastest_first))
    return ReduceIterator(dims, sum(dim.y == 0 for dim in dims))


def reorder(dims: list[Dim]) -> list[Dim]:
    """Sort by insertion (a broadcast dim compares with none): reduced first, then by stride in y, in x, by size."""
    order = list(dims)
    for start in range(1, len(order)):
        moving = start
        for place in range(start - 1, -1, -1):
            verdict = _compare(order[place], order[moving])
            if verdict > 0:
                order[place], order[moving] = order[moving], order[place]
                moving = place
            elif verdict < 0:
                break
    return order


def _compare(a: Dim, b: Dim) -> int:
    """Return 1 when `b` should stand before `a`, -1 when it should stay behind, 0 when nothing tells."""
    if (a.y == 0) != (b.y == 0):
        return 1 if b.y == 0 else -1
    for first, other in ((a.y, b.y), (a.x, b.x)):
        if first == 0 or other == 0:
            continue
        if first != other:
            return -1 if first < other else 1
        if a.size > b.size:
            return 1
    return 0


def merge(dims: list[Dim]) -> tuple[Dim, ...]:
    """Join neighbours that both operands walk as one dim."""

    def join(done: tuple[Dim, ...], dim: Dim) -> tuple[Dim, ...]:
        if done and done[-1].size * done[-1].y == dim.y and done[-1].size * done[-1].x == dim.x:
            return (*done[:-1], replace(done[-1], size=done[-1].size * dim.size))
        return (*done, dim)

    nothing: tuple[Dim, ...] = ()
    return functools.reduce(join, dims, nothing)
