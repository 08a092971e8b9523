"""The host rule of index_add/owned.cuh: a thread owns the places of a position, whatever the strides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import is_exact
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.rounding import ceil_div, power_of_two, power_of_two_within
from gpubench.operators.index_add import owning, sort
from gpubench.operators.index_add.accuracy import atomic_plan, grouped_accuracy
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.index_add.owned_tiles import BLOCKS, THREADS, Tile, is_by_source, tile_of
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.strides import Strides, strides_of, vector_of
from gpubench.operators.index_add.sums import sum_bytes
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divided_strided, divider

SOURCE = "index_add/combined.cu"
PIECES = (128, 2048)
"""The fewest and the most pairs of a longer list that a block takes at once."""

REACH = 2 * LIMIT
"""Elements from the first that numbers of 32 bits without a sign reach."""

BEHIND = 9
"""Pairs behind a list in shared memory that are none: pairs_behind in owned.cuh."""

DIGIT_BITS, PAIRS_EACH, COUNTS = 7, 2, 256
"""Of a block's sort (pair_sort.cuh): bits of a row in a pass, pairs of a thread at most, bytes of a warp's counts."""

VECTORS_LIST = 4
"""Indices a place from which a thread has neighbours of the source that are none in the destination: 16 x 12 x 16384,
26 of complex64 67 us (48 by one position a thread). With those that are, too, 112 random cases 1.21 times as fast, 0.84
to 2.1: 2 x 61383 x 20, 10 of uint8 17 us (36), 73491 x 6 x 14, 14 of float16 32 (49)."""

SHAPE = Struct(
    "gpubench::index_add::OwnedShape",
    "index_add/owned_tile.cuh",
    **dict.fromkeys(("tiles", "columns", "rows"), INTEGER_DIVIDER),
    **dict.fromkeys(("width", "height", "size", "across"), "u4"),
    rectangles="i4",
    **dict.fromkeys(("units", "window", "count", "piece", "room", "pitch", "words", "lanes"), "u4"),
    inside="i4",
    **dict.fromkeys(("to_along", "of_along", "to_across", "of_across", "places"), "i8"),
    alpha="f8",
    **dict.fromkeys(("place_step", "index_step", "item_step", "to_item", "passes", "heads"), "u4"),
)
PAIRS = "gpubench::Pair"


def instances(dtype: str) -> Iterator[tuple[str, str]]:
    """Yield two an index dtype, for a list of one piece and of several, and one for sorted pairs; of vectors, too."""
    itemsize = dtypes.dtype(dtype).itemsize
    for vector, beside in {(1, True), *((most_vector(itemsize, beside=beside), beside) for beside in (False, True))}:
        for index in INDEX_DTYPES:
            yield from ((SOURCE, kernel(dtype, index, vector, meets=meets, beside=beside)) for meets in (False, True))
        yield SOURCE, kernel(dtype, PAIRS, vector, meets=False, beside=beside)


def kernel(dtype: str, index: str, vector: int, *, meets: bool, beside: bool) -> str:
    """Return the name expression; meets: whether blocks that sort other pieces add to the same places.

    vector: positions of a thread, neighbours in the source; beside: and in the destination.
    """
    listed = index if index == PAIRS else dtypes.dtype(index).cpp
    flags = f"{str(meets).lower()}, {vector}, {str(beside or vector == 1).lower()}"
    return f"gpubench::index_add::add_owned<{dtypes.dtype(dtype).cpp}, {listed}, {flags}>"


@dataclass(frozen=True, slots=True)
class Walk:
    """How the kernel walks tiles: rectangles of two dims, or runs of all positions; in how many pieces of the list.

    size, across, the steps: of the first dim and the second. rest: slowest first.
    """

    tiles: int
    columns: tuple[int, int, int]
    rows: tuple[int, int, int]
    size: int
    across: int
    rectangles: int
    to_along: int
    of_along: int
    to_across: int
    of_across: int
    rest: tuple[Dim, ...]


def _walk(strides: Strides, tile: Tile) -> Walk:
    first, second, rest = Dim(strides.positions, (0, 0)), Dim(1, (0, 0)), strides.dims
    if tile.height > 1:
        number = strides.fastest_of_source
        first, second = rest[0], rest[number]
        rest = tuple(dim for other, dim in enumerate(rest) if other not in (0, number))
    columns, rows = ceil_div(first.size, tile.width), ceil_div(second.size, tile.height)
    tiles = columns * rows * (math.prod(dim.size for dim in rest) if tile.height > 1 else 1)
    (to_along, of_along), (to_across, of_across) = first.steps, second.steps
    return Walk(
        tiles, divider(columns), divider(rows), first.size, second.size,
        int(tile.height > 1), to_along, of_along, to_across, of_across, rest[::-1],
    )  # fmt: skip


def _cut(problem: Problem[Any], strides: Strides, device: DeviceInfo) -> tuple[Strides, Tile]:
    """Return the dims in the order in which positions stand, in vectors if that pays, and a tile of them."""
    dtype = problem.case.dtype
    room = device.max_shared_bytes - 2048 - _heads(Tile(THREADS, 1, 1), dtype) - 8 * _room(strides.count)
    tile = tile_of(strides, dtype, room, device)
    if is_by_source(strides, dtype, tile):
        strides = strides.by_source()
        tile = tile_of(strides, dtype, room, device)
    vector, beside = _vector(problem, strides, tile, device)
    if vector == 1:
        return strides, tile
    strides = strides.in_vectors(vector)
    return strides, replace(tile_of(strides, dtype, 0, device, vector), vector=vector, beside=beside)


def build(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan. Refuses more than 32-bit numbers count, and more dims than the kernel walks."""
    dtype = problem.case.dtype
    if problem.operand("source").view.size == 0:
        return Refused("there is nothing to add")
    strides = strides_of(problem)
    count = strides.count
    too_much = Refused(f"more than {MAX_DIMS} dims after merging, or {LIMIT} places or pieces of work")
    if not fits(strides.positions, strides.places, count):
        return too_much
    if max(strides.places * strides.place_step, count * strides.index_step) > REACH:
        return Refused(f"places or indices farther apart than {REACH} elements")
    strides, tile = _cut(problem, strides, device)
    walk = _walk(strides, tile)
    sorting = None
    if count > owning.OWNED_SORTED and (tile.pitch or not owning.is_owned_alone(strides, dtype)):
        sorting = sort.sort_of(count, strides.places, device)
    piece = count if sorting or tile.pitch else min(count, owning.OWNED_SORTED, PAIRS_EACH * tile.threads)
    while PIECES[0] < piece < count and 4 * strides.places <= piece:  # two indices of half a piece come to each place
        if walk.tiles * count >= 2 * device.sm_count * piece:
            break
        piece //= 2
    if sorting and not tile.pitch:
        piece = max(PIECES[0], min(PIECES[1], power_of_two_within(count * walk.tiles // (4 * device.sm_count))))
    pieces = ceil_div(count, piece)
    if len(walk.rest) > MAX_DIMS or not fits(walk.tiles * pieces):
        return too_much
    adding = _launch(problem, strides, tile, walk, piece, sorting, device)
    notes = {"width": tile.width, "height": tile.height, "shares": tile.shares}
    notes |= {"vector": tile.vector, "beside": tile.beside}
    notes |= {"near": tile.pitch > 0, "inside": tile.inside > 0, "pieces": pieces, "sorted": bool(sorting)}
    steps = (sorting.launch(problem, Workspace(0), 0), adding) if sorting else (adding,)
    size = sorting.size if sorting else 0
    if pieces > 1:
        return atomic_plan("combined", steps, problem, size, workspace_zeroed=bool(sorting), notes=notes)
    exact = is_exact(dtype)  # floats repeat, too, unless pieces meet; but the source has atomics
    return Plan("combined", steps, grouped_accuracy(problem, 16), size, bool(sorting), notes, repeatable=exact)


def _room(pairs: int) -> int:
    """Return the pairs that stand in shared memory, with those behind: even, for what stands there is aligned."""
    return 2 * ceil_div(pairs + BEHIND, 2)


def _heads(tile: Tile, dtype: str, *, sorts: bool = True) -> int:
    """Return the bytes in front of the list: where positions of a tile start, what windows begin with, and counts.

    They stand there in turn, never together. sorts: whether blocks sort the list themselves.
    """
    begin, counts = tile.threads * tile.vector * sum_bytes(dtype), COUNTS * tile.threads // 32
    return max(begin, counts if sorts else 0, 8 * tile.width if tile.pitch else 0)


def most_vector(itemsize: int, *, beside: bool) -> int:
    """Return the positions that a thread has at most: fewer where what the destination has of them is brought, too."""
    return max(1, min(4, (8 if beside else 16) // itemsize))


def _vector(problem: Problem[Any], strides: Strides, tile: Tile, device: DeviceInfo) -> tuple[int, bool]:
    """Return how many neighbours of the source a thread has, and whether they are such in the destination, too.

    Fewer where tiles and pieces of the list were fewer than SMs.
    """
    itemsize, dims = dtypes.dtype(problem.case.dtype).itemsize, strides.dims
    if tile.pitch or tile.inside or tile.height > 1 or not dims or dims[0].steps[1] != 1:
        return 1, True
    beside = dims[0].steps[0] == 1
    few, far = strides.count < VECTORS_LIST * strides.places, most_vector(itemsize, beside=False) * dims[0].steps[0]
    if not beside and (few or far > REACH):
        return 1, True
    most = most_vector(itemsize, beside=beside)
    while most > 1 and strides.positions * ceil_div(strides.count, owning.OWNED_SORTED) < most * 32 * device.sm_count:
        most //= 2
    return vector_of(problem, strides, most, (0, 1) if beside else (1,)), beside


def _launch(
    problem: Problem[Any],
    strides: Strides,
    tile: Tile,
    walk: Walk,
    piece: int,
    sorting: sort.Sort | None,
    device: DeviceInfo,
) -> Launch:
    """Return the launch: as many blocks as are resident, since each brings the list."""
    dtype, itemsize = problem.case.dtype, dtypes.dtype(problem.case.dtype).itemsize
    listed = PAIRS if sorting else problem.operand("index").dtype
    near = tile.width * tile.height * tile.pitch * itemsize
    heads = _heads(tile, dtype, sorts=not sorting)
    shared = ceil_div(heads + 8 * _room(piece) + near, 16) * 16
    resident = min(BLOCKS[itemsize > 4] * THREADS // tile.threads, device.max_shared_bytes // (shared + 1024))
    units, sizes = walk.tiles * ceil_div(strides.count, piece), [dim.size for dim in walk.rest]
    return Launch(
        SOURCE,
        kernel(dtype, listed, tile.vector, meets=not sorting and piece < strides.count, beside=tile.beside),
        (min(units, device.sm_count * max(1, resident)), 1, 1),
        (tile.threads, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            sorting.pairs if sorting else Pointer("index"),
            sorting.kept if sorting else Workspace(0),
            sorting.meetings if sorting else Workspace(0),
            *(divided_strided(sizes, [dim.steps[operand] for dim in walk.rest]) for operand in (0, 1)),
            SHAPE.value(
                tile,
                strides,
                walk,
                tiles=divider(walk.tiles),
                units=units,
                to_item=strides.dims[0].steps[0] // tile.vector if tile.vector > 1 else 0,
                window=ceil_div(piece, tile.shares) | tile.inside,  # odd: neighbours' pairs lie in other banks
                piece=piece,
                room=_room(piece),
                item_step=1 if tile.pitch else strides.index_step,
                passes=ceil_div(strides.places.bit_length(), DIGIT_BITS),
                heads=heads,
                words=sorting.meeting_words if sorting else 0,
                lanes=min(tile.threads, max(tile.shares, 32), power_of_two(ceil_div(strides.count, 4))),
                alpha=problem.params.alpha,
            ),
        ),
        shared_bytes=shared,
    )
