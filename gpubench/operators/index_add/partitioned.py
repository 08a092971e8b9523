"""The host rule of index_add/partitioned.cu: elements in the order of the destination's parts, then atomics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, unsigned

SOURCE = "index_add/partitioned.cu"
WARPS = 32
ITEMS = 12
SLICE_BYTES = 2**20
MOST_SLICES = 4096
MOST_BYTES = 4
"""Of an element: what stands beside an index in a word of 64 bits."""

PARTING = Struct("gpubench::Parting", "gpubench/grid/partition.cuh", size=INTEGER_DIVIDER, parts="i4", most="u4")
SHAPE = Struct(
    "gpubench::index_add::PartitionShape",
    SOURCE,
    slices=PARTING,
    **dict.fromkeys(("count", "range"), "u4"),
    unused="i4",
    **dict.fromkeys(("places", "index_step"), "i8"),
    alpha="f8",
)


class Partitioned(OfForm):
    """Takes single elements of up to 32 bits."""

    name: str = "partitioned"
    summary: str = "elements brought into 1024 parts of the destination, then atomics that stay in the L2 cache"
    origin: str = (
        "radix partitioning as in database joins; single elements of up to 32 bits, destination without gaps; "
        "additions by atomics in the dtype, in any order"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Two launches. Refuses rows, elements of 64 bits and more, and more than 32-bit numbers count."""
        return build(problem, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By index dtype and sizes of shared memory; none for wide elements."""
        if dtypes.dtype(dtype).itemsize > MOST_BYTES:
            return ()
        return tuple(
            (SOURCE, name)
            for index in ("int64", "int32")
            for name in (first(dtype, index, WARPS), second(dtype, index))
        )


def first(dtype: str, index: str, warps: int, items: int = ITEMS) -> str:
    """Return the name expression of the partition."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::partition_values<{types}, {warps}, {items}>"


def second(dtype: str, index: str) -> str:
    """Return the name expression of the additions."""
    return f"gpubench::index_add::add_slices<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


@dataclass(frozen=True, slots=True)
class Cut:
    """How the list and the destination are cut, and where the arrays stand in the workspace."""

    count: int
    slice: int
    slices: int
    blocks: int
    range: int
    most: int

    @property
    def units(self) -> int:
        """Units of work at most."""
        return self.slices + self.count // self.most

    @property
    def starts(self) -> tuple[int, ...]:
        """Where meetings, totals, cursors, pairs, units and what is kept begin, and the end."""
        sizes = (16 * self.blocks, 4 * self.slices, 32 * self.slices, 8 * self.count, 16 * self.units, 8)
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + ceil_div(size, 256) * 256)
        return tuple(starts)


def cut_of(
    form: Form,
    sums: int,
    device: DeviceInfo,
    warps: int = WARPS,
    slice_bytes: int = SLICE_BYTES,
    least_range: int = 4096,
) -> Cut | Refused:
    """Cut the destination into slices that fit a block, as many for each SM, and the list into ranges."""
    most = min(slice_bytes, device.max_shared_bytes - 1024) // sums
    resident = device.sm_count * max(1, (device.max_shared_bytes) // (most * sums + 1024))
    slices = ceil_div(form.places, most)
    if slices > resident:
        slices = ceil_div(slices, resident) * resident
    size = ceil_div(form.places, slices)
    slices = ceil_div(form.places, size)
    if slices > MOST_SLICES:
        return Refused(f"more than {MOST_SLICES} slices that fit shared memory")
    blocks = min(32 // warps * device.sm_count, ceil_div(form.count, least_range))
    each = ceil_div(form.count, blocks)
    return Cut(form.count, size, slices, ceil_div(form.count, each), each, max(1024, 3 * ceil_div(form.count, slices)))


def build(
    problem: Problem[Any],
    form: Form,
    device: DeviceInfo,
    warps: int = WARPS,
    items: int = ITEMS,
    slice_bytes: int = SLICE_BYTES,
    least_range: int = 4096,
) -> Plan | Refused:
    """Return the plan."""
    destination, index, _ = problem.operands
    if form.inner * form.outers > 1 or form.itemsize > MOST_BYTES or (form.places > 1 and form.place_step != 1):
        return Refused("not single elements of up to 32 bits, side by side in the destination")
    if not fits(form.places, form.count + 2**25):
        return Refused(f"more than {LIMIT} indices or places")
    sums = sum_bytes(destination.dtype)
    cut = cut_of(form, sums, device, warps, slice_bytes, least_range)
    if isinstance(cut, Refused):
        return cut
    meetings, totals, cursors, pairs, units, kept, size = map(Workspace, cut.starts)
    parting = (divider(cut.slice), cut.slices, cut.most)
    shape = SHAPE.value(form, cut, slices=parting, unused=0, alpha=problem.params.alpha)
    partition = Launch(
        SOURCE,
        first(destination.dtype, index.dtype, warps, items),
        (cut.blocks, 1, 1),
        (32 * warps, 1, 1),
        (Pointer("source"), Pointer("index"), meetings, totals, cursors, pairs, units, kept, shape),
        shared_bytes=32 * warps * items * 8 + 8 * cut.slices + 4 * warps,
        waits_for_blocks=True,
    )
    threads = 1024 if cut.slice * sums > 113 * 1024 else 512
    adding = Launch(
        SOURCE,
        second(destination.dtype, index.dtype),
        (min(device.sm_count * max(1, device.max_shared_bytes // (cut.slice * sums + 1024)), cut.units), 1, 1),
        (threads, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            pairs,
            units,
            kept,
            meetings,
            unsigned(2 * cut.blocks, 4),
            shape,
        ),
        shared_bytes=cut.slice * sums,
    )
    notes = {"slices": cut.slices, "slice": cut.slice, "blocks": cut.blocks, "most": cut.most}
    return atomic_plan(
        "partitioned", (partition, adding), problem, size.byte_offset, workspace_zeroed=True, notes=notes
    )
