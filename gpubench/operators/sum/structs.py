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
    dims="i4",
    first=INTEGER_DIVIDER,
    second=INTEGER_DIVIDER,
    x_steps=("i8", KEPT_DIMS),
    y_steps=("i8", KEPT_DIMS),
)

FINISH = Struct("gpubench::sum::Finish", "reduce_sum/terms.cuh", multiple="i8", copies="i8", apart="i8")

SUM = Struct("gpubench::sum::Sum", "reduce_sum/terms.cuh", kept=KEPT, finish=FINISH, extent="i8", first_out="i4")

PLAIN_FROM = 300 * 2**20
"""From so many bytes of x on the L2 cache is not told to give them up first. One H200, 64 MiB: 17.8 us with the hint,
20.1 without; 256 MiB 68.4 and 69.2; 1 GiB 258 and 246."""

Fields = tuple[Any, ...]


def kept(dims: Sequence[Dim]) -> Fields:
    """Return a `gpubench::sum::Kept` of up to three dims, fastest first, to stand in a struct."""
    every = padded(dims, KEPT_DIMS)
    sizes = (divider(every[0].size), divider(every[1].size))
    return (len(dims), *sizes, [dim.x for dim in every], [dim.y for dim in every])


def common(shape: Merged, dims: Sequence[Dim]) -> Fields:
    """Return a `gpubench::sum::Sum` whose outputs lie along these kept dims, to stand in a struct."""
    (copies,) = padded(shape.copies, 1)
    finish = (shape.multiple, copies.size, copies.y)
    return (kept(dims), finish, shape.extent, shape.bytes < PLAIN_FROM)


def fits(*numbers: int) -> bool:
    """Say whether the numbers may be divided by multiplication, or divide so."""
    return all(1 <= number <= LIMIT for number in numbers)
