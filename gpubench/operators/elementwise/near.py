"""Operands whose elements along y's rows are a few apart: up to where `flat` reads them one by one. As in tuning.py."""

from __future__ import annotations

import math

from gpubench import dtypes
from gpubench.operators.constants import tuned
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.axes import Axes, across_dim
from gpubench.operators.elementwise.merged import Input, Merged
from gpubench.operators.geometry.rounding import ceil_div

NEAR = 15
"""Elements from one of an operand to the next, at most, for them to be near; not where these are whole units of 16
bytes. n x a x b, x in the order n x b x a, by `flat` and by `tiles`: uint8 3 x 1500 28.3 and 107 us, 9 x 1500 33 and
67, 33 x 1500 210 and 55; float32 5 x 411 24.8 and 33, 9 x 411 30 and 41, 33 x 411 59 and 31; float16 16 x 64 by small
vectors 41.6, by whole ones 25.7."""

NEAR_GROUP = 5 * 2**16
"""Elements of y up to which what is one run of an operand is read so. Largest of 8 x 7 x 42102 int32, one of two with
its last dims exchanged, 13.7 us, in tiles 15.1; product of 2 x 7 x 31022 float16 5.2 and 6.1."""

NEAR_LINES, NEAR_WORK = 7, 210_000_000
"""Lines of a larger one at most, and its bytes times those from one element to the next: the L2 cache brings them again
for each line. On an H100, in tiles and element by element: 3 x 2 x 1048577 int8 29 and 9.8 us, float16 32 and 14.1,
float32 34.9 and 22.4, 8 x 5 x 209715 float16 28.9 and 18.6, float32 37.4 and 32.2, 2 x 7 x 1198373 int8 37.7 and 23.7;
but 2 x 3 x 2796203 float32 82 and 93, 3 x 7 x 299593 28.1 and 31.4, 3 x 2 x 1048577 float64 38.9
and 43.7, 3 x 12 x 174763 float16 16.7 and 25.2."""

SHARED_LINE = 64
"""Bytes from one element of a small operand to the next along y's rows, at most, for it to be read so, too, unless y is
of bytes: what a warp reads at once lies in the fewer lines of the L1 cache. 1024 x 8 x 562 and a 1 x 8 x 562, last two
dims exchanged, float32 13.7 us (23.6), float16 10.7 (22.2), 2000 x 16 x 300 24.9 and 27.0 (40.1, 41.7), but of int8
24.3 (16.6); of operands as large as y 4096 x 48 x 32 float16 24.5 (15.4), 20 others 0.99."""

RAGGED_BRAIDS = 9 * 2**19
"""Bytes of braided rows that end with no 4 bytes up to which they are read so, too, for blocks cut these out of shared
memory. On an H100 braided and element by element: 15 x 69907 int8 16.0 and 6.5 us, 7 x 599187 11.8 and 9.3, 2 x 524289
beside another 6.2 and 5.7, 7 x 37451 float16 6.4 and 4.7, 11 x 95325 9.9 and 7.7; but 7 x 4793491 int8 36 and 71, 6 x
699051 float16 beside another 17.3 and 22.0. On an H200 8 x 541499 int8 beside a column and another 19.1 and 10.7, but
2 x 1284717 bfloat16, both so, 9.0 and 9.3."""

RAGGED_GROUP = 2**13
"""Elements of y up to which odd matrices that are exchanged are read so, too: the L1 cache has each, and of tiles much
would be empty. 20000 x 17 x 131, the last two dims exchanged, bfloat16 beside another 80 us (tiles 153), float32 107
(124), 9000 x 54 x 54 bfloat16 55 (70); by eight vectors a thread, not four, 73, 102, 49. 18624 x 33 x 3 x 23 int16,
reversed, 66 (107), 402 x 94 x 74 bfloat16 11.5 (13.5). Lines of whole units are better in tiles: 2592 x 32 x 194
float16 15.1 (32.7), 617 x 64 x 111 int16 13.7 (18.6)."""

