"""The host rule of elementwise/tiles.cu: y by tiles of rows; operands across the rows are turned in shared memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.axes import Axes, goes_on, split
from gpubench.operators.elementwise.cuts import cut_of, shared_bytes
from gpubench.operators.elementwise.instance import extents, instance, plan, probes, types_of
from gpubench.operators.elementwise.merged import Input, Merged, merged
from gpubench.operators.elementwise.naive import scalar_parameters
from gpubench.operators.elementwise.row_vectors import row_vector
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, axis, axis_fits, axis_size
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import INTEGER_DIVIDER, LIMIT, Struct, divider

SOURCE = "elementwise/tiles.cu"
THREADS = tuning.THREADS
NEAR = 2**31 - 2**16
"""Elements of y, and of an operand, at most, for places of 32 bits with a sign: 90 tiles 1.017 times as fast."""

SHAPE = Struct(
    "gpubench::elementwise::TileShape",
    "elementwise/tile.cuh",
    chunks=INTEGER_DIVIDER,
    strips=INTEGER_DIVIDER,
    length="u4",
    rows="u4",
    chunk="u4",
    unused="u4",
    p0="f8",
    p1="f8",
    extents=("i8", 3),
)


class Tiles:
    """Rows that operands share or fill with one element, and operands whose fastest dim is not y's."""

    name: str = "tiles"
    summary: str = "y by tiles of rows: shared rows in registers, operands across the rows turned in shared memory"
    origin: str = f"transposes as cumsum's transposed_tiles; up to {MAX_AXIS_DIMS} dims along, across and besides"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch."""
        shape = merged(problem)
        if isinstance(shape, Refused):
            return shape
        return build(problem, shape, split(shape), device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """`add` of what a suite's broadcasts and transposed operands need."""
        vector = 16 // dtypes.dtype(dtype).itemsize
        cut = [("on_grid", "row", 0), ("off_grid", "still", vector), ("on_grid", "turned", 0)]
        cut += [("turned_off_grid", "turned_apart", vector), ("turned_off_grid", "still", vector)]
        types = dict(probes(dtype))["add"]
        lanes = tuning.TURNED_LANES[vector]
        return [
            (SOURCE, instance("tiles", "add", types, (vector, lanes, tuning.TURNED_PASSES, 1, 1, 1, spare, near), lies))
            for *lies, spare in cut
            for near in (True, False)
        ]


def lie_of(shape: Merged, axes: Axes, one: Input, whole: bool) -> str:
    """Return how an operand lies beside y's rows (`Lie` in elementwise/operands.cuh)."""
    first = one.step(axes.along[0])
    if one.number in axes.turned:
        return turned_lie(axes, one)
    if one.number in axes.braided:
        return "braided"
    if first not in (0, 1) or not all(goes_on(shape, one, dim) for dim in axes.along[1:]):
        return "apart"
    if first == 0:
        return "still"
    if not whole and shape.is_linear(one) and shape.on_grid(one):
        return "on_grid"  # whatever the rows' begins, they are y's
    if not whole or not shape.on_grid(one, *(one.step(dim) for dim in (*axes.across, *axes.outer))):
        return "off_grid"
    return "row" if all(one.step(dim) == 0 for dim in axes.across) else "on_grid"


def turned_lie(axes: Axes, one: Input) -> str:
    """Return how an operand across the rows lies along its own lines."""
    if one.step(axes.across[0]) != 1:
        return "turned_apart"
    items = 16 // dtypes.dtype(one.dtype).itemsize
    steps = [one.step(dim) for dim in (*axes.along, *axes.outer)]
    on_grid = all(step % items == 0 for step in (one.offset, axis_size(axes.across), *steps))
    return "turned" if on_grid else "turned_off_grid"


def lies_of(shape: Merged, axes: Axes, whole: bool) -> list[str]:
    """Return how all operands lie; turned ones come the same way, on the grid or off it."""
    lies = [lie_of(shape, axes, operand, whole) for operand in shape.inputs]
    off = "turned_off_grid" in lies
    return ["turned_off_grid" if off and lie == "turned" else lie for lie in lies]


def _is_by_squares(shape: Merged, axes: Axes) -> bool:
    """Say whether all operands across the rows are turned on their way to shared memory."""
    lies = [turned_lie(axes, operand) for operand in shape.inputs if operand.number in axes.turned]
    return bool(lies) and all(lie == "turned" for lie in lies)


def build(problem: Problem[Any], shape: Merged, axes: Axes, device: DeviceInfo) -> Plan | Refused:
    """Return the plan for these axes."""
    length, rows, others = (axis_size(dims) for dims in (axes.along, axes.across, axes.outer))
    if not all(map(axis_fits, (axes.along, axes.across, axes.outer))):
        return Refused("more dims or elements than the kernel counts")
    full, shape = shape.vector, dataclasses.replace(shape, vector=row_vector(shape, axes, _is_by_squares(shape, axes)))
    spare = 0 if length % shape.vector == 0 else shape.vector
    lies = lies_of(shape, axes, spare == 0)
    cut = cut_of(shape, full, axes, spare, lies, device)
    chunks, strips = ceil_div(length + max(spare - 1, 0), cut.chunk), ceil_div(rows, cut.rows)
    if chunks * strips * others > LIMIT:
        return Refused("more blocks than the kernel counts")
    counts = (max(len(dims), 1) for dims in (axes.along, axes.across, axes.outer))
    types = types_of(problem.params, problem.case.dtype)
    near = max(shape.elements, *(operand.extent for operand in shape.inputs)) <= NEAR
    kernel = instance(
        "tiles", problem.params.function, types, (shape.vector, cut.lanes, cut.passes, *counts, spare, near), lies
    )
    p0, p1 = scalar_parameters(problem.params)
    packed = SHAPE.value(
        cut,
        chunks=divider(chunks),
        strips=divider(strips),
        length=length,
        rows=rows,
        unused=0,
        p0=p0,
        p1=p1,
        extents=extents(shape),
    )
    return plan(
        "tiles",
        problem,
        shape,
        (SOURCE, kernel, chunks * strips * others, THREADS),
        (packed, *(axis(dims, near) for dims in (axes.along, axes.across, axes.outer))),
        shared_bytes(shape, lies, cut, spare),
        lanes=cut.lanes,
        passes=cut.passes,
        lies=lies,
    )
