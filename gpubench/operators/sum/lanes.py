"""The host rule of reduce_sum/lanes.cu: a few lanes for each short row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import Struct
from gpubench.operators.sum import exchange, structs, tuning
from gpubench.operators.sum.merged import Merged
from gpubench.operators.sum.rows import is_ragged, vectors_of

SOURCE = "reduce_sum/lanes.cu"
THREADS = 256
LANES = 32
VECTORS = (1, 2, 4, 8)
"""Vectors of a row that a lane may take: the instances. A lane has 8 on their way."""


SHAPE = Struct(
    "gpubench::sum::LanesShape",
    SOURCE,
    kept=structs.KEPT,
    finish=structs.FINISH,
    extent="i8",
    rows="u4",
    **dict.fromkeys(("items", "width", "ragged", "first_out", "slots"), "i4"),
)


class Lanes:
    """Rows of up to 256 vectors."""

    name: str = "lanes"
    summary: str = "1 to 32 lanes a row, several rows on their way at once"
    origin: str = "as cumsum's lanes_rows; rows of up to 256 vectors of 16 bytes, up to 3 kept dims"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Refuses longer rows, and terms in several runs."""
        shape = exchange.along_terms(problem, 1)
        if isinstance(shape, Refused):
            return shape
        vectors = vectors_of(shape)
        if vectors > LANES * VECTORS[-1]:
            return Refused("a row is longer than what a warp holds")
        return build(problem, shape, *tuning.lanes(vectors, shape.outputs, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance for each number of vectors that a lane takes of a row."""
        return tuple((SOURCE, kernel(dtype, vectors)) for vectors in VECTORS)


def kernel(dtype: str, vectors: int) -> str:
    """Return the name expression for lanes that take so many vectors of a row."""
    return exchange.instance("lanes", dtype, vectors, exchange.LOADS // vectors)


def build(problem: Problem[Any], shape: Merged, width: int, vectors: int, slots: int) -> Plan | Refused:
    """Return the plan with `width` lanes a row, each with up to `vectors` of its vectors, and `slots` rows a group."""
    items = shape.terms
    rows = THREADS // width * slots
    if not structs.fits(shape.outputs + rows, *(dim.size for dim in shape.kept)):
        return Refused("more rows than the kernel counts")
    packed = SHAPE.value(
        kept=structs.kept(shape.kept),
        finish=structs.finish(shape),
        extent=shape.extent,
        rows=shape.outputs,
        items=items,
        width=width,
        ragged=is_ragged(shape),
        first_out=shape.bytes < exchange.PLAIN_FROM,
        slots=slots,
    )
    launch = Launch(
        SOURCE,
        kernel(problem.case.dtype, vectors),
        (ceil_div(shape.outputs, rows), 1, 1),
        (THREADS, 1, 1),
        (Pointer("x"), Pointer("y"), packed),
    )
    bound = exchange.accuracy(problem.case.dtype, 1, 3 + shape.vector.bit_length() + 5)
    return Plan("lanes", (launch,), bound, notes={"width": width, "vectors": vectors, "slots": slots})
