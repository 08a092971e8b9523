"""The host rule of index_add/row_table.cuh: short rows by atomics, those of places that come again added up before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, MOST_OUTERS, Form, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import Struct

SOURCE = "index_add/shared_sums.cu"
THREADS, LANES = 1024, 32
VECTOR = 16
STAGES, COPIES = 2, 2
"""Of a warp's ring; vectors of a lane in a tile, at most."""

TAGS = 4096
FIXED_BYTES = THREADS * STAGES * COPIES * VECTOR + 4 * TAGS
"""Shared memory beside the table: the warps' rings, and tags."""

LEAST_BYTES = FIXED_BYTES + 16384
"""... of a device whose blocks have room for a table that is of use."""

GROUPS = (1, 2, 4, 8)
"""Lanes that take a row."""

NARROW, MOST_ROW = 64, 128
"""Bytes of a row that four lanes take, and eight."""

LEAST_TILE = 4
BLOCK_ROWS = 2048
"""Rows that the beginning and the end of a block count as, where repetitions are shared among blocks."""

SHAPE = Struct(
    "gpubench::index_add::CachedRowsShape",
    "index_add/row_table.cuh",
    tile="i4",
    vectors="u4",
    count="u4",
    range="u4",
    rows="u4",
    places="i8",
    **dict.fromkeys(("place_step", "index_step", "outer_place", "outer_index"), "i8"),
    alpha="f8",
)
DTYPES = ("float32", "float16", "bfloat16", "complex64")
"""Those of which atomics take 16 bytes at once."""


def is_for(form: Form, dtype: str, device: DeviceInfo) -> bool:
    """Say whether enough short rows go through a block's table whatever the list is like."""
    if not _takes(form, dtype, device) or (form.outers > 1 and form.count <= tuning.SCATTERED_MOST):
        return False
    sums = form.inner * sum_bytes(dtype)
    if sums <= tuning.ROWS_SUMS and form.row_bytes <= NARROW:
        return form.count * form.inner * form.outers >= tuned("ROWS_LEAST", tuning.ROWS_LEAST)
    return (
        sums <= MOST_ROW and form.row_bytes < tuning.GROUPED_ROW and form.added >= tuned("ROWS_WIDE", tuning.ROWS_WIDE)
    )


def _takes(form: Form, dtype: str, device: DeviceInfo) -> bool:
    fits_lanes = form.vector * form.itemsize == VECTOR and form.row_bytes <= MOST_ROW
    return dtype in DTYPES and fits_lanes and device.max_shared_bytes >= LEAST_BYTES


def kernel(dtype: str, index: str, lanes: int, behind: bool = False) -> str:
    """Return the name expression for groups of so many lanes; behind: for a list that `partitioned` leaves."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {VECTOR // dtypes.dtype(dtype).itemsize}, {lanes}"
    return f"gpubench::index_add::add_cached_rows{'_if' * behind}<{types}>"


def instances(dtype: str, behind: bool = False) -> Sequence[tuple[str, str]]:
    """Return one for each index dtype and each number of lanes, of the dtypes that it takes."""
    if dtype not in DTYPES:
        return ()
    return tuple((SOURCE, kernel(dtype, index, lanes, behind)) for lanes in GROUPS for index in INDEX_DTYPES)


@dataclass(frozen=True, slots=True)
class Cut:
    """How the list is cut: rows of a warp at once, and of a block in all."""

    lanes: int
    tile: int
    range: int


def cut_of(form: Form, device: DeviceInfo) -> Cut:
    """Cut into as large tiles as leave work for every SM, and into blocks that are done in the shortest time."""
    lanes = power_of_two(form.inner // form.vector)
    tile, rows = min(LANES, COPIES * LANES // lanes), form.count * form.outers
    while tile > LEAST_TILE and rows < device.sm_count * tile * THREADS // LANES:
        tile //= 2
    turn = tile * THREADS // LANES
    turns = ceil_div(form.count, turn)

    def cost(blocks: int) -> int:
        return ceil_div(blocks * form.outers, device.sm_count) * (BLOCK_ROWS + ceil_div(turns, blocks) * turn)

    blocks = min(range(1, min(turns, device.sm_count) + 1), key=cost)
    return Cut(lanes, tile, ceil_div(turns, blocks) * turn)


def build(problem: Problem[Any], form: Form, device: DeviceInfo, way: Workspace | None = None) -> Plan | Refused:
    """Return the plan of one launch. Refuses rows that are not whole vectors, long ones, and too many or too little.

    way: where a launch before says whether this one has anything to do.
    """
    if not _takes(form, problem.case.dtype, device):
        return Refused(f"not rows of up to {MOST_ROW} bytes, in vectors that atomics take, or little shared memory")
    vectors = form.inner // form.vector
    if not fits(form.places, form.count + 3 * THREADS) or form.outers > MOST_OUTERS:
        return Refused(f"more than {LIMIT} indices or places, or {MOST_OUTERS} repetitions")
    destination, index, _ = problem.operands
    cut = cut_of(form, device)
    row = form.inner * sum_bytes(destination.dtype) + 4
    table = min(tuned("ROWS_TABLE", tuning.ROWS_TABLE), device.max_shared_bytes - FIXED_BYTES)
    rows = max(1, min(table // row // 8, cut.range // 16)) * 8 - 4
    shape = SHAPE.value(form, cut, vectors=vectors, rows=rows, alpha=problem.params.alpha)
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, cut.lanes, behind=way is not None),
        (ceil_div(form.count, cut.range), form.outers, 1),
        (THREADS, 1, 1),
        (*([way] if way else []), Pointer("destination"), Pointer("source"), Pointer("index"), shape),
        shared_bytes=FIXED_BYTES + rows * row,
    )
    notes = {"table": rows, "vector": form.vector, "tile": cut.tile, "range": cut.range}
    return atomic_plan("cached", (launch,), problem, notes=notes)


def behind(problem: Problem[Any], form: Form, device: DeviceInfo, way: Workspace) -> Launch | Refused:
    """Return the launch for a list that `partitioned` leaves, as the word at `way` says."""
    plan = build(problem, form, device, way)
    return plan if isinstance(plan, Refused) else plan.launches[0]
