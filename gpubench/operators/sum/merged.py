"""A sum as the fast kernels see it: dims in the order of memory, neighbours merged, dims that do not move apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.dims import kept_dims


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim: its size, and the elements between neighbours in x and, where it is kept, in y."""

    size: int
    x: int
    y: int
    kept: bool


@dataclass(frozen=True, slots=True)
class Merged:
    """A sum over x. `dims`: those that move in x, fastest first. `copies`: kept ones that do not, so that an output is
    stored several times; `multiple`: how often each term counts, by reduced ones that do not.

    extent: elements from x's first to behind its last. offset: of x's first element in its allocation.
    """

    dims: tuple[Dim, ...]
    copies: tuple[Dim, ...]
    multiple: int
    extent: int
    offset: int
    itemsize: int

    @property
    def kept(self) -> tuple[Dim, ...]:
        """The kept dims that move in x, fastest first."""
        return tuple(dim for dim in self.dims if dim.kept)

    @property
    def reduced(self) -> tuple[Dim, ...]:
        """The reduced dims that move in x, fastest first."""
        return tuple(dim for dim in self.dims if not dim.kept)

    @property
    def outputs(self) -> int:
        """Number of different sums."""
        return math.prod(dim.size for dim in self.kept)

    @property
    def terms(self) -> int:
        """Different terms of a sum."""
        return math.prod(dim.size for dim in self.reduced)

    @property
    def vector(self) -> int:
        """Elements of 16 bytes."""
        return 16 // self.itemsize

    @property
    def bytes(self) -> int:
        """Bytes of x that are read."""
        return self.outputs * self.terms * self.itemsize

    def on_grid(self, *steps: int) -> bool:
        """Say whether x and whatever lies such steps behind it stand on vectors of 16 bytes."""
        return all(step % self.vector == 0 for step in (self.offset, *steps))


def merged(problem: Problem[Any]) -> Merged:
    """Return the sum's dims. There must be at least one output and one term."""
    x, y = problem.operand("x").view, problem.operand("y").view
    y_steps = dict.fromkeys(range(len(x.shape)), 0)
    distance = 1
    kept = set(kept_dims(len(x.shape), problem.params.dim))
    for dim in sorted(kept, reverse=True):  # y is contiguous
        y_steps[dim] = distance
        distance *= x.shape[dim]
    assert distance == y.size
    every = [Dim(size, x.strides[dim], y_steps[dim], dim in kept) for dim, size in enumerate(x.shape) if size != 1]
    moving = join(sorted((dim for dim in every if dim.x != 0), key=lambda dim: (dim.x, dim.y)))
    still = [dim for dim in every if dim.x == 0]
    return Merged(
        moving,
        join(sorted((dim for dim in still if dim.kept), key=lambda dim: dim.y)),
        math.prod(dim.size for dim in still if not dim.kept),
        1 + sum((dim.size - 1) * dim.x for dim in moving),
        x.offset,
        dtypes.dtype(problem.operand("x").dtype).itemsize,
    )


def join(dims: list[Dim]) -> tuple[Dim, ...]:
    """Merge neighbours, fastest first, that x and y walk as one. y does not move along reduced dims, and only there."""
    slowest_first = dims[::-1]
    sizes, (x, y) = coalesce(
        [dim.size for dim in slowest_first], [dim.x for dim in slowest_first], [dim.y for dim in slowest_first]
    )
    found = [Dim(size, x_step, y_step, y_step != 0) for size, x_step, y_step in zip(sizes, x, y, strict=True)]
    return tuple(reversed(found))
