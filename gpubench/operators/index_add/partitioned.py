"""The host rule of index_add/partitioned.cu: elements in the order of the destination's parts, then atomics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import cached, sort
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, fits, form_of
from gpubench.operators.index_add.grouped import sum_bytes
from gpubench.operators.structs import Struct, divider, unsigned

SOURCE = "index_add/partitioned.cu"
BLOCKS_PER_SM = 3
MOST_BYTES = 4
"""Of an element: what stands beside an index in a word of 64 bits."""

SHAPE = Struct(
    "gpubench::index_add::PartitionShape",
    SOURCE,
    places="i8",
    index_step="i8",
    count="u4",
    range="u4",
    **dict.fromkeys(("rounds", "shift", "bits", "unused"), "i4"),
)


class Partitioned:
    """Takes single elements of up to 32 bits."""

    name: str = "partitioned"
    summary: str = "elements brought into 1024 parts of the destination, then atomics that stay in the L2 cache"
    origin: str = (
        "radix partitioning as in database joins; single elements of up to 32 bits, destination without gaps; "
        "additions by atomics in the dtype, in any order"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Two launches. Refuses rows, elements of 64 bits and more, and more than 32-bit numbers count."""
        form = form_of(problem)
        if isinstance(form, Refused):
            return form
        return build(problem, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By index dtype and sizes of shared memory; none for wide elements."""
        if dtypes.dtype(dtype).itemsize > MOST_BYTES:
            return ()
        return tuple(
            (SOURCE, name)
            for index in ("int64", "int32")
            for name in (*(first(dtype, index, warps) for warps in sort.WARPS), second(dtype, index))
        )


def first(dtype: str, index: str, warps: int) -> str:
    """Return the name expression of the partition."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::partition_values<{types}, {warps}>"


def second(dtype: str, index: str) -> str:
    """Return the name expression of the additions."""
    return f"gpubench::index_add::add_partition<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def build(problem: Problem[Any], form: Form, device: DeviceInfo, least_range: int = sort.LEAST_RANGE) -> Plan | Refused:
    """Return the plan."""
    destination, index, _ = problem.operands
    if form.inner * form.outers > 1 or form.itemsize > MOST_BYTES or (form.places > 1 and form.place_step != 1):
        return Refused("not single elements of up to 32 bits, side by side in the destination")
    blocks = BLOCKS_PER_SM * device.sm_count
    if not fits(form.places, form.count + 2 * cached.TILE * blocks):
        return Refused(f"more than {LIMIT} indices or places")
    sorting = sort.sort_of(form.count, form.places, device, least_range)
    bits = min(sort.DIGIT_BITS, max(1, (form.places - 1).bit_length()))
    shift = max(0, (form.places - 1).bit_length() - bits)
    partition = Launch(
        SOURCE,
        first(destination.dtype, index.dtype, sorting.warps),
        (sorting.blocks, 1, 1),
        (32 * sorting.warps, 1, 1),
        (
            Pointer("source"),
            Pointer("index"),
            sorting.meetings,
            *sorting.tables,
            sorting.pairs,
            sorting.kept,
            SHAPE.value(form, sorting, shift=shift, bits=bits, unused=0),
        ),
        shared_bytes=sort.shared_bytes(sorting.warps),
        waits_for_blocks=True,
    )
    sums = sum_bytes(destination.dtype)
    table = cached.TABLE_BITS[sums]
    adding = Launch(
        SOURCE,
        second(destination.dtype, index.dtype),
        (min(blocks, ceil_div(form.count, cached.tile_of(destination.dtype))), 1, 1),
        (cached.THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            sorting.pairs,
            sorting.kept,
            sorting.meetings,
            unsigned(sorting.meeting_words, 4),
            cached.SHAPE.value(
                form, inner=divider(1), items=form.count, hash_shift=32 - table, alpha=problem.params.alpha
            ),
        ),
        shared_bytes=(sums + 4) << table,
    )
    notes = {"sort_blocks": sorting.blocks, "parts": 1 << bits, "table": 1 << table}
    return atomic_plan("partitioned", (partition, adding), problem, sorting.size, workspace_zeroed=True, notes=notes)
