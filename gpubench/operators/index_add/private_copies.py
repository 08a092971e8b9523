"""The host rule of index_add/private_copies.cu: a few places, a copy of them a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.accuracy import grouped_accuracy
from gpubench.operators.index_add.form import Form, OfForm
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import Struct

SOURCE = "index_add/private_copies.cu"
MOST_WARPS = 24
LEAST_WARPS = 4
AT_ONCE = 8

SHAPE = Struct(
    "gpubench::index_add::CopiesShape",
    SOURCE,
    **dict.fromkeys(("count", "place_step", "index_step"), "i8"),
    places="i4",
    unused="i4",
    alpha="f8",
)


ROWS_SHAPE = Struct(
    "gpubench::index_add::PrivateRowsShape",
    SOURCE,
    **dict.fromkeys(("place_step", "index_step", "outer_place", "outer_index", "outers"), "i8"),
    **dict.fromkeys(("places", "count"), "i4"),
    alpha="f8",
)
MOST_LISTED = 2**15
"""Indices that a block keeps in shared memory, 16 bits each."""


class PrivateCopies(OfForm):
    """Takes single elements that come to a few places."""

    name: str = "private_copies"
    summary: str = "a copy of the few places for every lane in shared memory; no atomics, bitwise repeatable"
    origin: str = "private histograms, here one a lane; single elements, a copy for 128 lanes must fit shared memory"

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """One launch. Refuses rows, and more places than fit."""
        return build(problem, form, device) if form.outers == 1 else build_rows(problem, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Two an index dtype."""
        return tuple((SOURCE, kernel(dtype, index, rows=rows)) for index in INDEX_DTYPES for rows in (False, True))


def kernel(dtype: str, index: str, *, rows: bool = False) -> str:
    """Return the name expression; rows: a warp a repetition."""
    name = "add_private_rows" if rows else "add_private"
    return f"gpubench::index_add::{name}<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def warps_of(form: Form, dtype: str, device: DeviceInfo) -> int:
    """Return the warps of a block whose copies fit."""
    return min(MOST_WARPS, (device.max_shared_bytes - 1024) // (form.places * 32 * sum_bytes(dtype)))


def build(problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
    """Return the plan."""
    destination, index, _ = problem.operands
    if form.inner * form.outers > 1:
        return Refused("rows of more than one element")
    warps = warps_of(form, destination.dtype, device)
    if warps < LEAST_WARPS:
        return Refused(f"copies of {form.places} places for {32 * LEAST_WARPS} lanes do not fit shared memory")
    blocks = min(device.sm_count, ceil_div(form.count, 32 * warps * AT_ONCE))
    sums = sum_bytes(destination.dtype)
    parts = ceil_div(blocks * form.places * sums, 256) * 256
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype),
        (blocks, 1, 1),
        (32 * warps, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            Workspace(0),
            Workspace(parts),
            SHAPE.value(form, unused=0, alpha=problem.params.alpha),
        ),
        shared_bytes=form.places * 32 * sums * warps,
    )
    notes = {"warps": warps, "blocks": blocks}
    return Plan(
        "private_copies",
        (launch,),
        grouped_accuracy(problem, warps + 16),
        parts + 4,
        workspace_zeroed=True,
        notes=notes,
    )


def build_rows(problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
    """Return the plan of a warp a repetition."""
    destination, index, _ = problem.operands
    if form.inner > 1 or form.count > MOST_LISTED:
        return Refused(f"rows of more than one element, or more than {MOST_LISTED} indices of several repetitions")
    listed, copies = ceil_div(form.count, 8) * 16, (form.places + 1) * 32 * sum_bytes(destination.dtype)
    warps = min(32, (device.max_shared_bytes - 1024 - listed) // copies)
    if warps < LEAST_WARPS:
        return Refused(f"copies of {form.places} places for {32 * LEAST_WARPS} lanes do not fit shared memory")
    warps = min(warps, ceil_div(form.outers, device.sm_count))
    blocks = min(device.sm_count, ceil_div(form.outers, warps))
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, rows=True),
        (blocks, 1, 1),
        (32 * warps, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            ROWS_SHAPE.value(form, alpha=problem.params.alpha),
        ),
        shared_bytes=listed + warps * copies,
    )
    return Plan("private_copies", (launch,), grouped_accuracy(problem, 48), notes={"warps": warps, "blocks": blocks})
