"""The host rule of index_add/grouped.cu: indices sorted, then the rows of one place added up together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import regimes, sort
from gpubench.operators.index_add.accuracy import grouped_accuracy
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider

SOURCE = "index_add/grouped.cu"
THREADS = 128
STAGES = 8
LANES = 32
WINDOW = 16

SHAPE = Struct(
    "gpubench::index_add::GroupedShape",
    "index_add/pieces.cuh",
    chunks=INTEGER_DIVIDER,
    outers=INTEGER_DIVIDER,
    lanes="i4",
    share="i4",
    vectors="u4",
    words="u4",
    **dict.fromkeys(("place_step", "index_step", "outer_place", "outer_index"), "i8"),
    alpha="f8",
)


class Grouped(OfForm):
    """Takes rows of neighbours."""

    name: str = "grouped"
    summary: str = "indices sorted, then each place's rows added up in registers; no atomics, bitwise repeatable"
    origin: str = (
        "sorted segments, as embedding gradients (FBGEMM, PyTorch); own sort by meetings of the grid, own ring of rows "
        "and joining of long runs; sums in the accumulator; one dim beside the rows and the indexed one"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Two launches. Refuses rows whose elements do not lie side by side, and more than 32-bit numbers count."""
        return build(problem, form, device, regimes.piece_pairs(form, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the sort's, and the sums by vectors of 16 bytes and by elements."""
        widths = sorted({16 // dtypes.dtype(dtype).itemsize, 1})
        return (*sort.instances(), *((SOURCE, kernel(dtype, width)) for width in widths))


def kernel(dtype: str, vector: int) -> str:
    """Return the name expression of the sums."""
    return f"gpubench::index_add::add_groups<{dtypes.dtype(dtype).cpp}, {vector}>"


@dataclass(frozen=True, slots=True)
class Cut:
    """How the list is cut into pieces, and rows into chunks; `share`: pairs of a group of lanes."""

    lanes: int
    share: int
    pieces: int
    chunks: int
    outers: int

    @property
    def repeated(self) -> int:
        """How often every piece is walked."""
        return self.chunks * self.outers

    @property
    def slots(self) -> int:
        """Parts of runs, and flags, that pieces and windows of them leave."""
        return (self.pieces + self.pieces // WINDOW + 1) * self.repeated


def cut_of(form: Form, most_pairs: int) -> Cut:
    """Cut into pieces of so many pairs."""
    vectors = form.inner // form.vector
    lanes = min(LANES, power_of_two(vectors))
    share = max(1, most_pairs // (THREADS // lanes))
    return Cut(lanes, share, ceil_div(form.count, share * (THREADS // lanes)), ceil_div(vectors, lanes), form.outers)


def build(
    problem: Problem[Any],
    form: Form,
    device: DeviceInfo,
    most_pairs: int,
    least_range: int = sort.LEAST_RANGE,
) -> Plan | Refused:
    """Return the plan with pieces of so many pairs."""
    cut = cut_of(form, most_pairs)
    units, vectors = cut.pieces * cut.repeated, form.inner // form.vector
    if not fits(units, vectors, form.outers, form.places, form.count + 1024, cut.slots):
        return Refused(f"more than {LIMIT} indices, places or pieces of work")
    sorting = sort.sort_of(form.count, form.places, device, least_range)
    parts = cut.slots * cut.lanes * form.vector * sum_bytes(problem.case.dtype)
    flags = Workspace(sorting.size + ceil_div(parts, 256) * 256)
    shape = SHAPE.value(
        form,
        cut,
        chunks=divider(cut.chunks),
        outers=divider(form.outers),
        vectors=vectors,
        words=sorting.meeting_words,
        alpha=problem.params.alpha,
    )
    operands = Pointer("destination"), Pointer("source")
    adding = Launch(
        SOURCE,
        kernel(problem.case.dtype, form.vector),
        (units, 1, 1),
        (THREADS, 1, 1),
        (*operands, sorting.pairs, sorting.kept, sorting.meetings, Workspace(sorting.size), flags, shape),
        shared_bytes=THREADS * STAGES * 2 * 16,
        waits_for_blocks=True,
    )
    notes = {"sort_blocks": sorting.blocks, "sort_passes": sorting.passes, "pieces": cut.pieces}
    notes |= {"pairs": cut.share * (THREADS // cut.lanes), "lanes": cut.lanes, "vector": form.vector}
    return Plan(
        "grouped",
        (sorting.launch(problem, flags, cut.slots), adding),
        grouped_accuracy(problem, 16),
        flags.byte_offset + 4 * cut.slots,
        workspace_zeroed=True,
        notes=notes,
    )
