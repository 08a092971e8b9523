"""An elementwise problem as the fast kernels see it: dims in the order of y's memory, merged, and the operands."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import Operand, Problem, Refused
from gpubench.operators.elementwise.naive import broadcast_strides
from gpubench.operators.geometry.merged import Dim, merged_dims
from gpubench.operators.geometry.vectors import items_of


@dataclass(frozen=True, slots=True)
class Input:
    """One operand: its number (y is 0), name and dtype; elements before its first one, and from there to behind its
    last.
    """

    number: int
    name: str
    dtype: str
    offset: int
    extent: int

    def step(self, dim: Dim) -> int:
        """Return the elements between neighbours along a dim."""
        return dim.steps[self.number]


@dataclass(frozen=True, slots=True)
class Merged:
    """dims: fastest in y first; y's elements lie side by side. vector: elements of 16 bytes of the widest operand.

    bytes: the fewest that are moved.
    """

    dims: tuple[Dim, ...]
    inputs: tuple[Input, ...]
    vector: int
    output_itemsize: int
    bytes: int

    @property
    def elements(self) -> int:
        """Elements of y."""
        return math.prod(dim.size for dim in self.dims)

    @property
    def output_bytes(self) -> int:
        """Bytes of y."""
        return self.elements * self.output_itemsize

    def itemsizes(self, numbers: Collection[int]) -> list[int]:
        """Return the bytes of an element of each operand of these numbers."""
        return [dtypes.dtype(operand.dtype).itemsize for operand in self.inputs if operand.number in numbers]

    def is_linear(self, one: Input) -> bool:
        """Say whether an operand lies as y does, from end to end."""
        return all(one.step(dim) == dim.steps[0] for dim in self.dims)

    def on_grid(self, one: Input, *steps: int) -> bool:
        """Say whether an operand, and whatever lies such steps behind it, stands on vectors."""
        return all(step % self.vector == 0 for step in (one.offset, *steps))


def merged(problem: Problem[Any]) -> Merged | Refused:
    """Return the dims and operands, or why no fast kernel takes them."""
    *inputs, y = problem.operands
    if y.view.size == 0:
        return Refused("there is nothing to write")
    shape = y.view.shape
    steps = [broadcast_strides(operand, shape) for operand in (y, *inputs)]
    dims = merged_dims(shape, *steps) or (Dim(1, (1,) * len(steps)),)
    distance = 1
    for dim in dims:
        if dim.steps[0] != distance:
            return Refused("there are gaps between y's elements")
        distance *= dim.size
    if y.view.offset * dtypes.dtype(y.dtype).itemsize % 16:
        return Refused("y does not begin on 16 bytes")
    return Merged(
        dims,
        tuple(_input(number, operand) for number, operand in enumerate(inputs, 1)),
        items_of(*(operand.dtype for operand in problem.operands)),
        dtypes.dtype(y.dtype).itemsize,
        problem.bytes,
    )


def _input(number: int, operand: Operand) -> Input:
    return Input(number, operand.name, operand.dtype, operand.view.offset, operand.view.storage - operand.view.offset)
