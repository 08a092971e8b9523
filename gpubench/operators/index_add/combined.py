"""The host rule of index_add/combined.cu: atomics of 16 bytes, equal indices near each other added up before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, fits, form_of
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider

SOURCE = "index_add/combined.cu"
THREADS = 256
WARPS = THREADS // 32
KERNELS = {1: "add_flat", 4: "add_few", 32: "add_combined"}
"""By the rows of a thread, of a group of lanes, of a warp (8 and 16 too)."""

MOST_OUTERS = 65535

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
        "vector reductions as Triton's and PyTorch's newest scatter-add; additions by atomics in the dtype, in any "
        "order; one dim beside the rows and the indexed one"
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
            for rows in KERNELS
        )


def kernel(dtype: str, index: str, vector: int, rows: int) -> str:
    """Return the name expression for so many rows."""
    name = KERNELS.get(rows, KERNELS[32])
    return f"gpubench::index_add::{name}<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {vector}>"


def build(problem: Problem[Any], form: Form, rows: int) -> Plan | Refused:
    """Return the plan with so many rows of a thread (1), of a group of lanes (4), or of a warp."""
    if form.outers > 1 and form.inner == 1 and form.is_denser_across:
        form = form.across()
    vectors = form.inner // form.vector
    if rows == 1 and form.outers > MOST_OUTERS:
        rows = 4
    lanes = min(32, power_of_two(vectors))
    chunks = ceil_div(vectors, lanes)
    if rows == 1:
        threads = min(THREADS, max(32, power_of_two(ceil_div(form.count * vectors, 32))))
        units = form.count * vectors
        grid = (ceil_div(units, threads), form.outers, 1)
        chunks = vectors
    else:
        threads, few = THREADS, rows == 4
        tile = rows * (THREADS // lanes) if few else rows
        units = ceil_div(form.count, tile) * chunks * form.outers
        grid = (units if few else ceil_div(units, WARPS), 1, 1)
    if not fits(units + THREADS, vectors, form.outers, form.count + 32 * THREADS, form.places):
        return Refused(f"more than {LIMIT} indices, places or pieces of work")
    destination, index, _ = problem.operands
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, form.vector, rows),
        grid,
        (threads, 1, 1),
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
    return atomic_plan("combined", (launch,), problem, notes=notes)
