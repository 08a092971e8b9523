"""The host rule of index_add/one_place.cuh: rows of a source that is dense along a dim of one place, added up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import is_exact
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, axis
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_plan, grouped_accuracy
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.strides import Strides, strides_of
from gpubench.operators.structs import Struct

SOURCE = "index_add/combined.cu"
THREADS = 256
LANES = 32
BLOCKS = 3
"""Blocks that share an SM."""

MOST_PIECE = 2048
"""Indices of a piece, of which a block has bits."""

MORE = 16
"""Additions of parts: those of a vector's elements, of lanes, and to the destination."""

SHAPE = Struct(
    "gpubench::index_add::OnePlaceShape",
    "index_add/one_place.cuh",
    **dict.fromkeys(("rows", "count", "piece"), "u4"),
    lanes="i4",
    index_step="i8",
    alpha="f8",
)


def is_for(problem: Problem[Any]) -> bool:
    """Say whether lanes should share rows of the source, which come to a place each."""
    strides = strides_of(problem)
    elements = strides.count * strides.positions
    few = tuning.ONE_ROWS_LIST[0] <= strides.count <= tuning.ONE_ROWS_LIST[1]
    if strides.places != 1 or not few or elements < tuned("ONE_ROWS_LEAST", tuning.ONE_ROWS_LEAST):
        return False
    return strides.positions >= tuning.ONE_ROWS and strides.index_step > 0 and strides.is_denser(1)


def rows_at_once(itemsize: int) -> int:
    """Return the rows of a group of lanes: `one_place_rows` in C++."""
    return 2 if itemsize > 8 else 4


def vectors_at_once(itemsize: int, vector: int) -> int:
    """Return the vectors of a row on their way to a lane: `vectors_at_once` in C++."""
    wide = vector * itemsize
    if wide > 8 and itemsize <= 8:
        return 1
    return 2 if wide > 4 else 4


def kernel(dtype: str, index: str, vector: int, dims: int, *, alone: bool) -> str:
    """Return the name expression; alone: whether the list is in one piece."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::add_rows_to_one<{types}, {vector}, {dims}, {str(alone).lower()}>"


def instances(dtype: str) -> Iterator[tuple[str, str]]:
    """Yield those of one dim: vectors of 16 bytes, and elements, for each index dtype."""
    widest = 16 // dtypes.dtype(dtype).itemsize
    for index in INDEX_DTYPES:
        for vector in sorted({widest, 1}):
            yield from ((SOURCE, kernel(dtype, index, vector, 1, alone=alone)) for alone in (False, True))


def vector_along(problem: Problem[Any], strides: Strides) -> int:
    """Return the elements of the widest vector, of up to 16 bytes, of which every row has a whole number."""
    if strides.index_step != 1:
        return 1
    most = 16 // dtypes.dtype(problem.case.dtype).itemsize
    steps = [dim.steps[1] for dim in strides.dims if dim.size > 1]
    return math.gcd(most, strides.count, problem.operand("source").view.offset, *steps)


def lanes_of(count: int, vector: int, itemsize: int) -> int:
    """Return the lanes of a group: as few as have a row on its way at once."""
    return min(LANES, power_of_two(ceil_div(count // vector, vectors_at_once(itemsize, vector))))


def build(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan. Refuses several places, more dims than an axis has, and more rows than 32-bit numbers count."""
    if problem.operand("source").view.size == 0:
        return Refused("there is nothing to add")
    strides, dtype = strides_of(problem), problem.case.dtype
    itemsize = dtypes.dtype(dtype).itemsize
    most_rows = THREADS * rows_at_once(itemsize)
    if (
        strides.places != 1
        or len(strides.dims) > MAX_AXIS_DIMS
        or not fits(strides.positions + most_rows, strides.count)
    ):
        return Refused(f"several places, more than {MAX_AXIS_DIMS} dims after merging, or {LIMIT} rows or indices")
    vector = vector_along(problem, strides)
    lanes = lanes_of(strides.count, vector, itemsize)
    blocks = ceil_div(strides.positions, THREADS // lanes * rows_at_once(itemsize))
    turn = lanes * vector * vectors_at_once(itemsize, vector)
    turns = ceil_div(strides.count, turn)
    pieces = min(turns, max(1, BLOCKS * device.sm_count // blocks))
    piece = min(turn * ceil_div(turns, pieces), MOST_PIECE // turn * turn)
    pieces = ceil_div(strides.count, piece)
    launch = Launch(
        SOURCE,
        kernel(dtype, problem.operand("index").dtype, vector, max(1, len(strides.dims)), alone=pieces == 1),
        (blocks, pieces, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            SHAPE.value(strides, rows=strides.positions, piece=piece, lanes=lanes, alpha=problem.params.alpha),
            axis(strides.dims),
        ),
    )
    notes = {"one_place": True, "along": True, "vector": vector, "lanes": lanes, "pieces": pieces}
    if pieces > 1:
        return atomic_plan("combined", (launch,), problem, notes=notes)
    exact = is_exact(dtype)  # floats repeat, too; but the source has atomics
    return Plan("combined", (launch,), grouped_accuracy(problem, MORE), 0, False, notes, repeatable=exact)
