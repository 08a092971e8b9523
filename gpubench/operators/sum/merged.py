"""A sum as the fast kernels see it: dims in the order of memory, neighbours merged, dims that do not move apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.layout import View
from gpubench.model import Problem
from gpubench.operators.geometry.dims import part
from gpubench.operators.geometry.merged import merged_dims, result_steps


@dataclass(frozen=True, slots=True)
class Dim:
    """One dim: its size, and the elements between neighbours in x and, where it is kept, in y."""

    size: int
    x: int
    y: int

    @property
    def kept(self) -> bool:
        """Whether the result has this dim."""
        return self.y != 0


NONE = Dim(1, 0, 0)
"""Stands where there is no dim."""


def padded(dims: Sequence[Dim], count: int) -> tuple[Dim, ...]:
    """Return the dims, and behind them as many that do nothing as make `count`."""
    return (*dims, *[NONE] * (count - len(dims)))


@dataclass(frozen=True, slots=True)
class Merged:
    """A sum over x. `dims`: those that move in x, fastest first, then kept ones that do not.

    copies: of the latter the longest, along which an output is stored several times. multiple: how often each term
    counts, by reduced ones that do not move.
    extent: elements from x's first to behind its last. offset: of x's first element in its allocation.
    y_bytes: of the result.
    """

    dims: tuple[Dim, ...]
    copies: tuple[Dim, ...]
    multiple: int
    extent: int
    offset: int
    itemsize: int
    y_bytes: int

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
    def apart(self) -> int:
        """Elements between neighbours along the fastest dim."""
        return self.dims[0].x if self.dims else 1

    @property
    def bytes(self) -> int:
        """Bytes of x that are read."""
        return self.outputs * self.terms * self.itemsize

    def widest(self, *steps: int) -> int:
        """Return the elements of the widest vector, up to 16 bytes, on which x and what lies so far behind stand."""
        return math.gcd(self.vector, self.offset, *steps)

    def on_grid(self, *steps: int) -> bool:
        """Say whether x and whatever lies such steps behind it stand on vectors of 16 bytes."""
        return self.widest(*steps) == self.vector


def merged(problem: Problem[Any]) -> Merged:
    """Return the sum's dims. There must be at least one output and one term."""
    x, y = problem.operand("x").view, problem.operand("y")
    y_steps = result_steps(x.shape, problem.params.dim)
    every = range(len(x.shape))
    moving = _dims(x, y_steps, [dim for dim in every if x.strides[dim] != 0])
    still = _dims(x, y_steps, [dim for dim in every if x.strides[dim] == 0])
    copies = sorted((dim for dim in still if dim.kept), key=lambda dim: dim.size, reverse=True)
    return Merged(
        (*moving, *copies[1:]),
        tuple(copies[:1]),
        math.prod(dim.size for dim in still if not dim.kept),
        1 + sum((dim.size - 1) * dim.x for dim in moving),
        x.offset,
        dtypes.dtype(problem.operand("x").dtype).itemsize,
        y.view.size * dtypes.dtype(y.dtype).itemsize,
    )


def _dims(x: View, y_steps: Sequence[int], chosen: Sequence[int]) -> tuple[Dim, ...]:
    """Merge some dims. y does not move along reduced dims, and only there."""
    sizes, x_steps = part(x, chosen)
    found = merged_dims(sizes, x_steps, [y_steps[dim] for dim in chosen])
    return tuple(Dim(dim.size, *dim.steps) for dim in found)
