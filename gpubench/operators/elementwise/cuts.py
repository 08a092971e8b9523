"""How y is cut into tiles, and the shared memory that a tile takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpubench import dtypes
from gpubench.model import DeviceInfo
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.axes import Axes
from gpubench.operators.elementwise.merged import Merged
from gpubench.operators.elementwise.tuning import THREADS
from gpubench.operators.geometry.axes import axis_size
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.sectors import SECTOR


class TileCut(NamedTuple):
    """Vectors of a row of a tile, rows of a thread, and elements of a tile's row that are stored."""

    lanes: int
    passes: int
    chunk: int

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return THREADS // self.lanes * self.passes


def is_staged(lies: Sequence[str]) -> bool:
    """Say whether all operands across the rows come as they lie, so that a tile has as many lines as it needs."""
    return "turned_off_grid" in lies and "turned_apart" not in lies


def shared_bytes(shape: Merged, lies: Sequence[str], cut: TileCut, spare: int) -> int:
    """Return the shared memory of a tile, as `TurnedTile` and `StagedLines` have it."""
    lines = cut.lanes * shape.vector
    total = 0
    for operand, lie in zip(shape.inputs, lies, strict=True):
        itemsize = dtypes.dtype(operand.dtype).itemsize
        if lie in ("turned", "turned_apart") or (lie == "braided" and spare):
            total += lines * cut.rows * itemsize
        elif lie == "turned_off_grid":
            units = max(cut.rows * itemsize // 16, 1) + 1
            every = lines + (spare if is_staged(lies) else 0)
            entries = every + (every // shape.vector if shape.vector >= 8 else 0)
            total += every * (units | 1) * 16 + ceil_div(entries, 4) * 16
    return total


def cut_of(shape: Merged, full: int, axes: Axes, spare: int, lies: Sequence[str], device: DeviceInfo) -> TileCut:
    """Return how tiles are cut, for what their operands need. full: elements of 16 bytes of the widest operand."""
    reach = axis_size(axes.along) + max(spare - 1, 0)  # of a row from the vector boundary before it
    if axes.braided:
        most = THREADS * shape.vector - spare
        return TileCut(
            THREADS, axes.across[0].size, ceil_div(ceil_div(reach, ceil_div(reach, most)), shape.vector) * shape.vector
        )
    if not axes.turned:
        return rows_cut(shape, axes, reach, device)
    if not is_staged(lies):
        return turned_cut(shape, full, axes, reach, spare, device)
    cut = staged_cut(shape, axes, reach, device)
    while max(cut.passes, cut.lanes) > 1 and shared_bytes(shape, lies, cut, spare) > device.max_shared_bytes // 3:
        passes, lanes = (cut.passes // 2, cut.lanes) if cut.passes > 1 else (1, cut.lanes // 2)
        cut = TileCut(lanes, passes, lanes * shape.vector)
    return cut


def rows_cut(shape: Merged, axes: Axes, reach: int, device: DeviceInfo) -> TileCut:
    """Return tiles whose operands all lie along the rows: as many lanes as a row has vectors, up to a block's."""
    vectors, rows = ceil_div(reach, shape.vector), axis_size(axes.across)
    lanes = min(THREADS, power_of_two(vectors))
    chunks = ceil_div(vectors, lanes)
    blocks = ceil_div(rows, THREADS // lanes) * chunks * axis_size(axes.outer)
    passes = tuning.passes(rows, lanes, blocks, device)
    return TileCut(lanes, passes, ceil_div(vectors, chunks) * shape.vector)


def turned_cut(shape: Merged, full: int, axes: Axes, reach: int, spare: int, device: DeviceInfo) -> TileCut:
    """Return tiles whose operands are turned by squares: as square as there is room for, smaller where there are few.

    Neither way a tile is narrower than a vector of the narrowest operand: where one is as low as that, few make it half
    as wide; nor is it higher for a vector of one that is not turned than y's rows are many, 2 x 8806644 of float64
    beside bytes 77 us (164 with 16 rows). On an H100 48 cases 1.05 times as fast, 44 x 9739 float32, three operands,
    7.5 us (10.2), 8 x 84532 bfloat16 5.9 (6.3). Rows off the grid bring a vector more.
    Tiles of shorter vectors than full ones have the same elements.
    """
    rows, vector, parts = axis_size(axes.across), full, full // shape.vector
    most = THREADS // parts
    narrow = min(shape.itemsizes(axes.turned))
    least = max(16 // dtypes.dtype(operand.dtype).itemsize for operand in shape.inputs)
    least = min(least, max(16 // narrow, power_of_two(rows)))
    passes, lanes = tuning.TURNED_PASSES, tuning.TURNED_LANES[vector]
    if reach + spare < lanes * vector:
        lanes = max(power_of_two(reach + spare), least) // vector
    elif rows < THREADS // lanes * passes:
        lanes = min(most, THREADS * passes // max(power_of_two(rows), least))
    stored = shape.output_itemsize if shape.output_itemsize * full == 16 else 0
    waste = Waste(reach, rows, spare, narrow=narrow, stored=stored)
    lanes, passes = _fitted((lanes, most), passes, vector, least, waste)
    blocks = shape.elements / (THREADS * vector)
    fine = vector <= 4 and lanes <= tuning.TURNED_LANES[vector]
    least_blocks = tuning.SQUARE_BLOCKS if fine else tuning.TURNED_BLOCKS
    while _is_too_few(blocks / passes, passes, least_blocks, device):
        if THREADS // lanes * passes > least:
            passes //= 2
        elif lanes * vector > least:
            lanes, passes = lanes // 2, passes // 2  # as high, and half as wide
        else:
            break
    if parts > 1:
        rows = max(passes, tuning.RAGGED_PASSES // min(len(shape.inputs), 2), lanes * parts * least // THREADS)
        lanes, passes = lanes * parts, min(passes * parts, rows)
    return TileCut(lanes, passes, lanes * shape.vector - spare)


def staged_cut(shape: Merged, axes: Axes, reach: int, device: DeviceInfo) -> TileCut:
    """Return tiles whose operands come as they lie: no longer or higher than y, and smaller where there are few."""
    every, vector = axis_size(axes.across), shape.vector
    rows, passes = power_of_two(every), tuning.TURNED_PASSES
    longest = max(power_of_two(reach) // vector, 1)
    lanes = min(tuning.STAGED_LANES[vector], longest)
    if rows < THREADS // lanes * passes:
        lanes = min(tuning.STAGED_MOST[vector], max(THREADS * passes // rows, 1), longest)
        passes = max(1, min(passes, rows * lanes // THREADS))
    waste = Waste(reach, every, 0, max(shape.itemsizes(axes.turned)))
    lanes, passes = _fitted((lanes, tuning.STAGED_MOST[vector]), passes, vector, 1, waste)
    blocks = shape.elements / (THREADS * vector)
    while _is_too_few(blocks / passes, passes, tuning.TURNED_BLOCKS, device):
        passes //= 2
    return TileCut(lanes, passes, lanes * vector)


def _is_too_few(blocks: float, passes: int, least: Mapping[int, int], device: DeviceInfo) -> bool:
    """Say whether so many blocks, whose threads have so many rows, are fewer than the least of an SM by these rows."""
    return passes > 1 and blocks < least[passes] * device.sm_count


@dataclass(frozen=True, slots=True)
class Waste:
    """What tiles of so many elements by rows would bring, and hold, in vain.

    reach, rows: elements of y along the rows, and rows. spare: elements of a tile's row that are not stored.
    itemsize: bytes of an element of lines that come as they lie, in whole units and one more; 0 where it counts little.
    narrow: bytes of an element of lines that are turned, the narrowest, of which short pieces cost more; 0 where it
    counts little. stored: bytes of an element of y, whose pieces begin and end inside sectors where rows do; 0 where
    that counts little.
    """

    reach: int
    rows: int
    spare: int
    itemsize: int = 0
    narrow: int = 0
    stored: int = 0

    def of(self, wide: int, high: int) -> float:
        """Return what all tiles take, by what y's elements do."""
        strips = ceil_div(self.rows, high)
        share = ceil_div(self.reach, wide - self.spare) * wide * strips * high / (self.reach * self.rows)
        piece, short = high * self.narrow, tuning.SHORT_PIECE if self.narrow > 2 else tuning.SHORT_BYTES
        if strips > 1 and 0 < piece < short:
            share *= 1 + tuning.PIECE_COST * (short / piece - 1)
        share *= 1 + tuning.PARTS_COST * self._parts(wide - self.spare)
        if not self.itemsize:
            return share
        return (1 + tuning.STAGED_EMPTY * (share - 1)) * (1 + strips * 16 / (self.rows * self.itemsize))

    def _parts(self, wide: int) -> float:
        """Return the parts of sectors that a piece of a row shares with its neighbours, by the sectors it fills."""
        inside = math.gcd(self.reach * self.stored, SECTOR)  # bytes of a sector at which rows begin
        piece = min(wide, self.reach) * self.stored
        return (SECTOR - inside) / min(piece, tuning.LONG_PIECE) if piece else 0.0


def _fitted(lanes: tuple[int, int], passes: int, vector: int, least: int, waste: Waste) -> tuple[int, int]:
    """Return these lanes and passes, or half, double ... where far less is wasted.

    lanes: those wanted, and at most. Both ways a tile has `least` elements or more.
    """

    def sizes(choice: tuple[int, int]) -> tuple[int, int]:
        return choice[0] * vector, THREADS // max(choice[0], 1) * choice[1]

    def is_fit(choice: tuple[int, int]) -> bool:
        wide, high = sizes(choice)
        return wide > waste.spare and min(wide, high) >= least and high <= THREADS and choice[0] <= lanes[1]

    wanted = [(lanes[0] * wide // 4, passes // few) for few in (1, 2) for wide in (4, 2, 8, 16)]
    choices = [choice for choice in wanted if is_fit(choice)] or wanted[:1]
    fewest = min(waste.of(*sizes(choice)) for choice in choices)
    return next(choice for choice in choices if waste.of(*sizes(choice)) <= tuning.TURNED_WASTE * fewest)
