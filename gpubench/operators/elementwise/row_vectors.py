"""How many elements of a row of y a thread of `tiles` has at once: 16 bytes, or fewer where these fit better."""

from __future__ import annotations

import math

from gpubench.operators.constants import tuned
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.axes import Axes
from gpubench.operators.elementwise.merged import Merged
from gpubench.operators.geometry.axes import axis_size

WARP, LINE = 32, 128
"""Threads of a warp, and bytes of a line of the L1 cache."""


def row_vector(shape: Merged, axes: Axes, by_squares: bool) -> int:
    """Return the elements of a thread's vector of a row of y, at most those of 16 bytes of the widest operand.

    by_squares: operands across the rows are turned on their way to shared memory.
    """
    length = axis_size(axes.along)
    if axes.braided:
        return _of_braids(shape, axes, length)
    whole = math.gcd(length, shape.vector)
    stored, least = whole * shape.output_itemsize, tuned("RAGGED_STORE", tuning.RAGGED_STORE)
    most = tuned("RAGGED_ROW", tuning.RAGGED_ROW) // (1 if stored >= least else 4)
    return whole if by_squares and length <= most and 2 * stored >= least else shape.vector


def lookups(vector: int, rows: int, itemsize: int, unit: int) -> float:
    """Return the lines of the L1 cache that a warp's loads meet, for each element of a row: `BraidedRows` in C++.

    itemsize: bytes of an element of the operand that has so many rows as one run; unit: elements it begins on.
    """
    part = rows * vector
    load = min(part & -part, unit)
    lines = min(WARP, math.ceil(WARP * part * itemsize / LINE))
    return part / load * lines / vector


def _of_braids(shape: Merged, axes: Axes, length: int) -> int:
    """Return the vector that rows are multiples of and whose loads meet the fewest lines, if a thread's part is long or
    rows are not multiples of the full one; that one where they are multiples of none.
    """
    itemsize = max(shape.itemsizes(axes.braided))
    rows = axes.across[0].size
    most = tuned("BRAIDED_RUN", tuning.BRAIDED_RUN) // (rows * itemsize)
    if length % shape.vector == 0 and shape.vector <= most:
        return shape.vector
    least = tuned("BRAIDED_STORE", tuning.BRAIDED_STORE)
    shorter = (shape.vector >> n for n in range(shape.vector.bit_length()))
    whole = [vector for vector in shorter if vector * shape.output_itemsize >= least and length % vector == 0]
    return min(
        whole, key=lambda vector: (lookups(vector, rows, itemsize, shape.vector), vector > most), default=shape.vector
    )
