"""The host rule of index_add/partitioned.cu: short rows in the order of the destination's slices, added up in each."""

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
from gpubench.operators.index_add import cached, cached_rows
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, unsigned

SOURCE = "index_add/partitioned.cu"
WARPS = 32
ITEMS = {1: 12, 2: 8, 4: 6}
"""Rows of a thread in a tile, by the words of 32 bits of one: what 64 registers and a block's shared memory hold."""

LEAST_RANGE = 4096
"""Indices that a block brings to the slices at least."""

MOST_SLICES = 4095
MOST_PLACES = 65535
"""Of a slice: 16 bits say where in it a pair belongs, one number is that of pads."""

ROW_BYTES = (4, 8, 16)
MOST_ELEMENTS = 8
"""Bytes of a row, which move as one access, and its elements at most; single elements may have fewer bytes."""

GRAIN = 4
GRAIN_RUN = 8
"""Entries of a sector of memory (indices of half of one, where rows stand apart from them), which runs of a tile are
padded to where they are of so many entries in the mean."""

PARTITION_FLOOR = 1
"""Whether each slice has room for its share of a list spread evenly, whatever the sample says: as much room again."""

SAMPLE_PIECE, SAMPLE_SPAN = 16, 512
"""Indices of a piece of the sample, and of the list that it stands for."""

NEAR = 64
"""Places over which 32 neighbours of a list reach at most that is not moved, but for an eighth of those looked at, in
mean distances of a sorted list's (of two places at least): twice as far as they would. A list of 64 sorted pieces, each
over all places, would bring the whole destination 64 times. On an H100 2^24 float32 in 8 pieces 412 us moved, 610 in
the order that it has."""

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
    **dict.fromkeys(("count", "range", "near", "room"), "u4"),
    **dict.fromkeys(("places", "index_step"), "i8"),
    alpha="f8",
)


