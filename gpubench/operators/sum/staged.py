"""The host rule of reduce_sum/staged.cu: tiles of short rows, or of short groups of columns, through shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.merged import Dim, Merged

SOURCE = "reduce_sum/staged.cu"
MOST_BYTES = 40 * 1024
"""Shared memory of a tile, under what a block has without asking."""


SHAPE = Struct(
    "gpubench::sum::StagedShape",
    SOURCE,
    sum=fast.SUM,
    neighbours=INTEGER_DIVIDER,
    terms="i4",
    tile="i4",
    width_bits="i4",
    outputs="u4",
)


class Staged(fast.Fast):
    """Flat arrays of small groups."""

    name: str = "staged"
    summary: str = "tiles of short rows or groups of columns by one bulk copy, summed out of shared memory"
    origin: str = "groups side by side of up to 40 KB; rows of any length and alignment"

    along = False

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses x with gaps, and large groups."""
        del device
        if not shape.reduced or not is_flat(shape):
            return Refused("x is no flat array of groups")
        neighbours, terms = group_of(shape)
        return build(problem, shape, *tuning.staged(terms, neighbours, shape))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a dtype."""
        return ((SOURCE, fast.instance("staged", dtype)),)


def is_flat(shape: Merged) -> bool:
    """Say whether x is groups of terms x neighbours, side by side and row by row."""
    if not shape.dims:
        return False
    distance = 1
    for dim in shape.dims:
        if dim.x != distance:
            return False
        distance *= dim.size
    return not shape.dims[0].kept or (len(shape.dims) > 1 and not shape.dims[1].kept)


def group_of(shape: Merged) -> tuple[int, int]:
    """Return (neighbours, terms) of a group."""
    first = shape.dims[0]
    return (first.size, shape.dims[1].size) if first.kept else (1, first.size)


def build(problem: Problem[Any], shape: Merged, tile: int, width: int, threads: int) -> Plan | Refused:
    """Return the plan with tiles of `tile` groups and `width` lanes an output."""
    neighbours, terms = group_of(shape)
    shared = ceil_div(tile * neighbours * terms * shape.itemsize, 16) * 16 + 16
    if shared > MOST_BYTES + 16:
        return Refused("a group is larger than a tile")
    if not fast.fits(shape.outputs + tile * neighbours, *(dim.size for dim in shape.kept)):
        return Refused("more outputs than the kernel counts")
    packed = SHAPE.value(
        sum=fast.common(shape, [Dim(dim.size, 0, dim.y) for dim in shape.kept]),
        neighbours=divider(neighbours),
        terms=terms,
        tile=tile,
        width_bits=width.bit_length() - 1,
        outputs=shape.outputs,
    )
    bound = fast.accuracy(problem.case.dtype, ceil_div(terms, 4 * width), 2 + 5)
    notes = {"tile": tile, "width": width, "threads": threads}
    name = fast.instance("staged", problem.case.dtype)
    grid = ceil_div(shape.outputs, tile * neighbours)
    return fast.one_launch((SOURCE, name), grid, threads, packed, bound, notes, shared)
