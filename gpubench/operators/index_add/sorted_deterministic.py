"""The host side of index_add/seeds/sorted_deterministic.cu: the indices sorted, then one warp a run of equal ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Workspace
from gpubench.operators.geometry.dims import without
from gpubench.operators.index_add.accuracy import grouped_accuracy
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.launch import grid_stride, too_many_dims, walk
from gpubench.operators.structs import float64, int32, int64

SOURCE = "index_add/seeds/sorted_deterministic.cu"
NAMESPACE = "gpubench::index_add"
DIGIT_BITS = 8
SORT_THREADS = 256
SCAN_THREADS = 1024
RANGE = 2048
"""Pairs a block sorts at least. More than 4 blocks an SM: the scan of their counts, one block's work, costs most."""

BLOCKS_PER_SM = 4
ADD_WARPS = 4
ADD_ELEMENTS = 4
GRID_Y = 65535
LIMIT = 2**31 - 1


class SortedDeterministic:
    """Takes every dtype and layout; gives the same bits each time."""

    name: str = "sorted_deterministic"
    summary: str = "stable radix sort of the indices, then one warp a run of equal ones; no atomics, bitwise repeatable"
    origin: str = (
        "PyTorch's deterministic path, own radix sort (Merrill, Grimshaw 2011); under 2^31 indices and places, 8 dims "
        "after merging; a long run is one warp's work"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Keys, three launches for each 8 bits of the number of places, the sums. Nothing when nothing is added.

        Refuses more indices or places than 32-bit keys count, and more dims than the kernel walks.
        """
        count, places = problem.operand("index").view.size, _places(problem)
        if max(count, places) > LIMIT:
            return Refused(f"more than {LIMIT} indices or places; keys and positions have 32 bits")
        dim = problem.params.dim
        if refused := too_many_dims(*(without(problem.operand(name).view, dim) for name in ("destination", "source"))):
            return refused
        accuracy = grouped_accuracy(problem, 5)
        if problem.operand("source").view.size == 0:
            return Plan(self.name, (), accuracy)
        sort = _sort(count, places, device)
        steps = [_keys(problem, sort, device)]
        for number in range(sort.passes):
            steps += _pass(sort, number)
        steps.append(_add(problem, sort))
        notes = {"sort_passes": sort.passes, "sort_blocks": sort.blocks, "launches": len(steps)}
        return Plan(self.name, tuple(steps), accuracy, sort.size, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the sort's kernels, and the sums for the dtype."""
        keys = [f"{NAMESPACE}::sort_keys<{dtypes.dtype(index).cpp}>" for index in INDEX_DTYPES]
        return tuple((SOURCE, name) for name in (*keys, COUNT, SCAN, SCATTER, _add_kernel(dtype)))


COUNT = f"{NAMESPACE}::sort_count<{SORT_THREADS}>"
SCAN = f"{NAMESPACE}::sort_scan<{SCAN_THREADS}>"
SCATTER = f"{NAMESPACE}::sort_scatter<{SORT_THREADS}>"


@dataclass(frozen=True, slots=True)
class Sort:
    """The sort's launches, and where its arrays stand in the workspace: two of keys, two of positions, counts."""

    count: int
    range: int
    blocks: int
    passes: int

    @property
    def _array(self) -> int:
        return -(-4 * self.count // 256) * 256

    def keys(self, number: int) -> Workspace:
        """Return where the keys stand before pass `number` (after all passes: number = passes)."""
        return Workspace(number % 2 * self._array)

    def positions(self, number: int) -> Workspace:
        """Return where the positions stand before pass `number`."""
        return Workspace((2 + number % 2) * self._array)

    @property
    def counts(self) -> Workspace:
        """Where the digits' counts stand."""
        return Workspace(4 * self._array)

    @property
    def totals(self) -> int:
        """Number of counts."""
        return self.blocks << DIGIT_BITS

    @property
    def size(self) -> int:
        """Bytes of workspace."""
        return 4 * self._array + 4 * self.totals


def _sort(count: int, places: int, device: DeviceInfo) -> Sort:
    """Give each block a fixed range of whole turns. Keys go up to `places`, which stands for wrong indices."""
    blocks = max(1, min(-(-count // RANGE), BLOCKS_PER_SM * device.sm_count))
    each = -(-count // blocks)
    each = -(-each // SORT_THREADS) * SORT_THREADS
    return Sort(count, each, -(-count // each), max(1, -(-places.bit_length() // DIGIT_BITS)))


def _keys(problem: Problem[Any], sort: Sort, device: DeviceInfo) -> Launch:
    index = problem.operand("index")
    return Launch(
        SOURCE,
        f"{NAMESPACE}::sort_keys<{dtypes.dtype(index.dtype).cpp}>",
        grid_stride(sort.count, device, SORT_THREADS),
        (SORT_THREADS, 1, 1),
        (Pointer("index"), sort.keys(0), sort.positions(0), int64(sort.count), int64(_places(problem))),
    )


def _pass(sort: Sort, number: int) -> list[Launch]:
    """Return the launches that sort by one digit."""
    grid, block = (sort.blocks, 1, 1), (SORT_THREADS, 1, 1)
    keys, positions = sort.keys(number), sort.positions(number)
    place = (int64(sort.count), int64(sort.range), int32(number * DIGIT_BITS))
    target = (sort.keys(number + 1), sort.positions(number + 1))
    return [
        Launch(SOURCE, COUNT, grid, block, (keys, sort.counts, *place)),
        Launch(SOURCE, SCAN, (1, 1, 1), (SCAN_THREADS, 1, 1), (sort.counts, int64(sort.totals))),
        Launch(SOURCE, SCATTER, grid, block, (keys, positions, *target, sort.counts, *place)),
    ]


def _add(problem: Problem[Any], sort: Sort) -> Launch:
    destination, _, source = problem.operands
    dim = problem.params.dim
    to, of = without(destination.view, dim), without(source.view, dim)
    width = math.prod(to[0])
    lanes = min(32, 1 << (width - 1).bit_length())
    chunks = -(-width // (lanes * ADD_ELEMENTS))
    return Launch(
        SOURCE,
        _add_kernel(destination.dtype),
        (-(-sort.count // ADD_WARPS), min(chunks, GRID_Y), 1),
        (32, ADD_WARPS, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            sort.keys(sort.passes),
            sort.positions(sort.passes),
            walk(*to),
            walk(*of),
            int64(sort.count),
            int64(width),
            int64(destination.view.strides[dim] if destination.view.shape else 0),
            int64(source.view.strides[dim]),
            int64(_places(problem)),
            float64(problem.params.alpha),
            int32(lanes),
        ),
    )


def _add_kernel(dtype: str) -> str:
    return f"{NAMESPACE}::sorted_add<{dtypes.dtype(dtype).cpp}>"


def _places(problem: Problem[Any]) -> int:
    shape = problem.operand("destination").view.shape
    return shape[problem.params.dim] if shape else 1
