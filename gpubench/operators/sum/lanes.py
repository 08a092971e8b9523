"""The host rule of reduce_sum/lanes.cu: a few lanes for each short row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import Struct
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.merged import Dim, Merged
from gpubench.operators.sum.rows import is_ragged, vectors_of

SOURCE = "reduce_sum/lanes.cu"
VECTORS = (1, 2, 4, 8)
"""Vectors of a row that a lane may take: the instances. A lane has 8 on their way."""


SHAPE, LITTLE = (
    Struct(
        f"gpubench::sum::LanesShape<{common.cpp}>",
        SOURCE,
        rows="u4",
        **dict.fromkeys(("items", "width_bits", "ragged", "slots"), "i4"),
        sum=common,
    )
    for common in (fast.SUM, fast.PLAIN)
)


NEAR, NEAR_ROW = 8, 256
"""Outputs side by side in y that come first, of rows of fewer bytes that lie apart: 1000 x 16 x 2048 float32, permuted,
43 us (56 with all of y's neighbours first)."""


class Lanes(fast.Fast):
    """Rows of up to 256 vectors."""

    name: str = "lanes"
    summary: str = "1 to 32 lanes a row, several rows on their way at once"
    origin: str = "as cumsum's lanes_rows; rows of up to 256 vectors of 16 bytes, up to 3 kept dims"

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses longer rows."""
        vectors = vectors_of(shape)
        if vectors > 32 * VECTORS[-1]:
            return Refused("a row is longer than what a warp holds")
        return build(problem, shape, *tuning.lanes(vectors, shape, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By the vectors that a lane takes of a row, and by one row or several."""
        sizes = [(vectors, False) for vectors in VECTORS] + [(vectors, True) for vectors in VECTORS[:-1]]
        return tuple((SOURCE, kernel(dtype, *size)) for size in sizes)


def _by_outputs(shape: Merged) -> Sequence[Dim]:
    """Return the kept dims in the order in which y's neighbours come first: rows of a vector may be read in any order.

    Where shorter rows lie apart for them, only as many come first as are a sector of y.
    """
    row = shape.terms * shape.itemsize
    if row < 16 or len(shape.kept) < 2:
        return shape.kept
    first, *others = sorted(shape.kept, key=lambda dim: dim.y)
    if row >= NEAR_ROW or len(others) != 1 or shape.kept[0] is first or first.size % NEAR:
        return (first, *others)
    rest = Dim(first.size // NEAR, first.x * NEAR, first.y * NEAR)
    return (Dim(NEAR, first.x, first.y), *others, rest)


def kernel(dtype: str, vectors: int, little: bool) -> str:
    """Return the name expression for lanes that take so many vectors of a row."""
    return fast.instance("lanes", dtype, vectors, 0 if little else fast.LOADS // vectors)


def build(
    problem: Problem[Any], shape: Merged, width: int, vectors: int, slots: int, threads: int = 256
) -> Plan | Refused:
    """Return the plan with `width` lanes a row, each with up to `vectors` of its vectors, and `slots` rows a group.

    No slots: a group's only row, by the kernel for little.
    """
    items = shape.terms
    rows = threads // width * max(slots, 1)
    if not fast.fits(shape.outputs + rows, *(dim.size for dim in shape.kept)):
        return Refused("more rows than the kernel counts")
    if slots > fast.LOADS // vectors:
        return Refused(f"more rows of {vectors} vectors a lane than are on their way at once")
    packed = (SHAPE if slots else LITTLE).value(
        sum=(fast.common if slots else fast.plain)(shape, _by_outputs(shape)),
        rows=shape.outputs,
        items=items,
        width_bits=width.bit_length() - 1,
        ragged=is_ragged(shape),
        slots=slots,
    )
    bound = fast.accuracy(problem.case.dtype, 1, 3 + shape.vector.bit_length() + 5)
    notes = {"width": width, "vectors": vectors, "slots": slots, "threads": threads}
    name = kernel(problem.case.dtype, vectors, slots == 0)
    return fast.one_launch((SOURCE, name), ceil_div(shape.outputs, rows), threads, packed, bound, notes)
