"""The host rule of index_add/walked.cuh: few indices, added as an elementwise operation walks its output."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import is_exact
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.axes import MAX_AXIS_DIMS, axis
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add.accuracy import atomic_plan, grouped_accuracy
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.strides import Strides, strides_of, vector_of
from gpubench.operators.index_add.tuning import CUT, SINGLE, SMALL
from gpubench.operators.sectors import SECTOR
from gpubench.operators.structs import Struct, unsigned

SOURCE = "index_add/combined.cu"
THREADS = 256

SEVERAL = 4
SEVERAL_BYTES = 4
SEVERAL_WAVES = 32
"""Items of a thread where it has up to so many bytes of each, of one or two indices, side by side in the destination,
and blocks of one item a thread would be so many an SM: 4864 x 4 x 352 of int32 turned 33 us (39 by one), 87 x 43623 of
int8 11 (17); but rows of 2 int16 apart 96 (88), four indices of bfloat16 40 (32)."""

MOST = 8
LEAST = 2**21
LEAST_SMALL = 2**11
"""Indices up to which a thread has them all, of a source of so many bytes; of `SMALL`, whose words atomics take in two
steps, of one or two indices, or so many elements: 8 x 256 x 496 of int64, 8 indices 30 us (52 by an atomic each),
60564 x 11 x 4, 2 of float32 13.2 (16.8), 56932 x 2 x 48, 8 of int16 32 (118), 15104 x 32, 1 of int16 5.3 (6.9)."""

ONE_WALKED_LEAST = 17 * 2**16
"""... of one index of a dtype that atomics add element by element, and operands that lie alike: on an H100 3 x 140000
float64 5.9 us (6.4), 3 x 400000 int32 6.4 (7.1), but 3 x 262144 int32 5.8 (5.2), and of a source permuted 15.1
(11.4)."""

ONE_LEAST = 2**18
ONE_BLOCKS = 4
ONE_AT_ONCE = 8
"""Elements of the source from which more indices than that are added up so where the dim has one place; blocks an SM,
for which the list is cut in pieces; indices on their way, of which a piece is a multiple: 126 x 1 x 512, 29 indices 8.7
us (16.8 by an atomic each)."""

ONE_POSITIONS = 256
ONE_CUT, ONE_CUT_LEAST = 64, 2**22
"""Positions from which they are where the source's fastest dim is the destination's, too, and the most indices, or
elements, of `CUT` where rows stand anywhere, which warps take by cut vectors: 70 random cases 1.33 times as fast as by
warps and their atomics, 372267 x 1, 9 of bfloat16 9.6 us (31), 1 x 2000, 2000 of int8 29 (190); but 40 positions, 60000
of float32 31 (21), and 1 x 237125, 294 of bfloat16 92 (59)."""

APART = 64
"""Bytes from a position of the destination to the next from which elements of up to 8 bytes are atomics, which need no
trip there and back: 145 x 8192 x 16, 2 of int64 49 us (83 walked), 1048576 x 80, 1 of int16 52 (67); but of 48 bytes,
1944640 x 6, 1 of float64 56 (52), and of 16, 65 x 16384 x 3, 3 of complex128 90 (42). Several of `SMALL` may meet in
one word: 512 x 891, 5 of int8 on one place 44 (12)."""

SHAPE = Struct(
    "gpubench::index_add::WalkedShape",
    "index_add/walked.cuh",
    **dict.fromkeys(("items", "count", "width", "height"), "u4"),
    **dict.fromkeys(("places", "place_step", "index_step"), "i8"),
    alpha="f8",
)


@dataclass(frozen=True, slots=True)
class Walk:
    """The dims in the order in which they are counted; width, height: sizes of two of them before they were cut."""

    dims: tuple[Dim, ...]
    width: int = 0
    height: int = 0

    @property
    def items(self) -> int:
        """Numbers that are counted: what rectangles have beyond the dims, too."""
        return math.prod(dim.size for dim in self.dims)


def is_for(problem: Problem[Any]) -> bool:
    """Say whether a thread should have all indices of its positions."""
    source, dtype, strides = problem.operand("source").view, problem.case.dtype, strides_of(problem)
    if is_for_one(problem, strides):
        return True
    itemsize, small = dtypes.dtype(dtype).itemsize, dtype in SMALL
    apart = bool(strides.dims) and strides.dims[0].steps[0] * itemsize >= APART and itemsize <= 8
    if strides.count > MOST or (apart and not (small and strides.count > 1)):
        return False
    if small:
        return strides.count <= 2 or source.size >= LEAST_SMALL
    alike = len(strides.dims) == 1 and strides.dims[0].steps == (1, 1)
    one = strides.count == 1 and dtype in (*SINGLE, "complex128") and alike
    return source.size * itemsize >= (tuned("ONE_WALKED_LEAST", ONE_WALKED_LEAST) if one else LEAST)


def is_for_one(problem: Problem[Any], strides: Strides) -> bool:
    """Say whether the source is added up along indices that can but name one place, unless it is dense along them."""
    elements, fastest, dtype = strides.count * strides.positions, strides.fastest_of_source, problem.case.dtype
    if strides.places != 1 or strides.count <= MOST or elements < ONE_LEAST or not strides.dims:
        return False
    if not 0 < strides.dims[fastest].steps[1] < strides.index_step:
        return False
    if fastest > 0:
        return True
    cut = dtype in CUT and strides.count > ONE_CUT and elements >= ONE_CUT_LEAST
    ragged = cut and vector_of(problem, strides, 16 // dtypes.dtype(dtype).itemsize) == 1
    return strides.positions >= ONE_POSITIONS and not ragged


def kernel(dtype: str, index: str, vector: int, most: int, each: int, walk: Walk) -> str:
    """Return the name expression; most: indices, each: items of a thread."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    rectangles = str(walk.width > 0).lower()
    return f"gpubench::index_add::add_walked<{types}, {vector}, {most}, {each}, {len(walk.dims)}, {rectangles}>"


