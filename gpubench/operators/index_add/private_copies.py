"""The host rule of index_add/private_copies.cu: a few places, a copy of them a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.accuracy import grouped_accuracy
from gpubench.operators.index_add.form import Form, OfForm
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


class PrivateCopies(OfForm):
    """Takes single elements that come to a few places."""

    name: str = "private_copies"
    summary: str = "a copy of the few places for every lane in shared memory; no atomics, bitwise repeatable"
    origin: str = "private histograms, here one a lane; single elements, a copy for 128 lanes must fit shared memory"

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """One launch. Refuses rows, and more places than fit."""
        return build(problem, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One an index dtype."""
        return tuple((SOURCE, kernel(dtype, index)) for index in ("int64", "int32"))


def kernel(dtype: str, index: str) -> str:
    """Return the name expression."""
    return f"gpubench::index_add::add_private<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


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
