"""What the fast sums take by value, as reduce_sum/terms.cuh has it, and numbers that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.operators.structs import INTEGER_DIVIDER, LIMIT, Struct, divider
from gpubench.operators.sum.merged import Dim, Merged, padded

KEPT_DIMS = 3

KEPT = Struct(
    "gpubench::sum::Kept",
    "reduce_sum/terms.cuh",
    x_steps=("i8", KEPT_DIMS),
    y_steps=("i8", KEPT_DIMS),
    first=INTEGER_DIVIDER,
    second=INTEGER_DIVIDER,
    dims="i4",
    unused="i4",
)

FINISH = Struct("gpubench::sum::Finish", "reduce_sum/terms.cuh", multiple="i8", copies="i8", apart="i8")

Fields = tuple[Any, ...]


def kept(dims: Sequence[Dim]) -> Fields:
    """Return a `gpubench::sum::Kept` of up to three dims, fastest first, to stand in a struct."""
    every = padded(dims, KEPT_DIMS)
    sizes = (divider(every[0].size), divider(every[1].size))
    return ([dim.x for dim in every], [dim.y for dim in every], *sizes, len(dims), 0)


def finish(shape: Merged) -> Fields:
    """Return a `gpubench::sum::Finish`, to stand in a struct."""
    (copies,) = padded(shape.copies, 1)
    return (shape.multiple, copies.size, copies.y)


def fits(*numbers: int) -> bool:
    """Say whether the numbers may be divided by multiplication, or divide so."""
    return all(1 <= number <= LIMIT for number in numbers)
