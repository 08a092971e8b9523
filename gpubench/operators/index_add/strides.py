"""An index_add of any layout, as few dims as there can be: what every fast rule starts from."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from gpubench.model import Problem
from gpubench.operators.geometry.dims import without
from gpubench.operators.geometry.merged import Dim, merged_dims
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.sectors import SECTOR


@dataclass(frozen=True, slots=True)
class Strides:
    """The indexed dim, and the dims beside it, merged, fastest in the destination first, but for `by_source`.

    The steps of a dim are those in the destination and in the source.
    """

    places: int
    count: int
    place_step: int
    index_step: int
    dims: tuple[Dim, ...]

    @property
    def positions(self) -> int:
        """Elements beside the indexed dim."""
        return math.prod(dim.size for dim in self.dims)

    @property
    def inside(self) -> int:
        """Elements that the destination has between neighbours along the indexed dim."""
        return math.prod(dim.size for dim in self.dims if dim.steps[0] < self.place_step)

    @property
    def fastest_of_source(self) -> int:
        """The number of the dim that is fastest in the source; 0 where there is none."""
        return min(range(len(self.dims)), key=lambda number: self.dims[number].steps[1], default=0)

    def by_source(self) -> Strides:
        """Return the same with the dims in the order of the source's memory."""
        return dataclasses.replace(self, dims=tuple(sorted(self.dims, key=lambda dim: dim.steps[::-1])))

    def in_vectors(self, vector: int) -> Strides:
        """Return the same with so many neighbours of the first dim for one position."""
        first, *others = self.dims
        along = Dim(first.size // vector, (first.steps[0] * vector, first.steps[1] * vector))
        return dataclasses.replace(self, dims=(along, *others))

    def sectors(self, operand: int, width: int, itemsize: int) -> float:
        """Return the sectors that the first positions touch, so many of them, for each of these."""
        addresses = [0]
        for dim in self.dims:
            more = range(min(dim.size, ceil_div(width, len(addresses))))
            addresses = [at + number * dim.steps[operand] * itemsize for number in more for at in addresses]
        first = addresses[:width]
        return len({at // SECTOR for at in first}) / len(first)

    def is_denser(self, operand: int) -> bool:
        """Say whether the destination (0), or the source (1), is denser along the indexed dim than along all others."""
        return all((self.place_step, self.index_step)[operand] < dim.steps[operand] for dim in self.dims)


def strides_of(problem: Problem[Any]) -> Strides:
    """Return the problem's dims. A destination without dims is a single place."""
    to, of, dim = problem.operand("destination").view, problem.operand("source").view, problem.params.dim
    (sizes, to_steps), (_, of_steps) = without(to, dim), without(of, dim)
    places, place_step = (to.shape[dim], to.strides[dim]) if to.shape else (1, 1)
    return Strides(places, of.shape[dim], place_step, of.strides[dim], merged_dims(sizes, to_steps, of_steps))


def vector_of(problem: Problem[Any], strides: Strides, most: int, operands: tuple[int, ...] = (0, 1)) -> int:
    """Return the elements of the widest vector, of up to `most`, on whose grid all rows of both operands stand.

    operands: the destination (0), the source (1), or both.
    """
    destination, _, source = problem.operands
    if not strides.dims or any(strides.dims[0].steps[operand] != 1 for operand in operands):
        return 1
    first, *others = strides.dims
    along = ((strides.places, strides.place_step), (strides.count, strides.index_step))
    steps = [first.size]
    for operand in operands:
        number, step = along[operand]
        steps += [(destination, source)[operand].view.offset, *(dim.steps[operand] for dim in others)]
        steps += [step] if number > 1 else []
    return math.gcd(most, *steps)
