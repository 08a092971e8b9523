"""The host rule of index_add/shared_sums.cu: sums of all places in a block's shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import Argument, DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div, power_of_two_within
from gpubench.operators.index_add import sort
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.launch import grid_stride
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, int64

SOURCE = "index_add/shared_sums.cu"
MOST_SEGMENTS = 4
WIDE = 64 * 1024
"""Bytes of sums from which a block has 1024 threads, not 256."""

NARROW_LEAST = 16
"""Times that the list is read from which it is first written in 32 bits."""

SHAPE = Struct(
    "gpubench::index_add::BlockCopiesShape",
    SOURCE,
    inner=INTEGER_DIVIDER,
    **dict.fromkeys(("items", "range", "elements", "segment", "words"), "u4"),
    **dict.fromkeys(("parts", "units"), "i4"),
    **dict.fromkeys(("places", "place_step", "index_step", "outer_place", "outer_index"), "i8"),
    alpha="f8",
)


class BlockCopies(OfForm):
    """Takes single elements and rows of neighbours, of few places."""

    name: str = "block_copies"
    summary: str = "a block's sums of all places in shared memory; the last dim, and places that fit a block"
    origin: str = (
        "private histograms, one a block; up to 4 segments of places that fit shared memory; floats in any order, by "
        "atomics in the dtype where blocks share a repetition; one dim beside the rows and the indexed one"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """One launch, two where the list is first made narrow. Refuses more places than four segments hold."""
        cut = cut_of(form, sum_bytes(problem.case.dtype), device)
        return cut if isinstance(cut, Refused) else build(problem, form, cut, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One an index dtype and one for sorted pairs, what makes the list narrow, and the sort."""
        return (
            (SOURCE, NARROW),
            *((SOURCE, kernel(dtype, index)) for index in (*INDEX_DTYPES, PAIRS)),
            *sort.instances(),
        )


PAIRS = "gpubench::Pair"
NARROW = "gpubench::index_add::narrow_indices<long long>"


def kernel(dtype: str, index: str) -> str:
    """Return the name expression."""
    listed = index if index == PAIRS else dtypes.dtype(index).cpp
    return f"gpubench::index_add::add_by_copies<{dtypes.dtype(dtype).cpp}, {listed}>"


@dataclass(frozen=True, slots=True)
class Cut:
    """How places are cut into segments and lists into parts. `blocks` are resident."""

    segments: int
    segment: int
    parts: int
    threads: int
    blocks: int


def cut_of(form: Form, sums: int, device: DeviceInfo) -> Cut | Refused:
    """Return the cut: as few segments as fit, parts so that all SMs have work and flushing costs less than adding."""
    elements, items = form.places * form.inner, form.count * form.inner
    shared = device.max_shared_bytes - 1024
    rows = form.places
    if elements * sums > shared:
        rows = power_of_two_within(shared // (form.inner * sums))
    segments = ceil_div(form.places, rows)
    if segments > MOST_SEGMENTS or rows * form.inner * sums > shared:
        return Refused(f"more than {MOST_SEGMENTS} segments of places that fit shared memory")
    segment = rows * form.inner
    threads = 1024 if segment * sums >= WIDE else 256
    a_sm = max(1, min(2048 // threads, shared // (segment * sums + 1024)))
    blocks = a_sm * device.sm_count
    wanted = max(1, blocks // form.outers)
    parts = max(1, min(wanted, items // elements, items // (threads * 8)))
    return Cut(segments, segment, parts, threads, min(blocks, parts * form.outers))


def build(problem: Problem[Any], form: Form, cut: Cut, device: DeviceInfo) -> Plan | Refused:
    """Return the plan."""
    destination = problem.operands[0]
    elements, items = form.places * form.inner, form.count * form.inner
    if not fits(items + 8 * 1024, elements, form.inner, form.outers * cut.parts + cut.blocks):
        return Refused(f"more than {LIMIT} elements or units of work")
    sorting = _sort(form, cut, device)
    steps, listed, size, named = _listed(problem, form, cut, device, sorting)
    steps.append(
        Launch(
            SOURCE,
            kernel(destination.dtype, named),
            (cut.blocks, 1, 1),
            (cut.threads, 1, 1),
            (
                Pointer("destination"),
                Pointer("source"),
                listed,
                sorting.tables[2] if sorting else Workspace(0),
                Workspace(0),
                SHAPE.value(
                    form,
                    cut,
                    inner=divider(form.inner),
                    items=items,
                    range=ceil_div(items, cut.parts),
                    elements=elements,
                    words=sorting.meeting_words if sorting else 0,
                    units=form.outers * cut.parts,
                    alpha=problem.params.alpha,
                ),
            ),
            shared_bytes=cut.segment * sum_bytes(destination.dtype),
        )
    )
    notes = {"segments": cut.segments, "parts": cut.parts, "threads": cut.threads, "blocks": cut.blocks}
    return atomic_plan("block_copies", tuple(steps), problem, size, workspace_zeroed=bool(sorting), notes=notes)


def _sort(form: Form, cut: Cut, device: DeviceInfo) -> sort.Sort | None:
    """Return the sort of the list by segments, where there are several."""
    if cut.segments == 1:
        return None
    return sort.by_segments(form.count, form.places, cut.segment // form.inner, device)


def _listed(
    problem: Problem[Any], form: Form, cut: Cut, device: DeviceInfo, sorting: sort.Sort | None
) -> tuple[list[Launch], Argument, int, str]:
    """Return what makes the list fit for many reads, where it stands then, bytes of workspace, and its type."""
    index = problem.operand("index")
    if sorting is not None:
        return [sorting.launch(problem, Workspace(0), 0)], sorting.pairs, sorting.size, PAIRS
    if index.dtype == "int32" or form.outers * device.sm_count < NARROW_LEAST * cut.blocks:
        return [], Pointer("index"), 0, index.dtype
    arguments = (Pointer("index"), Workspace(0), int64(form.count), int64(form.places))
    narrow = Launch(SOURCE, NARROW, grid_stride(form.count, device), (256, 1, 1), arguments)
    return [narrow], Workspace(0), 4 * form.count, "int32"
