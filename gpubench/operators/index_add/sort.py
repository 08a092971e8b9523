"""The host side of index_add/sort_indices.cu: (index, position) pairs in order, in the workspace."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Pointer, Problem, Workspace
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.structs import Struct

SOURCE = "index_add/sort_indices.cu"
DIGIT_BITS = {False: 10, True: 11}
"""Of a pass, at most, by whether tiles are large."""

LEAST_BITS = 6
"""Of a pass: a warp has a word of two counts for each lane."""

LANE_PAIRS, LEAST_PAIRS = {False: 20, True: 32}, 4
"""Pairs of a lane, in registers, at most, and at least, which it brings at once."""

SLICE_DIGITS = 4
LEAST_RANGE = 2048
"""Indices that a block sorts at least. Fewer make meetings of more blocks: 65536 by 32 blocks."""

ONE_BLOCK = 8192
"""Indices that one block sorts: it meets nobody."""

WARPS = (16, 8)
MOST_PASSES = 4

SHAPE = Struct(
    "gpubench::index_add::SortShape",
    SOURCE,
    places="i8",
    count="u4",
    range="u4",
    rounds="i4",
    passes="i4",
    bits="i4",
    shift="i4",
    skip="i4",
    flags="u4",
)


def shared_bytes(warps: int, large: bool, rounds: int) -> int:
    """Return the shared memory of a block: counts of each warp, one table of the block, totals of warps, pairs."""
    return (2 * warps + 4 << DIGIT_BITS[large]) + 4 * warps + 8 * 32 * warps * rounds


def tile_on(device: DeviceInfo, large: bool) -> tuple[int, int]:
    """Return the warps of a block, and the rounds of 32 pairs that each holds at most, as the shared memory allows."""
    for warps in WARPS:
        rounds = (device.max_shared_bytes - shared_bytes(warps, large, 0)) // (8 * 32 * warps)
        if rounds >= LANE_PAIRS[large]:
            break
    return warps, max(LEAST_PAIRS, min(LANE_PAIRS[large], rounds))


def is_large(count: int, device: DeviceInfo) -> bool:
    """Say whether so many indices are more than the blocks hold in registers, and large tiles hold more of them."""
    held, more = (math.prod(tile_on(device, large)) for large in (False, True))
    return more > held and count > 32 * held * device.sm_count


def kernel(index: str, warps: int, large: bool) -> str:
    """Return the name expression."""
    return f"gpubench::index_add::sort_indices<{dtypes.dtype(index).cpp}, {warps}, {str(large).lower()}>"


def instances() -> Sequence[tuple[str, str]]:
    """Return the instances of all index dtypes, sizes of shared memory and digits."""
    return tuple((SOURCE, kernel(*each)) for each in itertools.product(INDEX_DTYPES, WARPS, (False, True)))


@dataclass(frozen=True, slots=True)
class Sort:
    """How the list is cut and how often it is passed, and where its arrays stand in the workspace."""

    count: int
    places: int
    blocks: int
    range: int
    rounds: int
    passes: int
    bits: int
    warps: int
    large: bool = False
    shift: int = 0
    skip: int = 1

    @property
    def meeting_words(self) -> int:
        """64-bit words of all meetings of a launch, and of the slices of digits that a warp scans."""
        return self.passes * (2 * self.blocks + (1 << self.bits) // SLICE_DIGITS)

    @property
    def _starts(self) -> tuple[int, ...]:
        row = 4 << self.bits
        sizes = (8 * self.meeting_words, 256, row * self.blocks, row * self.blocks, row, 8 * self.count, 8 * self.count)
        starts = [0]
        for size in sizes:
            starts.append(starts[-1] + ceil_div(size, 256) * 256)
        return tuple(starts)

    @property
    def size(self) -> int:
        """Bytes of workspace, a multiple of 256."""
        return self._starts[-1]

    @property
    def meetings(self) -> Workspace:
        """Where the words of the meetings stand."""
        return Workspace(0)

    @property
    def kept(self) -> Workspace:
        """Where the number of pairs stands."""
        return Workspace(self._starts[1])

    @property
    def tables(self) -> tuple[Workspace, Workspace, Workspace]:
        """Where counts, what comes before, and totals stand."""
        return Workspace(self._starts[2]), Workspace(self._starts[3]), Workspace(self._starts[4])

    @property
    def pairs(self) -> Workspace:
        """Where the pairs stand when they are in order."""
        return Workspace(self._starts[5])

    def launch(self, problem: Problem[Any], flags: Workspace, flag_words: int) -> Launch:
        """Return the launch; it also clears the flags of the one behind it."""
        starts = [Workspace(start) for start in self._starts]
        return Launch(
            SOURCE,
            kernel(problem.operand("index").dtype, self.warps, self.large),
            (self.blocks, 1, 1),
            (32 * self.warps, 1, 1),
            (
                Pointer("index"),
                self.meetings,
                *starts[2:7],
                self.kept,
                flags,
                SHAPE.value(self, flags=flag_words),
            ),
            shared_bytes=shared_bytes(self.warps, self.large, self.rounds),
            waits_for_blocks=True,
        )


def by_segments(count: int, places: int, segment: int, device: DeviceInfo) -> Sort:
    """Cut the list for one pass by the number of a segment of `segment` places, a power of two."""
    shift = (segment - 1).bit_length()
    bits = max(LEAST_BITS, (ceil_div(places, segment) - 1).bit_length())
    return replace(sort_of(count, places, device), passes=1, bits=bits, shift=shift, skip=0)


def sort_of(count: int, places: int, device: DeviceInfo, least: int = LEAST_RANGE) -> Sort:
    """Cut the list: at most one block an SM, all resident; as few passes as the bits of a row's number take."""
    bits = max(LEAST_BITS, (places - 1).bit_length())
    large = is_large(count, device)
    passes = ceil_div(bits, DIGIT_BITS[large])
    warps, most = tile_on(device, large)
    blocks = 1 if count <= min(ONE_BLOCK, 32 * warps * most) else max(1, min(ceil_div(count, least), device.sm_count))
    each = ceil_div(count, blocks)
    rounds = min(most, ceil_div(each, 32 * warps))
    return Sort(count, places, ceil_div(count, each), each, rounds, passes, ceil_div(bits, passes), warps, large)