LITTLE_BRAIDS, BRAIDED_BLOCKS = 2**20, 40
"""Elements of y up to which braided rows are read so, too, where they fill fewer blocks than these, or, for each
operand, than a sixth of the square of the rows, which a thread loads one after the other: 15 x 512 x 100 bfloat16 by 25
blocks 11.4 us (6.5 so, by the best cut), 19 x 4 x 11 x 1024 int16 by 38 10.2 (6.6), 4 x 60608 bfloat16 by 30 5.1 (4.3),
15 x 16000 int8 by 4 12.2 (4.5); but 7 x 62048 by 31 4.5 (4.7), 7 x 200000 int8 by 49 5.7 (6.5), 10 x 31808 float32 by
32 5.1 (5.2)."""

HEAVY_BRAIDS = 9 * 2**20
"""... and for heavy functions: powers of 11 x 2048 x 32 int64 16.7 us (11.3 so), of 285 x 2 x 7296 int8 17.0 (12.4), of
4 x 65536 x 6 float64 22.6 (20.2); but of 10 x 3403840 uint8 49 (71), 33926 x 32 x 10 float32 47 (102)."""


def is_near(shape: Merged, one: Input) -> bool:
    """Say whether an operand is read element by element along y's rows, and a few elements apart."""
    step = one.step(shape.dims[0])
    return 1 < step <= NEAR and step * dtypes.dtype(one.dtype).itemsize % 16 != 0


def is_shared(shape: Merged, one: Input) -> bool:
    """Say whether an operand is small, and neighbours along y's rows lie in one line of the L1 cache, though apart."""
    step, itemsize = one.step(shape.dims[0]), dtypes.dtype(one.dtype).itemsize
    near = step > 1 and step * itemsize <= tuned("SHARED_LINE", SHARED_LINE)
    return near and shape.output_itemsize > 1 and tuning.is_small(shape, one)


def one_run(shape: Merged, one: Input, across: int) -> int | None:
    """Return how many elements of y up to and along a dim are one run of an operand; None if they are not."""
    dims = shape.dims[: across + 1]
    size = math.prod(dim.size for dim in dims)
    return size if sum((dim.size - 1) * one.step(dim) for dim in dims) < size else None


def is_ragged_group(shape: Merged, one: Input) -> bool:
    """Say whether few rows that are no whole vectors are one run of an operand, whose lines across them are no units.

    More of them than a block has vectors for: of fewer `flat` reads any.
    """
    across = across_dim(shape, one)
    if across is None or not 4 <= shape.vector <= 8 or shape.dims[0].size % shape.vector == 0:
        return False
    size, line = one_run(shape, one, across), shape.dims[across].size * dtypes.dtype(one.dtype).itemsize
    return size is not None and tuning.THREADS * shape.vector < size <= RAGGED_GROUP and line % 16 != 0


def wants_short_vectors(shape: Merged, one: Input) -> bool:
    """Say whether y's vectors should be short where an operand is read element by element."""
    return is_near(shape, one) or is_shared(shape, one) or is_ragged_group(shape, one)


def near_group(shape: Merged, axes: Axes, one: Input) -> int:
    """Return up to how many elements of y that are one run of an operand with near elements it is read so.

    Braids are better in tiles beside operands off the grid, too: quotients of 4 x 3005440 bfloat16 32 us (52 so).
    """
    if axes.braided:
        return NEAR_GROUP
    step, itemsize = one.step(shape.dims[0]), dtypes.dtype(one.dtype).itemsize
    return max(NEAR_GROUP, tuned("NEAR_WORK", NEAR_WORK) // (step * itemsize**2)) if step <= NEAR_LINES else NEAR_GROUP


def are_braids_slow(shape: Merged, axes: Axes, function: str) -> bool:
    """Say whether threads that hold all of a braid's rows are too few, or have too much to work out, one by one."""
    if function in tuning.HEAVY:
        return shape.elements <= HEAVY_BRAIDS
    rows = axes.across[0].size
    blocks = ceil_div(shape.elements, rows * tuning.THREADS * shape.vector)
    return shape.elements <= LITTLE_BRAIDS and blocks < max(BRAIDED_BLOCKS, rows * rows * len(shape.inputs) // 6)


def has_few_ragged(shape: Merged, axes: Axes) -> bool:
    """Say whether rows that are braided end with no 4 bytes, and operands have few."""
    sizes = shape.itemsizes(axes.braided)
    ragged = shape.dims[0].size * shape.output_itemsize % tuning.BRAIDED_STORE != 0
    return ragged and shape.elements * max(sizes, default=0) <= tuned("RAGGED_BRAIDS", RAGGED_BRAIDS)
