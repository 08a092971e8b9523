"""Dims in the order of memory, as few as walk the same elements."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.dims import kept_dims


class Dim(NamedTuple):
    """One dim: its size, and the elements between neighbours in each operand; 0 in one that does not move along it."""

    size: int
    steps: tuple[int, ...]


def merged_dims(sizes: Sequence[int], *steps: Sequence[int]) -> tuple[Dim, ...]:
    """Return the dims sorted by their steps in the first operand, then in the next, neighbours merged; fastest first.

    Dims of size 1 are left out. Dims merge where every operand walks them as one.
    """
    order = sorted(range(len(sizes)), key=lambda dim: [operand[dim] for operand in steps], reverse=True)
    found, walks = coalesce([sizes[dim] for dim in order], *([operand[dim] for dim in order] for operand in steps))
    return tuple(Dim(size, tuple(walk)) for size, *walk in zip(found, *walks, strict=True))[::-1]


def result_steps(shape: Sequence[int], reduced: Collection[int]) -> tuple[int, ...]:
    """Return the elements between neighbours along each dim in a contiguous result that lacks the reduced dims (0)."""
    steps = [0] * len(shape)
    distance = 1
    for dim in reversed(kept_dims(len(shape), reduced)):
        steps[dim] = distance
        distance *= shape[dim]
    return tuple(steps)
