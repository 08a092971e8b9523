"""The host rule of index_add/shared_sums.cu: elements by atomics, those that come again added up in shared memory.

Short rows that are whole vectors go through a table of rows: `cached_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import cached_rows, regimes, tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, MOST_OUTERS, Form, OfForm, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, int64

SOURCE = "index_add/shared_sums.cu"
THREADS = 512
AT_ONCE = 2 * THREADS
"""Elements that a block takes at once; of integers of 8 and 16 bits half as many."""

TILE = 2 * AT_ONCE
"""Elements that blocks take whole numbers of; of integers of 8 and 16 bits those that they take at once."""

TABLE_BITS = {4: 12, 8: 12, 16: 11}
"""log2 of the table's places by the bytes of a sum, at most: up to 48 KB a block."""

SHAPE = Struct(
    "gpubench::index_add::CachedShape",
    "index_add/table.cuh",
    inner=INTEGER_DIVIDER,
    **dict.fromkeys(("items", "range", "asked"), "u4"),
    hash_shift="i4",
    **dict.fromkeys(("places", "place_step", "index_step", "outer_place", "outer_index"), "i8"),
    alpha="f8",
)


class Cached(OfForm):
    """Takes single elements and rows of neighbours."""

    name: str = "cached"
    summary: str = "elements, or short rows, by atomics; those that come again are added up in a block's table before"
    origin: str = (
        "aggregation in a shared table as in hash group-by (cuDF), of elements only where the block's first ones come "
        "again; additions by atomics in the dtype, in any order; one dim beside the rows and the indexed one"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Return the plan of a table of rows, or of elements, by way of totals in two launches.

        Refuses more than 32-bit numbers count.
        """
        by_rows = cached_rows.build(problem, form, device)
        if isinstance(by_rows, Plan):
            return by_rows
        dtype = problem.case.dtype
        totals = regimes.has_totals(form, dtype)
        blocks, tile = cut_of(form, "int32" if totals else dtype, device)
        asks = regimes.asks_for_places(form, form.itemsize + 4 * totals, tile, device)
        return build(problem, form, blocks, tile=tile, totals=totals, asks=asks)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One an index dtype."""
        made = [(SOURCE, kernel(dtype, index)) for index in INDEX_DTYPES]
        if dtype in tuning.SMALL:
            made += [(SOURCE, kernel(dtype, index, "int32")) for index in INDEX_DTYPES]
            made.append((SOURCE, totals_kernel(dtype)))
        return (*made, *cached_rows.instances(dtype))


def kernel(dtype: str, index: str, target: str | None = None) -> str:
    """Return the name expression; target: the dtype of what is added to, where it is not the same."""
    types = ", ".join(dtypes.dtype(name).cpp for name in (dtype, index, target or dtype))
    return f"gpubench::index_add::add_cached<{types}>"


def totals_kernel(dtype: str) -> str:
    """Return the name expression of what adds totals to the destination."""
    return f"gpubench::index_add::add_totals<{dtypes.dtype(dtype).cpp}>"


def behind(problem: Problem[Any], form: Form, device: DeviceInfo, way: Workspace) -> Launch | Refused:
    """Return the launch for a list that `partitioned` leaves, as the word at `way` says."""
    dtype = problem.case.dtype
    by_rows = cached_rows.behind(problem, form, device, way)
    if isinstance(by_rows, Launch):
        return by_rows
    blocks, tile = cut_of(form, dtype, device)
    plan = build(problem, form, blocks, tile=tile)
    if isinstance(plan, Refused):
        return plan
    name = behind_kernel(dtype, problem.operand("index").dtype)
    *pointers, _, shape = plan.launches[0].arguments
    return replace(plan.launches[0], kernel=name, arguments=(way, *pointers, shape))


def behind_kernel(dtype: str, index: str) -> str:
    """Return its name expression."""
    return f"gpubench::index_add::add_cached_if<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def tile_of(dtype: str) -> int:
    """Return the elements that blocks take whole numbers of."""
    row = dtypes.dtype(dtype)
    return THREADS if row.kind == "integer" and row.itemsize <= 2 else TILE


def cut_of(form: Form, dtype: str, device: DeviceInfo) -> tuple[int, int]:
    """Return the most blocks of a repetition, and a tile: as blocks take at once, where there are fewer than SMs else.

    134130 float32, each of 3048 places 44 times, 9.2 us with 66 blocks, 7.7 with 131; 31 random lists 1.07 times as
    fast, but 400000 float64 by 1 / rank in 392 blocks, not 196, 0.93.
    """
    tile = tile_of(dtype)
    if ceil_div(form.count * form.inner, tile) * form.outers <= device.sm_count:
        tile = min(tile, AT_ONCE)
    return regimes.cached_blocks(form, tile, device), tile


def table_bits(each: int, sums: int) -> int:
    """Return log2 of a table's places: a quarter where a block takes all its elements at once, to be sooner cleared.

    each: elements of a block; sums: bytes of one. 31 lists of blocks that do 1.10 times as fast (with whole tables
    1.07); of those that take them twice, with half a table, by 1 / rank 1.03, but 1255455 int16 in 12238 places 0.85.
    """
    return TABLE_BITS[sums] - (2 if each <= AT_ONCE else 0)


def build(
    problem: Problem[Any],
    form: Form,
    blocks: int,
    *,
    tile: int | None = None,
    totals: bool = False,
    asks: bool = False,
) -> Plan | Refused:
    """Return the plan with so many blocks for each repetition.

    tile: elements that a block takes a whole number of; totals: of 32 bits, in the workspace; asks: for all places
    before the list is there.
    """
    items, elements = form.count * form.inner, form.places * form.inner
    reach = form.places * max(form.place_step, form.inner)
    if not fits(items + 2 * TILE * blocks, reach, form.count) or form.outers > MOST_OUTERS:
        return Refused(f"more than {LIMIT} elements, or {MOST_OUTERS} repetitions")
    if totals and not form.is_dense:
        return Refused("totals of rows with gaps between them")
    destination, index, _ = problem.operands
    target = "int32" if totals else destination.dtype
    sums = sum_bytes(destination.dtype)
    apart = ceil_div(elements, 4) * 4
    tile = tile or tile_of(target)
    each = ceil_div(ceil_div(items, tile), blocks) * tile
    bits = table_bits(each, sums)
    shape = SHAPE.value(
        form,
        inner=divider(form.inner),
        items=items,
        asked=elements if asks else 0,
        range=each,
        hash_shift=32 - bits,
        alpha=problem.params.alpha,
        outer_place=apart if totals else form.outer_place,
    )
    place = Pointer("destination")
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, target),
        (ceil_div(items, each), form.outers, 1),
        (THREADS, 1, 1),
        (Workspace(0) if totals else place, Pointer("source"), Pointer("index"), place, shape),
        shared_bytes=(sums + 4) << bits,
    )
    notes = {"blocks": blocks, "table": 1 << bits, "totals": totals, "asks": asks}
    if not totals:
        return atomic_plan("cached", (launch,), problem, notes=notes)
    adding = Launch(
        SOURCE,
        totals_kernel(destination.dtype),
        (ceil_div(elements, 1024), form.outers, 1),
        (256, 1, 1),
        (place, Workspace(0), int64(elements), int64(apart), int64(form.outer_place)),
    )
    size = 4 * apart * form.outers
    return atomic_plan("cached", (launch, adding), problem, size, workspace_zeroed=True, notes=notes)
