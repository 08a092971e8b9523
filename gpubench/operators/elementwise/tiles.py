"""The host rule of elementwise/tiles.cu: y by tiles of rows; operands across the rows are turned in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.instance import extents, instance, plan, probes, types_of
from gpubench.operators.elementwise.merged import Input, Merged, merged
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, axis, axis_fits, axis_size
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.structs import INTEGER_DIVIDER, LIMIT, Struct, divider

SOURCE = "elementwise/tiles.cu"
THREADS = tuning.THREADS

SHAPE = Struct(
    "gpubench::elementwise::TileShape",
    SOURCE,
    chunks=INTEGER_DIVIDER,
    strips=INTEGER_DIVIDER,
    length="u4",
    rows="u4",
    chunk="u4",
    unused="u4",
    extents=("i8", 3),
)


@dataclass(frozen=True, slots=True)
class Axes:
    """The dims split: along y's rows, across them, and the rest. turned: the operands that lie across the rows."""

    along: tuple[Dim, ...]
    across: tuple[Dim, ...]
    outer: tuple[Dim, ...]
    turned: tuple[int, ...]


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
        cut = [("on_grid", "row", True), ("row_off_grid", "still", False), ("on_grid", "turned", True)]
        cut += [("turned_off_grid", "turned_apart", False)]
        types = dict(probes(dtype))["add"]
        lanes = tuning.TURNED_LANES[16 // dtypes.dtype(dtype).itemsize]
        return [
            (SOURCE, instance("tiles", "add", types, (lanes, tuning.TURNED_PASSES, 1, 1, 1, whole), lies))
            for *lies, whole in cut
        ]


def across_dim(shape: Merged, one: Input) -> int | None:
    """Return the dim along which an operand's elements lie closest, where that is not y's fastest; else None.

    None, too, for an operand that is small beside the others.
    """
    first = one.step(shape.dims[0])
    if first in (0, 1) or tuning.is_small(shape, one):
        return None
    moving = [number for number, dim in enumerate(shape.dims) if one.step(dim) > 0 and dim.size > 1]
    best = min(moving, key=lambda number: one.step(shape.dims[number]))
    return best if best != 0 else None


def split(shape: Merged) -> Axes:
    """Split the dims: the largest operand that lies across decides which dim is across the rows."""
    wishes = {one.number: across_dim(shape, one) for one in shape.inputs}
    by_size = sorted(shape.inputs, key=lambda one: -one.extent * dtypes.dtype(one.dtype).itemsize)
    chosen = next((wishes[one.number] for one in by_size if wishes[one.number] is not None), None)
    if chosen is None:
        return _rows(shape)
    turned = tuple(number for number, dim in wishes.items() if dim == chosen)
    others = [one for one in shape.inputs if one.number not in turned]
    along = [0]
    while along[-1] + 1 < chosen and all(_goes_on(shape, one, along[-1] + 1) for one in others):
        along.append(along[-1] + 1)
    across = [chosen]
    distance = {number: shape.dims[chosen].steps[number] * shape.dims[chosen].size for number in turned}
    while True:
        free = [n for n in range(len(shape.dims)) if n not in along and n not in across]
        found = next((n for n in free if all(shape.dims[n].steps[t] == distance[t] for t in turned)), None)
        if found is None:
            break
        across.append(found)
        distance = {number: far * shape.dims[found].size for number, far in distance.items()}
    return _axes(shape, along, across, turned)


def _goes_on(shape: Merged, one: Input, dim: int) -> bool:
    """Say whether an operand lies along one dim more as it does along the first."""
    first, here = one.step(shape.dims[0]), one.step(shape.dims[dim])
    return here == shape.dims[dim].steps[0] if first == 1 else first == 0 and here == 0


def _rows(shape: Merged) -> Axes:
    """Split where nothing lies across: rows along the first dim, across them what some operand's rows share."""
    others = range(1, len(shape.dims))
    along = [one for one in shape.inputs if one.step(shape.dims[0]) == 1]
    common = [dim for dim in others if any(one.step(shape.dims[dim]) == 0 for one in along)]
    across = [max(common or others, key=lambda dim: shape.dims[dim].size)] if others else []
    return _axes(shape, [0], across, ())


def _axes(shape: Merged, along: list[int], across: list[int], turned: tuple[int, ...]) -> Axes:
    outer = [number for number in range(len(shape.dims)) if number not in along and number not in across]
    first, second, third = (tuple(shape.dims[n] for n in numbers) for numbers in (along, across, outer))
    return Axes(first, second, third, turned)


def lie_of(shape: Merged, axes: Axes, one: Input, whole: bool) -> str:
    """Return how an operand lies beside y's rows (`Lie` in elementwise/operands.cuh)."""
    first = one.step(axes.along[0])
    if one.number in axes.turned:
        if one.step(axes.across[0]) != 1:
            return "turned_apart"
        items = 16 // dtypes.dtype(one.dtype).itemsize
        steps = [one.step(dim) for dim in (*axes.along, *axes.outer)]
        rows = axis_size(axes.across)
        if all(step % items == 0 for step in (one.offset, rows, *steps)):
            return "turned"
        return "turned_singly" if items <= tuning.SINGLES else "turned_off_grid"
    if first == 0:
        return "still"
    if first != 1:
        return "apart"
    if not whole and shape.is_linear(one) and shape.on_grid(one):
        return "on_grid"  # whatever the rows' begins, they are y's
    if not whole or not shape.on_grid(one, *(one.step(dim) for dim in (*axes.across, *axes.outer))):
        return "off_grid"
    return "row" if all(one.step(dim) == 0 for dim in axes.across) else "on_grid"


class TileCut(NamedTuple):
    """Vectors of a row of a tile, rows of a thread, and elements of a tile's row that are stored."""

    lanes: int
    passes: int
    chunk: int

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return THREADS // self.lanes * self.passes


def build(problem: Problem[Any], shape: Merged, axes: Axes, device: DeviceInfo) -> Plan | Refused:
    """Return the plan for these axes."""
    length, rows, others = (axis_size(dims) for dims in (axes.along, axes.across, axes.outer))
    if not all(map(axis_fits, (axes.along, axes.across, axes.outer))):
        return Refused("more dims or elements than the kernel counts")
    whole = length % shape.vector == 0
    lies = [lie_of(shape, axes, one, whole) for one in shape.inputs]
    if len(axes.along) > 1 and "apart" in lies:
        return Refused("an operand's rows go over several dims")
    reach = length if whole else length + shape.vector - 1  # of a row from the vector boundary before it
    cut = (turned_cut if axes.turned else rows_cut)(shape, axes, reach, device)
    chunks, strips = ceil_div(reach, cut.chunk), ceil_div(rows, cut.rows)
    if chunks * strips * others > LIMIT:
        return Refused("more blocks than the kernel counts")
    counts = (max(len(dims), 1) for dims in (axes.along, axes.across, axes.outer))
    types = types_of(problem.params, problem.case.dtype)
    kernel = instance("tiles", problem.params.function, types, (cut.lanes, cut.passes, *counts, whole), lies)
    packed = SHAPE.value(
        cut,
        chunks=divider(chunks),
        strips=divider(strips),
        length=length,
        rows=rows,
        unused=0,
        extents=extents(shape),
    )
    turned = (dtypes.dtype(one.dtype).itemsize for one in shape.inputs if one.number in axes.turned)
    return plan(
        "tiles",
        problem,
        shape,
        (SOURCE, kernel, chunks * strips * others, THREADS),
        (packed, *map(axis, (axes.along, axes.across, axes.outer))),
        cut.lanes * shape.vector * cut.rows * sum(turned),
        lanes=cut.lanes,
        passes=cut.passes,
        lies=lies,
    )


def rows_cut(shape: Merged, axes: Axes, reach: int, device: DeviceInfo) -> TileCut:
    """Return tiles whose operands all lie along the rows: as many lanes as a row has vectors, up to a block's."""
    vectors, rows = ceil_div(reach, shape.vector), axis_size(axes.across)
    lanes = min(THREADS, power_of_two(vectors))
    chunks = ceil_div(vectors, lanes)
    blocks = ceil_div(rows, THREADS // lanes) * chunks * axis_size(axes.outer)
    passes = tuning.passes(rows, lanes, blocks, device)
    return TileCut(lanes, passes, ceil_div(vectors, chunks) * shape.vector)


def turned_cut(shape: Merged, axes: Axes, reach: int, device: DeviceInfo) -> TileCut:
    """Return tiles whose operands are turned: as square as there is room for, and smaller where there are few.

    Neither way a tile is narrower than a vector of the narrowest operand. Rows off the grid bring a vector more.
    """
    rows, vector = axis_size(axes.across), shape.vector
    spare = 0 if reach == axis_size(axes.along) else vector
    least = max(16 // dtypes.dtype(one.dtype).itemsize for one in shape.inputs)
    passes = tuning.SKEWED_PASSES[vector] if spare else tuning.TURNED_PASSES
    lanes = tuning.TURNED_LANES[vector]
    if reach + spare < lanes * vector:
        lanes = max(power_of_two(reach + spare), least) // vector
    elif rows < THREADS // lanes * passes:
        lanes = min(THREADS, THREADS * passes // max(power_of_two(rows), least))
    blocks = shape.elements / (THREADS * vector)
    while passes > 1 and blocks / passes < tuning.TURNED_BLOCKS * device.sm_count and THREADS // lanes * passes > least:
        passes //= 2
    return TileCut(lanes, passes, lanes * vector - spare)
