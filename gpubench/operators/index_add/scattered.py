"""The host rule of `add_scattered` and `add_turned` of index_add/combined.cu: any layout by atomics."""

from __future__ import annotations

import math
from typing import Any

from gpubench import dtypes
from gpubench.model import Json, Launch, Plan, Pointer, Problem, Refused, Value
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, axis
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import tuning, walked
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.index_add.strides import Strides, strides_of, vector_of
from gpubench.operators.index_add.sums import alpha_value
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider

SOURCE = "index_add/combined.cu"
THREADS = 256
WARP = 32
SQUARE = 32
"""Indices, and elements of each, of a block that turns them in shared memory."""

SQUARE_LEAST = 16
"""The fewest elements of an index for which it does."""

ALONE = 2**18
ALONE_LEAST = 2**11
"""Elements up to which those of `FEW` indices, and of any number, do not look for others with their place: 133 x 28 x
103 x 4, 12 of float64, six to a place, 7.1 us (7.7); but 16 x 8 x 10248, 17 of complex128 55 (41)."""

TURNED_LEAST = 2**19
"""Elements from which operands that turn do so by squares: 437 x 16384, 43 of float64 10.7 us (12.1 by an atomic each),
3564 x 604, 455 of complex64 9.6 (8.4)."""

SHAPE = Struct(
    "gpubench::index_add::ScatteredShape",
    "index_add/scattered.cuh",
    squares=INTEGER_DIVIDER,
    **dict.fromkeys(("apart", "items", "count"), "u4"),
    **dict.fromkeys(("places", "place_step", "index_step"), "i8"),
)


def kernel(dtype: str, index: str, dims: int, vector: int, alone: bool) -> str:
    """Return the name expression of `add_scattered`; alone: lanes look for no others, and offsets fit 32 bits."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::add_scattered<{types}, {vector}, {dims}, {str(alone).lower()}>"


def turned_kernel(dtype: str, index: str, dims: int, *, to_places: bool = False) -> str:
    """Return the name expression of `add_turned`; to_places: where indices stand fastest in the destination."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    name = "add_turned_to_places" if to_places else "add_turned"
    return f"gpubench::index_add::{name}<{types}, {dims}>"


def build(problem: Problem[Any]) -> Plan | Refused:
    """Return the plan: squares where operands turn, else threads in the order of the destination's memory.

    Refuses more elements than 32-bit numbers count, and more dims than an axis has.
    """
    if problem.operand("source").view.size == 0:
        return Refused("there is nothing to add")
    strides = strides_of(problem)
    if len(strides.dims) >= MAX_AXIS_DIMS or not fits(strides.count * strides.positions + THREADS):
        return Refused(f"{MAX_AXIS_DIMS} dims or more beside the indexed one after merging, or {LIMIT} elements")
    dtype = problem.case.dtype
    if is_turned(strides, dtype):
        return _turned(problem, strides)
    whole = 1 if dtype in tuning.SINGLE else 16 // dtypes.dtype(dtype).itemsize
    vector = whole if vector_of(problem, strides, whole) == whole else 1
    dims = list(strides.dims)
    if vector > 1:
        dims[0] = Dim(dims[0].size // vector, (vector, vector))
    apart, dims = _with_index(dims, strides)
    items = math.prod(dim.size for dim in dims)
    elements = items * vector
    few = strides.count <= walked.MOST or elements <= ALONE_LEAST or (strides.count <= tuning.FEW and elements <= ALONE)
    apart = max(items, WARP) if few else apart  # too few to look for those that share a place
    near = max(operand.view.storage for operand in problem.operands) <= LIMIT
    alone = apart >= WARP and near
    threads = min(THREADS, max(32, power_of_two(ceil_div(items, 32))))
    name = kernel(dtype, problem.operand("index").dtype, len(dims), vector, alone)
    shape = SHAPE.value(strides, squares=divider(1), apart=apart, items=items)
    packed = axis(dims, near=alone)
    notes = {"vector": vector, "dims": len(dims), "alone": alone, "turned": False}
    return _plan(problem, name, (ceil_div(items, threads), threads), (shape, packed), notes)


def _with_index(dims: list[Dim], strides: Strides) -> tuple[int, list[Dim]]:
    """Return the indexed dim among the others, where the destination has it, and the elements before its next index."""
    inside = [dim for dim in dims if dim.steps[0] < strides.place_step]
    own = [Dim(strides.count, (0, strides.index_step, 1))] if strides.count > 1 or not dims else []
    every = [*inside, *own, *dims[len(inside) :]]
    return math.prod(dim.size for dim in inside), [Dim(dim.size, (*dim.steps, 0)[:3]) for dim in every]


def is_turned(strides: Strides, dtype: str) -> bool:
    """Say whether indices run fastest in one operand, elements in the other, and both are many enough for squares.

    Elements of 16 bytes are no squares: 256 x 376, 18585 of complex128 91 us (79 by atomics).
    """
    if dtypes.dtype(dtype).itemsize > 8:
        return False
    if strides.count < SQUARE or strides.positions < SQUARE_LEAST or not fits(strides.places):
        return False
    if strides.count * strides.positions < TURNED_LEAST:
        return False
    elements_first = strides.dims[0].steps[0] < strides.place_step
    if strides.is_denser(1):
        return elements_first
    return strides.is_denser(0) and len(strides.dims) == 1 and strides.count >= tuning.SQUARES_LEAST


def _turned(problem: Problem[Any], strides: Strides) -> Plan:
    """Return the plan of squares, whose lanes have indices where those stand fastest in the destination."""
    dtype, squares = problem.case.dtype, ceil_div(strides.count, SQUARE)
    blocks = squares * ceil_div(strides.positions, SQUARE)
    shape = SHAPE.value(strides, squares=divider(squares), apart=0, items=strides.positions)
    to_places = not strides.is_denser(1)
    name = turned_kernel(dtype, problem.operand("index").dtype, len(strides.dims), to_places=to_places)
    notes = {"vector": 1, "dims": len(strides.dims), "alone": False, "turned": True, "to_places": to_places}
    return _plan(problem, name, (blocks, THREADS), (shape, axis(strides.dims)), notes)


def _plan(
    problem: Problem[Any], name: str, size: tuple[int, int], packed: tuple[Value, Value], notes: dict[str, Json]
) -> Plan:
    """Return the plan of one launch; size: blocks, and threads of each; packed: the shape, and the axis."""
    pointers = (Pointer("destination"), Pointer("source"), Pointer("index"))
    alpha = alpha_value(problem.params.alpha, problem.case.dtype)
    launch = Launch(SOURCE, name, (size[0], 1, 1), (size[1], 1, 1), (*pointers, packed[0], alpha, packed[1]))
    return atomic_plan("combined", (launch,), problem, notes={"rows": 1, "lanes": 1, **notes})
