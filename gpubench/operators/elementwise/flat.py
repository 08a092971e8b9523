"""The host rule of elementwise/flat.cu: y from end to end by vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.instance import SPACE, extents, instance, plan, probes, types_of
from gpubench.operators.elementwise.merged import Input, Merged, merged
from gpubench.operators.elementwise.naive import scalar_parameters
from gpubench.operators.elementwise.near import wants_short_vectors
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, NEAR, axis, axis_struct
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.geometry.vectors import items_of
from gpubench.operators.structs import LIMIT, Struct, int64

SOURCE = "elementwise/flat.cu"
LINEAR = ("on_grid", "off_grid", "same")
"""Operands that no place in the dims is needed for."""

SHORT_ROW = 512
"""Elements of a row: of a shorter one every vector comes element by element, so that a warp stays together."""

REST = Struct("gpubench::elementwise::FlatRest", SOURCE, p0="f8", p1="f8", extents=("i8", 3))


class Flat:
    """Every layout; best where operands lie as y does, and for short rows."""

    name: str = "flat"
    summary: str = "y from end to end by vectors, operands by the same vectors or by their place in each dim"
    origin: str = (
        f"up to {MAX_AXIS_DIMS} dims after merging; fewer than 2^31 elements where an operand lies otherwise than y"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch."""
        shape = merged(problem)
        if isinstance(shape, Refused):
            return shape
        lies = [lie_of(shape, operand) for operand in shape.inputs]
        plain = not any(lie.endswith("off_grid") for lie in lies)
        function = problem.params.function
        if is_plaited(shape, device):
            cut = tuning.FlatCut(tuning.FLAT_THREADS, shape.vector, shape.dims[0].size)
            return build(problem, shape, cut, beside=True)
        near = any(wants_short_vectors(shape, operand) for operand in shape.inputs)
        cut = tuning.flat_cut(shape, device, function, plain, near)
        if not all(lie in LINEAR for lie in lies):
            cut = _cut_of_parts(shape, cut) or tuning.row_cut(shape, cut, lies, near)
        return build(problem, shape, cut)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the probes on operands that lie as y does, and `add` of others."""
        items = items_of(dtype)
        others = [
            ("off_grid", "off_grid", 1, "whole_rows"),
            ("on_grid", "row_off_grid", 2, "long_rows"),
            ("still", "apart", 2, "short_rows"),
        ]
        found = []
        for function, types in probes(dtype):
            wanted = [(*["on_grid"] * (len(types) - 2), 1, "whole_rows"), *(others if function == "add" else ())]
            for *lies, dims, rows in wanted:
                places = axis_struct((Dim(1, ()),) * dims, near=dims > 1).cpp
                numbers = (128, items, 1, places, f"{SPACE}::{rows}", False, True)
                found.append((SOURCE, instance("flat", function, types, numbers, lies)))
        return found


def lie_of(shape: Merged, one: Input) -> str:
    """Return how an operand lies beside y (`Lie` in elementwise/operands.cuh)."""
    if shape.is_linear(one):
        return "on_grid" if shape.on_grid(one) else "off_grid"
    first, *others = shape.dims
    alone = not any(one.step(dim) for dim in others)
    if one.step(first) == 1 and first.size > 1:
        if alone and first.size % shape.vector and shape.vector >= 8 and first.size < tuning.REPEATING_ROW:
            return "repeating"
        on_grid = first.size % shape.vector == 0 and shape.on_grid(one, *(one.step(dim) for dim in others))
        return "row" if on_grid else "row_off_grid"
    if one.step(first) == 0:
        return "same" if alone else "still"
    return "apart"


def is_plaited(shape: Merged, device: DeviceInfo) -> bool:
    """Say whether y has runs of a few bytes, one of each of as many lines of an operand, the others lying as y does.

    A thread then takes a vector of each line, where there are enough threads.
    """
    lines = shape.dims[0].size
    threads = tuning.FLAT_THREADS * device.sm_count
    if not 1 < lines <= tuning.PLAITED_LINES or len(shape.dims) < 2 or shape.vector < 16:
        return False
    if shape.elements < threads * lines * shape.vector:
        return False
    lies = [_plaited(shape, lie_of(shape, operand), operand) for operand in shape.inputs]
    return "plaited" in lies and set(lies) <= {"plaited", "on_grid"}


def _plaited(shape: Merged, lie: str, one: Input) -> str:
    """Return `plaited` where an operand can come so, else how it lies."""
    first, second, *others = shape.dims
    whole = second.size % shape.vector == 0 and shape.on_grid(one, *(one.step(dim) for dim in (first, *others)))
    return "plaited" if lie == "apart" and one.step(second) == 1 and whole else lie


def _cut_of_parts(shape: Merged, cut: tuning.FlatCut) -> tuning.FlatCut | None:
    """Return vectors that are whole rows of y, where these are parts of full ones and a column is beside them."""
    row = shape.dims[0].size
    if not tuning.PART_ROW <= row < cut.items or cut.items % row:
        return None
    lies = {lie_of(dataclasses.replace(shape, vector=row), operand) for operand in shape.inputs}
    if not lies & ({"still", "row"} if cut.items == 16 else {"still"}) or lies & {"apart", "row_off_grid"}:
        return None
    return tuning.short_cut(shape, row)


def build(problem: Problem[Any], shape: Merged, cut: tuning.FlatCut, beside: bool = False) -> Plan | Refused:
    """Return the plan for a cut. beside: a thread's vectors lie side by side, for operands that are plaited."""
    shape = dataclasses.replace(shape, vector=cut.items)
    lies = [lie_of(shape, operand) for operand in shape.inputs]
    if beside:
        lies = [_plaited(shape, lie, operand) for lie, operand in zip(lies, shape.inputs, strict=True)]
    linear = all(lie in LINEAR for lie in lies)
    dims: tuple[Dim, ...] = () if linear else shape.dims
    if not linear and (len(dims) > MAX_AXIS_DIMS or shape.elements > LIMIT - cut.tile):
        return Refused("more dims or elements than the kernel counts")
    near = not linear and max(operand.extent for operand in shape.inputs) <= NEAR
    types, rest = types_of(problem.params, problem.case.dtype), shape.elements % shape.vector
    numbers = (*cut, axis_struct(dims, near).cpp, _rows(dims, shape.vector), beside, rest > 0)
    kernel = instance("flat", problem.params.function, types, numbers, lies)
    blocks = ceil_div(shape.elements - rest, cut.tile) + min(rest, 1)
    if blocks > LIMIT:
        return Refused("more blocks than a grid has")
    p0, p1 = scalar_parameters(problem.params)
    packed = REST.value(p0=p0, p1=p1, extents=extents(shape))
    launch = (SOURCE, kernel, blocks, cut.threads)
    arguments = (int64(shape.elements), axis(dims, near), packed)
    return plan("flat", problem, shape, launch, arguments, _shared_bytes(shape, lies), **cut._asdict(), lies=lies)


def _rows(dims: Sequence[Dim], vector: int) -> str:
    """Return where vectors end in y's rows (`Rows` in elementwise/flat.cu)."""
    row = dims[0].size if dims else 0
    if row % vector == 0:
        return f"{SPACE}::whole_rows"
    name = "long" if row >= SHORT_ROW else "short" if row >= vector else "least"
    return f"{SPACE}::{name}_rows"


def _shared_bytes(shape: Merged, lies: Sequence[str]) -> int:
    """Return the shared memory of rows that repeat, each with two vectors more."""
    elements, lying = shape.dims[0].size + 2 * shape.vector, zip(shape.inputs, lies, strict=True)
    sizes = [dtypes.dtype(operand.dtype).itemsize for operand, lie in lying if lie == "repeating"]
    return sum(ceil_div(elements * size, 16) * 16 for size in sizes)
