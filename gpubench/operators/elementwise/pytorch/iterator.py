"""The walk over several strided operands at once: dims sorted by stride, merged, and cut until 32 bits reach.

The rules are those of PyTorch's TensorIterator. Dims stand fastest first here, strides count bytes, and operand 0 is
the output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LARGEST_32_BIT = 2**31 - 1
"""The most elements, and the largest distance in bytes, that a kernel with 32-bit indices walks."""

Strides = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """Sizes fastest first; for each operand the strides in bytes and the distance of its first element in bytes."""

    sizes: tuple[int, ...]
    strides: Strides
    starts: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Number of elements of the output."""
        return math.prod(self.sizes)

    @property
    def fits_32_bits(self) -> bool:
        """True when neither the number of elements nor any operand's extent passes 2^31 - 1."""
        return self.elements <= LARGEST_32_BIT and all(
            1 + _extent(self.sizes, strides) <= LARGEST_32_BIT for strides in self.strides
        )

    def is_contiguous(self, itemsizes: Sequence[int]) -> bool:
        """Return whether every operand is one run of neighbouring elements, in the same order."""
        if self.elements == 1:
            return True
        return len(self.sizes) == 1 and all(
            strides[0] == itemsize for strides, itemsize in zip(self.strides, itemsizes, strict=True)
        )


def walks(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[Walk, ...]:
    """Return the walks, each within 32 bits, that together cover the operands.

    shape: slowest dim first. strides: for each operand the strides in bytes in the same order, 0 where it is broadcast.
    Nothing for an empty shape. The dims are sorted and merged once, before the cuts, as the original does.
    """
    if 0 in shape:
        return ()
    order = sorted_dims(shape, strides)
    sizes = tuple(shape[dim] for dim in order)
    sorted_strides = tuple(tuple(operand_strides[dim] for dim in order) for operand_strides in strides)
    whole = merged(Walk(sizes, sorted_strides, (0,) * len(strides)))
    return tuple(_cut(whole))


def sorted_dims(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the dims from the smallest to the largest stride.

    Two dims are compared by the first operand, the output before the inputs, whose strides there differ and are not 0
    (broadcast says nothing); where strides are equal and the one thought faster is the larger, they change places. The
    order is built by insertion from the innermost dim outwards, since the comparison is no total order.
    """
    order = list(reversed(range(len(shape))))
    for last in range(1, len(order)):
        place = last
        for other in reversed(range(last)):
            verdict = _slower(order[other], order[place], shape, strides)
            if verdict < 0:
                break
            if verdict > 0:
                order[other], order[place] = order[place], order[other]
                place = other
    return tuple(order)


def _slower(one: int, other: int, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> int:
    """Return 1 when dim `one` should come after dim `other`, -1 when it should not, 0 when nothing decides."""
    for operand in strides:
        a, b = operand[one], operand[other]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[one] > shape[other]:
            return 1
    return 0


def merged(walk: Walk) -> Walk:
    """Merge neighbouring dims that every operand walks as one, or of which one has size 1."""
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in walk.strides]
    for dim, size in enumerate(walk.sizes):
        here = [operand_strides[dim] for operand_strides in walk.strides]
        last = [operand_strides[-1] for operand_strides in strides] if sizes else []
        if sizes and (size == 1 or sizes[-1] == 1 or all(sizes[-1] * a == b for a, b in zip(last, here, strict=True))):
            if sizes[-1] == 1:
                for operand_strides, stride in zip(strides, here, strict=True):
                    operand_strides[-1] = stride
            sizes[-1] *= size
        else:
            sizes.append(size)
            for operand_strides, stride in zip(strides, here, strict=True):
                operand_strides.append(stride)
    return Walk(tuple(sizes), tuple(tuple(operand_strides) for operand_strides in strides), walk.starts)


def _extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    return sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def _cut(walk: Walk) -> Iterator[Walk]:
    """Halve the dim along which some operand reaches farthest, until every part fits; parts come in order."""
    if walk.fits_32_bits:
        yield walk
        return
    dim = _farthest_dim(walk)
    half = walk.sizes[dim] // 2
    for start, size in ((0, half), (half, walk.sizes[dim] - half)):
        sizes = (*walk.sizes[:dim], size, *walk.sizes[dim + 1 :])
        starts = tuple(
            at + start * operand_strides[dim] for at, operand_strides in zip(walk.starts, walk.strides, strict=True)
        )
        part = Walk(sizes, walk.strides, starts)
        yield from _cut(merged(part) if size == 1 else part)


def _farthest_dim(walk: Walk) -> int:
    """Return the dim of the largest extent in any operand, the slowest where several are equal."""
    reach = [
        max((size - 1) * operand_strides[dim] for operand_strides in walk.strides)
        for dim, size in enumerate(walk.sizes)
    ]
    return max(reversed(range(len(reach))), key=reach.__getitem__)
