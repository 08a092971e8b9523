"""The host rule of index_add/cached.cu: elements by atomics, those that come again added up in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, fits, form_of
from gpubench.operators.index_add.grouped import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider

SOURCE = "index_add/cached.cu"
THREADS = 512
TILE = 4 * THREADS
"""Elements that a block takes at once; of integers of 8 and 16 bits a quarter."""

MOST_OUTERS = 65535
TABLE_BITS = {4: 12, 8: 12, 16: 11}
"""log2 of the table's places by the bytes of a sum: up to 48 KB a block."""

SHAPE = Struct(
    "gpubench::index_add::CachedShape",
    "index_add/table.cuh",
    inner=INTEGER_DIVIDER,
    items="u4",
    hash_shift="i4",
    **dict.fromkeys(("places", "index_step", "outer_place", "outer_index"), "i8"),
    alpha="f8",
)


class Cached:
    """Takes single elements and rows of neighbours."""

    name: str = "cached"
    summary: str = "elements by atomics; those that come again are added up in a block's table before"
    origin: str = (
        "aggregation in a shared table as in hash group-by (cuDF), here only where a sample of the block sees elements "
        "again; additions by atomics in the dtype, in any order; one dim beside the rows and the indexed one"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch. Refuses rows whose elements do not lie side by side, and more than 32-bit numbers count."""
        form = form_of(problem)
        if isinstance(form, Refused):
            return form
        return build(problem, form, tuning.cached_blocks(form, tile_of(problem.case.dtype), device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One an index dtype."""
        return tuple((SOURCE, kernel(dtype, index)) for index in ("int64", "int32"))


def kernel(dtype: str, index: str) -> str:
    """Return the name expression."""
    return f"gpubench::index_add::add_cached<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def tile_of(dtype: str) -> int:
    """Return the elements that a block takes at once."""
    row = dtypes.dtype(dtype)
    return THREADS if row.kind == "integer" and row.itemsize <= 2 else TILE


def build(problem: Problem[Any], form: Form, blocks: int) -> Plan | Refused:
    """Return the plan with so many blocks for each repetition."""
    items = form.count * form.inner
    if not fits(items + 2 * TILE * blocks, form.places * form.inner, form.count) or form.outers > MOST_OUTERS:
        return Refused(f"more than {LIMIT} elements, or {MOST_OUTERS} repetitions")
    if form.places > 1 and form.place_step != form.inner:
        return Refused("rows of the destination with gaps between them")
    destination, index, _ = problem.operands
    sums = sum_bytes(destination.dtype)
    bits = TABLE_BITS[sums]
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype),
        (min(blocks, ceil_div(items, tile_of(destination.dtype))), form.outers, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            SHAPE.value(
                form,
                inner=divider(form.inner),
                items=items,
                hash_shift=32 - bits,
                alpha=problem.params.alpha,
            ),
        ),
        shared_bytes=(sums + 4) << bits,
    )
    notes = {"blocks": blocks, "table": 1 << bits}
    return atomic_plan("cached", (launch,), problem, notes=notes)
