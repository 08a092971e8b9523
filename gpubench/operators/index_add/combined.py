"""The host rule of index_add/combined.cu: atomics of 16 bytes, equal indices near each other added up before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_accuracy
from gpubench.operators.index_add.form import LIMIT, Form, ceil, fits, form_of, power_of_two
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider

SOURCE = "index_add/combined.cu"
THREADS = 256
WARPS = THREADS // 32
FEW_ROWS = (1, 4)
"""Rows of a group of lanes that is by itself."""


SHAPE = Struct(
    "gpubench::index_add::CombinedShape",
    SOURCE,
    chunks=INTEGER_DIVIDER,
    outers=INTEGER_DIVIDER,
    lanes="i4",
    rows="i4",
    vectors="u4",
    count="u4",
    places="i8",
    **dict.fromkeys(("place_step", "index_step", "outer_place", "outer_index", "item_place", "item_index"), "i8"),
    alpha="f8",
)


class Combined:
    """Takes rows of neighbours, and single elements."""

    name: str = "combined"
    summary: str = "equal indices of a warp added up in registers, then atomics of 16 bytes; one launch"
    origin: str = (
        "vector reductions as Triton's and PyTorch's newest scatter-add; additions by atomics in the dtype, in any order; "
        "one dim beside the rows and the indexed one"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch. Refuses rows whose elements do not lie side by side, and more than 32-bit numbers count."""
        form = form_of(problem)
        if isinstance(form, Refused):
            return form
        return build(problem, form, tuning.warp_rows(form, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By form of the work, index dtype, and vectors of 16 bytes or elements."""
        widths = sorted({16 // dtypes.dtype(dtype).itemsize, 1})
        return tuple(
            (SOURCE, kernel(dtype, index, width, rows))
            for index in ("int64", "int32")
            for width in widths
            for rows in (*FEW_ROWS, 32)
        )


def kernel(dtype: str, index: str, vector: int, rows: int) -> str:
    """Return the name expression for so many rows of a group, or a warp."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {vector}"
    return (
        f"gpubench::index_add::add_few<{types}, {rows}>"
        if rows in FEW_ROWS
        else f"gpubench::index_add::add_combined<{types}>"
    )


def build(problem: Problem[Any], form: Form, rows: int) -> Plan | Refused:
    """Return the plan with so many rows of a group of lanes by itself (`FEW_ROWS`), or of a warp."""
    if (
        form.inner == 1
        and form.outers > 1
        and min(form.outer_place, form.outer_index) < min(form.place_step, form.index_step)
    ):
        form = form.across()
    vectors = form.inner // form.vector
    lanes = min(32, power_of_two(vectors))
    chunks = ceil(vectors, lanes)
    few = rows in FEW_ROWS
    tile = rows * (THREADS // lanes) if few else rows
    units = ceil(form.count, tile) * chunks * form.outers
    blocks = units if few else ceil(units, WARPS)
    if not fits(units + WARPS, chunks, form.outers, form.count + tile * WARPS, form.places):
        return Refused(f"more than {LIMIT} indices, places or pieces of work")
    destination, index, _ = problem.operands
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, form.vector, rows),
        (blocks, 1, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            SHAPE.value(
                form,
                chunks=divider(chunks),
                outers=divider(form.outers),
                lanes=lanes,
                rows=rows,
                vectors=vectors,
                alpha=problem.params.alpha,
            ),
        ),
    )
    notes = {"rows": rows, "lanes": lanes, "vector": form.vector}
    return Plan("combined", (launch,), atomic_accuracy(problem), notes=notes)
