"""The host rule of index_add/partitioned.cu: elements in the order of the destination's slices, added up in each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, unsigned

SOURCE = "index_add/partitioned.cu"
WARPS = 32
ITEMS = 12
LEAST_RANGE = 4096
"""Indices that a block brings to the slices at least."""

MOST_SLICES = 4095
MOST_PLACES = 65535
"""Of a slice: 16 bits say where in it a pair belongs, one number is that of pads."""

MOST_BYTES = 4
"""Of an element: what stands beside an index in a word of 64 bits."""

GRAIN = 4
GRAIN_RUN = 8
"""Pairs of a sector of memory, which runs of a tile are padded to where they are of so many pairs in the mean."""

PARTITION_FLOOR = 1
"""Whether each slice has room for its share of a list spread evenly, whatever the sample says: a list's pairs more."""

SAMPLE_PIECE, SAMPLE_SPAN = 16, 512
"""Indices of a piece of the sample, and of the list that it stands for."""

NEAR = 128
"""Places over which 32 neighbours of a list reach at most that is not moved, but for an eighth of those looked at, in
mean distances of a sorted list's (of two places at least): four times as far as they would. A list of 64 sorted pieces,
each over all places, would bring the whole destination 64 times. On an H100 2^24 float32 in 8 pieces 412 us (614)."""

PARTING = Struct(
    "gpubench::Parting",
    "gpubench/grid/partition.cuh",
    size=INTEGER_DIVIDER,
    parts="i4",
    **dict.fromkeys(("most", "step", "grain", "least"), "u4"),
)
SHAPE = Struct(
    "gpubench::index_add::PartitionShape",
    SOURCE,
    slices=PARTING,
    **dict.fromkeys(("count", "range", "near", "unused"), "u4"),
    **dict.fromkeys(("places", "index_step"), "i8"),
    alpha="f8",
)


class Partitioned(OfForm):
    """Takes single elements of up to 32 bits."""

    name: str = "partitioned"
    summary: str = "elements brought to slices of the destination, each added up in a block's shared memory"
    origin: str = (
        "radix partitioning as in database joins; single elements of up to 32 bits, destination without gaps; "
        "additions by atomics in the dtype, in any order"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Two launches. Refuses rows, elements of 64 bits and more, more than 32-bit numbers count, small devices."""
        plan = build(problem, form, device)
        if isinstance(plan, Plan) and max(launch.shared_bytes for launch in plan.launches) > device.max_shared_bytes:
            return Refused("the pairs of a block are more than the device's shared memory")
        return plan

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Two an index dtype; none for wide elements."""
        if dtypes.dtype(dtype).itemsize > MOST_BYTES:
            return ()
        return tuple(
            (SOURCE, name) for index in ("int64", "int32") for name in (first(dtype, index), second(dtype, index))
        )


def first(dtype: str, index: str) -> str:
    """Return the name expression of the partition."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::partition_values<{types}, {WARPS}, {ITEMS}>"


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
    step: int
    grain: int
    least: int = 0

    @property
    def sampled(self) -> int:
        """Indices of the sample at most."""
        return self.blocks * ceil_div(self.range, SAMPLE_SPAN) * SAMPLE_PIECE

    @property
    def room(self) -> int:
        """Pairs that all lists have room for at most: by the sample, six deviations more, and pads; or the least."""
        deviations = math.ceil(6 * math.sqrt(self.slices * self.sampled))
        share = SAMPLE_SPAN // SAMPLE_PIECE
        return share * (self.sampled + deviations + 9 * self.slices) + max(self.pads, self.least) * self.slices

    @property
    def pads(self) -> int:
        """Pairs that pad the runs of a slice at most."""
        tiles = ceil_div(self.range, self.step) * self.blocks
        return ceil_div(tiles * (self.grain - 1), self.grain) * self.grain

    def with_least(self) -> Cut:
        """Return the same with room for each slice's share of a list spread evenly, where 32-bit numbers count all."""
        mean = ceil_div(self.count, self.slices)
        least = mean + math.ceil(6 * math.sqrt(mean)) + self.pads
        cut = dataclasses.replace(self, least=ceil_div(least, SAMPLE_SPAN) * SAMPLE_SPAN)
        return cut if cut.room <= LIMIT else self

    @property
    def units(self) -> int:
        """Units of work at most."""
        return self.slices + SAMPLE_SPAN // SAMPLE_PIECE * self.sampled // self.most

    @property
    def starts(self) -> tuple[int, ...]:
        """Where meetings, what is known of the slices, pairs, units and what is kept begin, and the end."""
        sizes = (24 * self.blocks, 16 * self.slices, 8 * self.room, 12 * self.units, 8)
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + ceil_div(size, 256) * 256)
        return tuple(starts)

    @property
    def shared_bytes(self) -> int:
        """Of a block that brings pairs to the slices."""
        tables = self.slices + 1
        return 8 * (32 * WARPS * ITEMS + (self.grain - 1) * tables) + 10 * tables + 4 * WARPS


