"""The host rule of index_add/sample.cuh: a sample of the list decides on the device whether rows are sorted for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.geometry.vectors import is_half
from gpubench.operators.index_add import combined, grouped, sort, tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import Form, OfForm
from gpubench.operators.index_add.params import INDEX_DTYPES

VECTOR = 16
LEAST: dict[str, dict[int, int]] = {
    "float32": {32: 2**27, 48: 2**26},
    **{dtype: {16: 2**26, 32: 2**25, 64: 2**26} for dtype in ("float16", "bfloat16")},
}
"""Bytes of all rows from which a sample of the list decides, by dtype and by the bytes of a row, from so many on.

Since rows come without the rest of their line, on an H100 by a sample and by a table: 2^20 x 16 float32 even 106, 100
us, by 1 / rank 127, 219, half 118, 162, in order 79, 115, 2^20 x 16 bfloat16 65, 74, 143, 306, but 2^19 x 16 float32
56, 49, 99, 117. One H200, before:
Spread evenly, by 1 / rank, half on one place, in order: 2^21 x 16 float32 169, 230, 230, 107 us (sorted 229, 217, 218,
131; by atomics 158, 299, 939, 97), 2^22 x 8 248, 414, 389, 113 (by a table 248, 546, 275, 204), 2^21 x 16 bfloat16 110,
235, 210, 66 (129, 549, 244, 204), 2^20 x 32 85, 147, 129, 64 (by atomics 74, 154, 472, 53)."""

OFTEN = 48
"""Indices of a sample of 4096 that come to one place from which rows are sorted for."""


def is_for(form: Form, dtype: str) -> bool:
    """Say whether a list should be looked at on the device: short rows, so much of them that looking costs little."""
    if dtype not in LEAST or form.vector * form.itemsize != VECTOR:
        return False
    least = least_of(dtype, form.row_bytes)
    most = tuning.GROUPED_ROW if not is_half(dtype) and form.added < tuning.GROUPED_SHORT else tuning.CACHED_ROW + 1
    return least is not None and form.row_bytes < most and form.added >= least


def least_of(dtype: str, row_bytes: int) -> int | None:
    """Return what `LEAST` says of rows of so many bytes; None where it says nothing."""
    return next((added for row, added in reversed(LEAST[dtype].items()) if row <= row_bytes), None)


class Sampled(OfForm):
    """Takes rows that warps add by atomics."""

    name: str = "sampled"
    summary: str = "a sample of the list decides on the device: by atomics where indices are spread, else sorted"
    origin: str = (
        "`combined` and `grouped` in one plan, of which one does nothing; the sample is this project's; where atomics "
        "are chosen they add in any order"
    )

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """Three launches. Refuses what `grouped` refuses, and as few indices as a warp adds alone."""
        if form.count <= tuning.FEW:
            return Refused(f"{tuning.FEW} indices or fewer")
        rows = tuning.warp_rows(form, device)
        in_order = grouped.build(problem, form, device, tuning.piece_pairs(form, device), often=OFTEN)
        direct = combined.build(problem, form, rows if rows > combined.FEW_ROWS else combined.LANES)
        for plan in (in_order, direct):
            if isinstance(plan, Refused):
                return plan
        assert isinstance(in_order, Plan)
        assert isinstance(direct, Plan)
        choice = sort.sort_of(form.count, form.places, device).choice
        steps = (
            *in_order.steps,
            *(combined.if_apart(step, problem, form.vector, choice) for step in direct.launches),
        )
        notes = {**in_order.notes, "rows": direct.notes["rows"]}
        return atomic_plan("sampled", steps, problem, in_order.workspace_bytes, workspace_zeroed=True, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the atomics, by vectors of 16 bytes and by elements; the others are `grouped`'s."""
        widths = sorted({16 // dtypes.dtype(dtype).itemsize, 1})
        return tuple(
            (combined.SOURCE, combined.if_apart_kernel(dtype, index, width))
            for index in INDEX_DTYPES
            for width in widths
        )
