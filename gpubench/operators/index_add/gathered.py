"""The host rule of index_add/gathered.cu: the last dim, its rows in shared memory, and each place gathers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import sort
from gpubench.operators.index_add.accuracy import grouped_accuracy
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import Struct

SOURCE = "index_add/gathered.cu"
STEP_PAIRS = 128
"""Pairs that a warp takes at once, four neighbouring ones a lane; their places and sums stand in shared memory."""

STEPS_THREADS = 256
MOST_SHORT = 2**16
"""Indices and places up to which a step holds positions and rows of 16 bits: 4096 x 65536 1356 us (1373 with 32)."""

LANE_NUMBERS = 8
"""Of a lane's part of a step: four positions, four rows; besides a word of 32 bits."""

RESERVED = 2048
"""Bytes of a block's shared memory that no row is kept in."""

SHAPE = Struct(
    "gpubench::index_add::GatheredShape",
    SOURCE,
    **dict.fromkeys(("outer_place", "outer_index"), "i8"),
    **dict.fromkeys(("place_step", "index_step", "places", "count", "resident"), "u4"),
    **dict.fromkeys(("parts", "units"), "i4"),
    words="u4",
    alpha="f8",
)


class Gathered(OfForm):
    """Takes single elements, one list for many repetitions."""

    name: str = "gathered"
    summary: str = "the list sorted once; a repetition's source in shared memory, from which each place gathers"
    origin: str = (
        "segmented sums as in merge-based sparse products, own kernel; single elements along the indexed dim, one dim "
        "beside it; sums in the accumulator, no atomics, bitwise repeatable"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Two launches. Refuses rows of more than one element, and more than 32-bit numbers count."""
        return build(problem, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the sums and the sort."""
        kernels = (
            (SOURCE, name) for number in NUMBERS.values() for name in (kernel(dtype, number), steps_kernel(number))
        )
        return (*kernels, *sort.instances())


NUMBERS = {2: "gpubench::uint16", 4: "gpubench::uint32"}
"""What positions and rows of a step are, by their bytes."""


def kernel(dtype: str, number: str) -> str:
    """Return the name expression of the sums."""
    return f"gpubench::index_add::add_gathered<{dtypes.dtype(dtype).cpp}, {number}>"


def steps_kernel(number: str) -> str:
    """Return the name expression of what writes down the steps."""
    return f"gpubench::index_add::write_steps<{number}>"


@dataclass(frozen=True, slots=True)
class Cut:
    """Elements of a repetition in shared memory; a block's bytes and threads; blocks; those that share a repetition."""

    resident: int
    shared: int
    threads: int
    blocks: int
    parts: int


def cut_of(form: Form, sums: int, device: DeviceInfo) -> Cut:
    """Keep of a repetition what fits, and a zero; short ones have small blocks, several an SM."""
    row, staged = ceil_div(form.count * form.itemsize, 16) * 16 + 16, STEP_PAIRS * sums
    threads = 1024 if row > 104 * 1024 else 512 if row > 48 * 1024 else 256
    while threads > 256 and threads // 32 * staged > device.max_shared_bytes // 2:
        threads //= 2
    slots = threads // 32 * staged
    room = (device.max_shared_bytes - RESERVED - slots) // 16 * 16
    shared = min(row, room) + slots
    blocks = device.sm_count * max(1, min(1024 // threads, device.max_shared_bytes // (shared + RESERVED)))
    parts = max(1, min(blocks // form.outers, ceil_div(form.count, 4 * threads)))
    return Cut(min(form.count, (room - 16) // form.itemsize), shared, threads, blocks, parts)


def build(problem: Problem[Any], form: Form, device: DeviceInfo, least_range: int = sort.LEAST_RANGE) -> Plan | Refused:
    """Return the plan."""
    if form.inner > 1:
        return Refused("rows of more than one element")
    sorting = sort.sort_of(form.count, form.places, device, least_range)
    cut = cut_of(form, sum_bytes(problem.case.dtype), device)
    units = form.outers * cut.parts
    reach = form.places * max(form.place_step, 1), form.count * max(form.index_step, 1)
    if not fits(*reach, units + 2 * cut.blocks):
        return Refused(f"more than {LIMIT} places, units of work or elements of a repetition")
    shape = SHAPE.value(form, cut, units=units, words=sorting.meeting_words, alpha=problem.params.alpha)
    steps = ceil_div(form.count, STEP_PAIRS) + cut.parts
    size = 2 if max(form.count, form.places) <= MOST_SHORT else 4
    numbers = Workspace(sorting.size)
    extras = Workspace(sorting.size + size * LANE_NUMBERS * 32 * steps)
    operands = Pointer("destination"), Pointer("source")
    writing = Launch(
        SOURCE,
        steps_kernel(NUMBERS[size]),
        (ceil_div(form.count, STEP_PAIRS * STEPS_THREADS // 32), cut.parts, 1),
        (STEPS_THREADS, 1, 1),
        (sorting.pairs, sorting.kept, numbers, extras),
    )
    gathering = Launch(
        SOURCE,
        kernel(problem.case.dtype, NUMBERS[size]),
        (min(cut.blocks, units), 1, 1),
        (cut.threads, 1, 1),
        (*operands, sorting.pairs, sorting.kept, sorting.meetings, numbers, extras, shape),
        shared_bytes=cut.shared,
    )
    notes = {"threads": cut.threads, "blocks": cut.blocks, "parts": cut.parts, "resident": cut.resident}
    return Plan(
        "gathered",
        (sorting.launch(problem, Workspace(0), 0), writing, gathering),
        grouped_accuracy(problem, 16),
        extras.byte_offset + 4 * 32 * steps,
        workspace_zeroed=True,
        notes=notes,
    )