def cut_of(form: Form, sums: int, device: DeviceInfo, least_range: int) -> Cut | Refused:
    """Cut the destination into slices that fit a block, as many for each SM, and the list into ranges and tiles."""
    room = min((device.max_shared_bytes - 1024) // sums, MOST_PLACES)
    resident = device.sm_count * max(1, device.max_shared_bytes // (room * sums + 1024))
    slices = ceil_div(form.places, room)
    if slices > resident:
        slices = ceil_div(slices, resident) * resident
    size = ceil_div(form.places, slices)
    slices = ceil_div(form.places, size)
    if slices > MOST_SLICES:
        return Refused(f"more than {MOST_SLICES} slices that fit shared memory")
    blocks = min(device.sm_count, ceil_div(form.count, least_range))
    each = ceil_div(form.count, blocks)
    most = min(max(1024, 3 * ceil_div(form.count, slices)), LIMIT)
    threads = 32 * WARPS
    step = ceil_div(ceil_div(each, ceil_div(each, threads * ITEMS)), threads) * threads
    grain = GRAIN if step >= GRAIN_RUN * slices else 1
    cut = Cut(form.count, size, slices, ceil_div(form.count, each), each, most, step, grain)
    if cut.room > LIMIT:
        return Refused("more pairs than 32-bit numbers count")
    return cut.with_least() if tuned("PARTITION_FLOOR", PARTITION_FLOOR) else cut


def build(problem: Problem[Any], form: Form, device: DeviceInfo, least_range: int = LEAST_RANGE) -> Plan | Refused:
    """Return the plan."""
    destination, index, _ = problem.operands
    if form.inner * form.outers > 1 or form.itemsize > MOST_BYTES or (form.places > 1 and form.place_step != 1):
        return Refused("not single elements of up to 32 bits, side by side in the destination")
    if not fits(form.places, form.count + 2**25):
        return Refused(f"more than {LIMIT} indices or places")
    sums = sum_bytes(destination.dtype)
    cut = cut_of(form, sums, device, least_range)
    if isinstance(cut, Refused):
        return cut
    meetings, table, pairs, units, kept, size = map(Workspace, cut.starts)
    parting = (divider(cut.slice), cut.slices, cut.most, cut.step, cut.grain, cut.least)
    near = min(NEAR * max(ceil_div(form.places, form.count), 2), LIMIT)
    shape = SHAPE.value(form, cut, slices=parting, near=near, unused=0, alpha=problem.params.alpha)
    operands = Pointer("source"), Pointer("index")
    partition = Launch(
        SOURCE,
        first(destination.dtype, index.dtype),
        (cut.blocks, 1, 1),
        (32 * WARPS, 1, 1),
        (Pointer("destination"), *operands, meetings, table, pairs, units, kept, shape),
        shared_bytes=cut.shared_bytes,
        waits_for_blocks=True,
    )
    resident = device.sm_count * max(1, device.max_shared_bytes // (cut.slice * sums + 1024))
    adding = Launch(
        SOURCE,
        second(destination.dtype, index.dtype),
        (min(resident, cut.units), 1, 1),
        (1024 if cut.slice * sums > 113 * 1024 else 512, 1, 1),
        (Pointer("destination"), *operands, table, pairs, units, kept, meetings, unsigned(3 * cut.blocks, 4), shape),
        shared_bytes=cut.slice * sums,
    )
    notes = {"slices": cut.slices, "slice": cut.slice, "blocks": cut.blocks, "most": cut.most, "grain": cut.grain}
    steps = partition, adding
    return atomic_plan("partitioned", steps, problem, size.byte_offset, workspace_zeroed=True, notes=notes)