def kernel_of_one(dtype: str, index: str, vector: int, walk: Walk) -> str:
    """Return the name expression for a dim of one place."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    rectangles = str(walk.width > 0).lower()
    return f"gpubench::index_add::add_to_one<{types}, {vector}, {len(walk.dims)}, {rectangles}>"


def instances(dtype: str) -> Iterator[tuple[str, str]]:
    """Yield those of one index: vectors, elements, and rectangles of two dims, for each index dtype."""
    line, square = Walk((Dim(2, (1, 1)),)), Walk((Dim(2, (1, 2)),) * 4, 2, 2)
    for index in INDEX_DTYPES:
        yield SOURCE, kernel(dtype, index, 16 // dtypes.dtype(dtype).itemsize, 1, 1, line)
        yield SOURCE, kernel(dtype, index, 1, 1, SEVERAL, square)
        yield SOURCE, kernel(dtype, index, 1, MOST, 1, square)
        yield SOURCE, kernel_of_one(dtype, index, 1, square)


def walk_of(dims: tuple[Dim, ...], sector: int) -> Walk:
    """Return the dims as they are, or cut into rectangles where another than the first is the source's fastest."""
    across = min(range(len(dims)), key=lambda number: dims[number].steps[1], default=0)
    if across == 0 or dims[across].steps[1] == 0:
        return Walk(dims or (Dim(1, (0, 0)),))
    first, second = dims[0], dims[across]
    high = _even(second.size, sector)
    wide = _even(first.size, max(sector, ceil_div(32, high)))
    cut = ((first, wide), (second, high))
    near = [Dim(size, dim.steps) for dim, size in cut]
    far = [Dim(ceil_div(dim.size, size), tuple(size * step for step in dim.steps)) for dim, size in cut]
    rest = [dim for number, dim in enumerate(dims) if number not in (0, across)]
    return Walk((*near, *far, *rest), first.size, second.size)


def _even(size: int, most: int) -> int:
    """Return the size of as few equal parts as there must be."""
    return ceil_div(size, ceil_div(size, most))


def build(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan. Refuses more indices than a thread holds, more dims than an axis has, and more positions than
    32-bit numbers count.
    """
    dtype = problem.case.dtype
    if problem.operand("source").view.size == 0:
        return Refused("there is nothing to add")
    strides = strides_of(problem)
    itemsize, dims = dtypes.dtype(dtype).itemsize, strides.dims
    vector = vector_of(problem, strides, 16 // itemsize)
    if vector > 1:
        walk = Walk((Dim(dims[0].size // vector, (vector, vector)), *dims[1:]))
    else:
        walk = walk_of(dims, max(8, SECTOR // itemsize))
    too_many = strides.count > MOST and strides.places != 1
    if too_many or len(walk.dims) > MAX_AXIS_DIMS or not fits(walk.items + SEVERAL * THREADS, strides.count):
        return Refused(f"more than {MOST} indices, {MAX_AXIS_DIMS} dims after merging, or {LIMIT} positions")
    if strides.count > MOST:
        return _of_one(problem, strides, walk, vector, device)
    most = power_of_two(strides.count)
    dense = bool(dims) and dims[0].steps[0] == 1 and dims[0].size * itemsize >= SECTOR
    small = most <= 2 and vector * itemsize <= SEVERAL_BYTES
    several = dense and small and walk.items >= SEVERAL_WAVES * device.sm_count * THREADS
    each = SEVERAL if several else 1
    threads = min(THREADS, max(32, power_of_two(ceil_div(walk.items, 32))))
    launch = Launch(
        SOURCE,
        kernel(dtype, problem.operand("index").dtype, vector, most, each, walk),
        (ceil_div(walk.items, threads * each), 1, 1),
        (threads, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            SHAPE.value(strides, walk, alpha=problem.params.alpha),
            axis(walk.dims),
        ),
    )
    notes = {"rows": most, "vector": vector, "dims": len(walk.dims), "each": each, "rectangles": walk.width > 0}
    exact = is_exact(dtype)  # floats repeat, too; but the source has atomics
    return Plan("combined", (launch,), grouped_accuracy(problem, 1), 0, False, notes, repeatable=exact)


def _of_one(problem: Problem[Any], strides: Strides, walk: Walk, vector: int, device: DeviceInfo) -> Plan:
    """Return the plan for a dim of one place: the list in as many pieces as give all SMs work, joined by atomics."""
    dtype, blocks = problem.case.dtype, ceil_div(walk.items, THREADS)
    turns = ceil_div(strides.count, ONE_AT_ONCE)
    piece = ONE_AT_ONCE * ceil_div(turns, min(turns, max(1, ONE_BLOCKS * device.sm_count // blocks)))
    pieces = ceil_div(strides.count, piece)
    launch = Launch(
        SOURCE,
        kernel_of_one(dtype, problem.operand("index").dtype, vector, walk),
        (blocks, pieces, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            unsigned(piece, 4),
            SHAPE.value(strides, walk, alpha=problem.params.alpha),
            axis(walk.dims),
        ),
    )
    notes = {
        "one_place": True,
        "vector": vector,
        "dims": len(walk.dims),
        "pieces": pieces,
        "rectangles": walk.width > 0,
    }
    if pieces > 1:
        return atomic_plan("combined", (launch,), problem, notes=notes)
    exact = is_exact(dtype)  # as in `build`
    return Plan("combined", (launch,), grouped_accuracy(problem, 1), 0, False, notes, repeatable=exact)