class Partitioned(OfForm):
    """Takes single elements, and rows of 4, 8 and 16 bytes."""

    name: str = "partitioned"
    summary: str = "rows brought to slices of the destination, each added up in a block's shared memory"
    origin: str = (
        "radix partitioning as in database joins, by `cached` where a sample sees many places again; single elements "
        "and rows of up to 16 bytes, destination without gaps; additions by atomics in the dtype, in any order"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Three launches. Refuses longer rows and gaps, more than 32-bit numbers count, small devices."""
        plan = build(problem, form, device)
        if isinstance(plan, Plan) and max(launch.shared_bytes for launch in plan.launches) > device.max_shared_bytes:
            return Refused("the rows of a block are more than the device's shared memory")
        return plan

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Two an index dtype and length of rows, and one an index dtype for lists that are left."""
        itemsize = dtypes.dtype(dtype).itemsize
        rows = (Row.of(dtype, inner) for inner in (1, *(size // itemsize for size in ROW_BYTES if size > itemsize)))
        made = [
            (SOURCE, name)
            for row in rows
            if row
            for name in (*map(row.first, INDEX_DTYPES), *map(row.second, INDEX_DTYPES))
        ]
        left = ((cached.SOURCE, cached.behind_kernel(dtype, index)) for index in INDEX_DTYPES)
        return (*made, *left, *cached_rows.instances(dtype, behind=True))


@dataclass(frozen=True, slots=True)
class Row:
    """A row as the kernels see it: elements of a real dtype, to which a complex number's parts belong."""

    part: str
    elements: int

    @classmethod
    def of(cls, dtype: str, inner: int) -> Row | None:
        """Return the row of so many elements of a dtype, if there is one."""
        whole = dtypes.dtype(dtype)
        row = cls(whole.part, inner * (whole.itemsize // dtypes.dtype(whole.part).itemsize))
        fits = inner == 1 or (row.bytes in ROW_BYTES and row.elements <= MOST_ELEMENTS)
        return row if fits and row.bytes <= ROW_BYTES[-1] else None

    @property
    def bytes(self) -> int:
        """Of the row, in source and destination."""
        return self.elements * dtypes.dtype(self.part).itemsize

    @property
    def words(self) -> int:
        """Words of 32 bits of an entry beside its index."""
        return ceil_div(self.bytes, 4)

    @property
    def sums(self) -> int:
        """Bytes of the row's sums."""
        return self.elements * sum_bytes(self.part)

    def first(self, index: str) -> str:
        """Return the name expression of the partition."""
        return f"gpubench::index_add::partition_values<{self._types(index)}, {WARPS}, {ITEMS[self.words]}>"

    def second(self, index: str) -> str:
        """Return the name expression of the additions."""
        return f"gpubench::index_add::add_slices<{self._types(index)}>"

    def _types(self, index: str) -> str:
        return f"{dtypes.dtype(self.part).cpp}, {self.elements}, {dtypes.dtype(index).cpp}"


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
    words: int
    least: int = 0

    @property
    def sampled(self) -> int:
        """Indices of the sample at most."""
        return self.blocks * ceil_div(self.range, SAMPLE_SPAN) * SAMPLE_PIECE

    @property
    def room(self) -> int:
        """Entries that all lists have room for at most: by the sample, six deviations more, and pads; or the least."""
        deviations = math.ceil(6 * math.sqrt(self.slices * self.sampled))
        share = SAMPLE_SPAN // SAMPLE_PIECE
        room = share * (self.sampled + deviations + 9 * self.slices) + max(self.pads, self.least) * self.slices
        return ceil_div(room, 8) * 8  # the indices of longer rows stand behind these, on whole sectors

    @property
    def pads(self) -> int:
        """Entries that pad the runs of a slice at most."""
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
        """Where meetings, what is known of the slices, entries, units and what is kept begin, and the end."""
        sizes = (24 * self.blocks, 16 * self.slices, self.entry * self.room, 12 * self.units, 16)
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + ceil_div(size, 256) * 256)
        return tuple(starts)

    @property
    def entry(self) -> int:
        """Bytes of an entry: an index, and the row's words."""
        return 4 + 4 * self.words

    @property
    def shared_bytes(self) -> int:
        """Of a block that brings entries to the slices."""
        tables = self.slices + 1
        staged = 32 * WARPS * ITEMS[self.words] + (self.grain - 1) * tables
        return self.entry * staged + 10 * tables + 4 * WARPS


def cut_of(form: Form, row: Row, device: DeviceInfo, least_range: int) -> Cut | Refused:
    """Cut the destination into slices that fit a block, as many for each SM, and the list into ranges and tiles."""
    sums = row.sums
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
    step = ceil_div(ceil_div(each, ceil_div(each, threads * ITEMS[row.words])), threads) * threads
    grain = GRAIN if step >= GRAIN_RUN * slices else 1
    cut = Cut(form.count, size, slices, ceil_div(form.count, each), each, most, step, grain, row.words)
    if cut.room > LIMIT:
        return Refused("more entries than 32-bit numbers count")
    return cut.with_least() if tuned("PARTITION_FLOOR", PARTITION_FLOOR) else cut


def build(problem: Problem[Any], form: Form, device: DeviceInfo, least_range: int = LEAST_RANGE) -> Plan | Refused:
    """Return the plan."""
    destination, index, source = problem.operands
    row = Row.of(destination.dtype, form.inner)
    if row is None or form.outers > 1 or not form.is_dense:
        return Refused("not single elements, or rows of 4, 8 or 16 bytes, side by side in the destination")
    if any(step % form.inner for step in (form.index_step, destination.view.offset, source.view.offset)):
        return Refused("rows do not stand on their size")
    if not fits(form.places, form.count + 2**25):
        return Refused(f"more than {LIMIT} indices or places")
    sums, parts = row.sums, row.elements // form.inner
    cut = cut_of(form, row, device, least_range)
    if isinstance(cut, Refused):
        return cut
    meetings, table, entries, units, kept, size = map(Workspace, cut.starts)
    parting = (divider(cut.slice), cut.slices, cut.most, cut.step, cut.grain, cut.least)
    near = min(NEAR * max(ceil_div(form.places, form.count), 2), LIMIT)
    step = parts * form.index_step
    shape = SHAPE.value(form, cut, slices=parting, near=near, index_step=step, alpha=problem.params.alpha)
    operands = Pointer("source"), Pointer("index")
    partition = Launch(
        SOURCE,
        row.first(index.dtype),
        (cut.blocks, 1, 1),
        (32 * WARPS, 1, 1),
        (Pointer("destination"), *operands, meetings, table, entries, units, kept, shape),
        shared_bytes=cut.shared_bytes,
        waits_for_blocks=True,
    )
    resident = device.sm_count * max(1, device.max_shared_bytes // (cut.slice * sums + 1024))
    adding = Launch(
        SOURCE,
        row.second(index.dtype),
        (min(resident, cut.units), 1, 1),
        (1024 if cut.slice * sums > 113 * 1024 else 512, 1, 1),
        (Pointer("destination"), *operands, table, entries, units, kept, meetings, unsigned(3 * cut.blocks, 4), shape),
        shared_bytes=cut.slice * sums,
    )
    notes = {"slices": cut.slices, "slice": cut.slice, "blocks": cut.blocks, "most": cut.most, "grain": cut.grain}
    repeated = cached.behind(problem, form, device, kept)
    if isinstance(repeated, Refused):
        return repeated
    steps = partition, adding, repeated
    return atomic_plan("partitioned", steps, problem, size.byte_offset, workspace_zeroed=True, notes=notes)
