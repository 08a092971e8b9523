"""The host rule of cumsum/transposed_tiles.cu: x and y disagree on their fastest dim, and one of these is summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import transposed_tuning
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.geometry import transposed_of
from gpubench.operators.cumsum.transposed_tuning import TransposedShape
from gpubench.operators.geometry.transposed import Transposed
from gpubench.operators.geometry.vectors import accumulator_bytes, exchange_bytes, is_half, is_narrow, items_of
from gpubench.operators.launch import template
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import MAX_DIMS, Struct, int32, int64, strided

TRANSPOSED_SHAPE = Struct(
    "gpubench::TransposedShape",
    "gpubench/movement/transpose.cuh",
    **dict.fromkeys(("length", "across", "x_along", "x_across", "y_along", "y_across", "strips"), "i8"),
)


WHOLE_LINES, SUMS_OF_CHUNKS, BEHIND_SUMS = PASSES = (0, 1, 2)
"""`whole_lines` and so on in C++: what a launch does."""

NOT_TRANSPOSED = "takes only x and y with different fastest dims, one of which is summed"


def not_strips(transposed: Transposed, lines: int) -> Refused | None:
    """Refuse what strips of so many lines do not cover."""
    if len(transposed.sizes) > MAX_DIMS:
        return Refused(f"takes at most {MAX_DIMS} further dims")
    if transposed.strips(lines) >= 2**31:
        return Refused("takes at most 2^31 - 1 strips")
    return None


def needs_more_shared(device: DeviceInfo) -> Refused:
    """Refuse a device whose blocks have too little shared memory."""
    return Refused(f"needs more than the {device.max_shared_bytes} bytes of shared memory of a block")


def strip_launch(transposed: Transposed, source: str, name: str, lines: int, threads: int, shared_bytes: int) -> Launch:
    """Return the launch of a kernel whose blocks walk strips of so many lines (`TransposedShape` in C++)."""
    shape = TRANSPOSED_SHAPE.value(transposed, strips=-(-transposed.across // lines))
    return Launch(
        source,
        name,
        (transposed.strips(lines), 1, 1),
        (threads, 1, 1),
        (
            Pointer("x"),
            Pointer("y"),
            shape,
            strided(transposed.sizes, transposed.x_batch),
            strided(transposed.sizes, transposed.y_batch),
        ),
        shared_bytes=shared_bytes,
    )


class TransposedTiles:
    """Transposed operands: tiles transposed in shared memory."""

    name: str = "transposed_tiles"
    summary: str = "x and y with different fastest dims: tiles transposed in shared memory"
    origin: str = "a block walks a strip of lines; one of the two fastest dims is summed"
    source = "cumsum/transposed_tiles.cu"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch, a block a strip."""
        transposed = transposed_of(problem)
        if transposed is None:
            return Refused(NOT_TRANSPOSED)
        shape = transposed_shape(problem, transposed, device)
        if shape is None:
            return needs_more_shared(device)
        if refused := not_strips(transposed, shape.lines):
            return refused
        x, y = problem.operand("x").dtype, problem.operand("y").dtype
        cut = chunks_of(problem, transposed, shape, device)
        sums = transposed.strips(shape.lines) * shape.lines * cut.chunks * accumulator_bytes(y) if cut.chunks > 1 else 0
        passes = (SUMS_OF_CHUNKS, BEHIND_SUMS) if cut.chunks > 1 else (WHOLE_LINES,)
        launches = tuple(tiles_launch(problem, transposed, shape, cut, which) for which in passes)
        tiles = -(-min(transposed.length, cut.length) // tile_length(x, y, transposed.x_along_lines, shape))
        additions = lane_items(x, y, transposed.x_along_lines) + 6 + shape.vectors * tiles + (6 + cut.chunks // 32)
        notes = {"lines": shape.lines, "x_along_lines": transposed.x_along_lines, "chunks": cut.chunks}
        return Plan(self.name, launches, bound(problem, additions), workspace_bytes=sums, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance a shape and direction."""
        y = sum_dtype(dtype)
        return [
            (self.source, kernel(dtype, y, along, shape, which))
            for along in (True, False)
            for shape in shapes_of(dtype, along)
            for which in PASSES
        ]

    def instances_on(self, dtype: str, device: DeviceInfo) -> Sequence[tuple[str, str]]:
        """Those of the largest tile that fits, and of the smallest without chunks: it is for many strips."""
        y = sum_dtype(dtype)
        ends = {along: fitting_shapes(dtype, y, along, device) for along in (True, False)}
        names = [
            kernel(dtype, y, along, shape, which)
            for along, fit in ends.items()
            for shape in (*fit[:1], *fit[-1:])
            for which in (PASSES if shape is fit[0] else (WHOLE_LINES,))
        ]
        return [(self.source, name) for name in dict.fromkeys(names)]


@dataclass(frozen=True, slots=True)
class Chunks:
    """A line as so many chunks, each of `length` elements but the last."""

    chunks: int
    length: int


def tile_length(x: str, y: str, x_along_lines: bool, shape: TransposedShape) -> int:
    """Return the elements of a line in a tile."""
    return 32 * shape.vectors * lane_items(x, y, x_along_lines)


def chunks_of(problem: Problem[Any], transposed: Transposed, shape: TransposedShape, device: DeviceInfo) -> Chunks:
    """Return the chunks of a line: one, where strips are enough, else as many as give every SM its blocks.

    Chunks are whole tiles, several of them, so that x and y stand in each as they do in the first.
    """
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    tile = tile_length(x, y, transposed.x_along_lines, shape)
    blocks = device.sm_count * max(32 // shape.warps, 1)
    most = transposed.length // (tuned("CHUNK_TILES", transposed_tuning.CHUNK_TILES) * tile)
    chunks = min(blocks // transposed.strips(shape.lines), most)
    if chunks < 2:
        return Chunks(1, transposed.length)
    length = -(-transposed.length // (chunks * tile)) * tile
    return Chunks(-(-transposed.length // length), length)


def tiles_launch(
    problem: Problem[Any], transposed: Transposed, shape: TransposedShape, cut: Chunks, which: int
) -> Launch:
    """Return one launch: of whole lines, of the chunks' sums, or of what stands behind these."""
    x, y, along = problem.operand("x").dtype, problem.operand("y").dtype, transposed.x_along_lines
    name, shared = kernel(x, y, along, shape, which), shared_bytes(x, y, along, shape)
    launch = strip_launch(transposed, TransposedTiles.source, name, shape.lines, 32 * shape.warps, shared)
    arguments = (*launch.arguments, int32(cut.chunks), int64(cut.length), Workspace(0))
    return replace(launch, grid=(launch.grid[0] * cut.chunks, 1, 1), arguments=arguments)


def kernel(x: str, y: str, x_along_lines: bool, shape: TransposedShape, which: int) -> str:
    """Return the name expression."""
    numbers = (x_along_lines, shape.lines, shape.warps, shape.vectors, which)
    return "gpubench::cumsum::transposed_tiles" + template(x, y, *numbers)


def transposes_words(x: str, x_along_lines: bool) -> bool:
    """Tell whether x comes across the lines by words of several elements (`transposes_words` in C++)."""
    return not x_along_lines and (is_narrow(x) or is_half(x))


def shared_bytes(x: str, y: str, x_along_lines: bool, shape: TransposedShape) -> int:
    """Return the dynamic shared memory of a block: two tiles; words of integers are exchanged through more."""
    vectors = 32 * shape.vectors * shape.lines
    if transposes_words(x, x_along_lines):
        return 2 * 16 * vectors + shape.warps * exchange_bytes(x, shape.vectors * lane_items(x, y, x_along_lines))
    item = accumulator_bytes(y) if x_along_lines and not is_narrow(x) else max(dtypes.dtype(x).itemsize, 4)
    return 2 * vectors * lane_items(x, y, x_along_lines) * item


def shapes_of(x: str, x_along_lines: bool) -> tuple[TransposedShape, ...]:
    """Return the shapes to choose from, largest first."""
    if transposes_words(x, x_along_lines):
        return transposed_tuning.WORDS_SHAPES[dtypes.dtype(x).itemsize]
    if is_narrow(x):
        return transposed_tuning.NARROW_SHAPES
    return transposed_tuning.HALF_SHAPES if is_half(x) else transposed_tuning.SHAPES


def lane_items(x: str, y: str, x_along_lines: bool) -> int:
    """Return the elements side by side of a lane (`V` of `TransposedStrip` and `TransposedRuns` in C++)."""
    if transposes_words(x, x_along_lines):
        return 16 // dtypes.dtype(x).itemsize
    return 4 if is_narrow(x) and x_along_lines else items_of(x, y)


def transposed_shape(problem: Problem[Any], transposed: Transposed, device: DeviceInfo) -> TransposedShape | None:
    """Return the largest tile that fits; the smallest where there are strips enough to fill the SMs several times."""
    x, y = problem.operand("x").dtype, problem.operand("y").dtype
    fitting = fitting_shapes(x, y, transposed.x_along_lines, device)
    if not fitting:
        return None
    wanted = tuned("TRANSPOSED_SHAPE", None)
    if wanted is not None and TransposedShape(*wanted) in fitting:
        return TransposedShape(*wanted)
    many = transposed.strips(fitting[0].lines) >= transposed_tuning.STRIPS * device.sm_count
    return fitting[-1] if many else fitting[0]


def fitting_shapes(x: str, y: str, x_along_lines: bool, device: DeviceInfo) -> list[TransposedShape]:
    """Return the shapes whose tiles fit a block's shared memory, largest first."""
    return [
        shape
        for shape in shapes_of(x, x_along_lines)
        if shared_bytes(x, y, x_along_lines, shape) + 16 * shape.lines * is_narrow(x) <= device.max_shared_bytes
    ]
