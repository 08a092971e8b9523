"""The right sums, and numpy's own way to form them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators import chunks
from gpubench.operators.base import Reference
from gpubench.operators.geometry.dims import kept_dims
from gpubench.operators.precision import Array, Block, BlockReference, is_exact, magnitude, narrow, quiet, wide
from gpubench.operators.sum.params import SumParams

NARROW = 256
"""Outputs that a block holds at least, where there are so many: neighbours in memory should be read together."""

Task = tuple[chunks.Box, slice, chunks.Box, bool]


def reference(problem: Problem[SumParams], inputs: Mapping[str, Array]) -> Reference:
    """Prepare sums in the wide dtype: numpy's (pairwise where memory order allows) in a chunk, then chunk after chunk.

    The magnitude is the sum of |x|.
    """
    x = problem.operand("x")
    assert isinstance(problem.params.dim, tuple)
    reduced = problem.params.dim
    kept = kept_dims(len(x.view.shape), reduced)
    values = x.view.of(inputs["x"]).transpose(kept + reduced)
    kinds = 24 if dtypes.dtype(x.dtype).kind == "complex" else 16
    return BlockReference(lambda: _blocks(values, len(kept), x.dtype), problem.operand("y").view.size, kinds)


def _tasks(kept: tuple[int, ...], reduced: tuple[int, ...]) -> Iterator[Task]:
    """Yield (outputs' box, their place, terms' box, whether these terms are the last): chunks in a fixed order."""
    outputs, terms = math.prod(kept), math.prod(reduced)
    a_block = max(chunks.BLOCK // max(terms, 1), min(outputs, NARROW), 1)
    for box, place in chunks.boxes(kept, a_block):
        here = place.stop - place.start
        left = terms
        for part, part_place in chunks.boxes(reduced, max(chunks.BLOCK // here, 1)):
            left -= part_place.stop - part_place.start
            yield box, place, part, left == 0


def _blocks(values: Array, kept: int, dtype: str) -> Iterator[Block]:
    """Add up task after task; a block leaves when its last terms are in."""
    axes = tuple(range(kept, values.ndim))
    outputs = math.prod(values.shape[:kept])
    if values.size == 0:
        yield from _zeros(outputs, dtype)
        return

    def work(task: Task) -> tuple[slice, bool, Array, Array | None]:
        box, place, part, last = task
        piece = values[box + part]
        with quiet():
            if is_exact(dtype):
                return place, last, np.asarray(np.sum(piece, axis=axes, dtype=np.int64)), None
            numbers = wide(piece, dtype)
            return place, last, np.sum(numbers, axis=axes), np.sum(magnitude(numbers), axis=axes)

    value: Array | None = None
    sizes: Array | None = None
    for place, last, part_value, part_sizes in chunks.ordered(work, _tasks(values.shape[:kept], values.shape[kept:])):
        with quiet():
            value = part_value if value is None else value + part_value
            if part_sizes is not None:
                sizes = part_sizes if sizes is None else sizes + part_sizes
        if last:
            flat = None if sizes is None else np.ascontiguousarray(sizes).reshape(-1)
            yield place, narrow(np.asarray(value)).reshape(-1), flat
            value = sizes = None


def _zeros(outputs: int, dtype: str) -> Iterator[Block]:
    """Yield the sums of nothing: 0, exactly."""
    kind = dtypes.dtype(dtype).kind
    target = {"integer": np.int64, "float": np.float64, "complex": np.complex128}[kind]
    for place in chunks.ranges(outputs):
        zeros = np.zeros(place.stop - place.start, target)
        yield place, zeros, None if kind == "integer" else np.zeros(zeros.size)


def contender(problem: Problem[SumParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
    """numpy.sum. The 16-bit floats add up in float32 and are cast back, as every contender must."""
    x, y = problem.operand("x"), problem.operand("y")
    values = x.view.of(inputs["x"])
    params = problem.params
    accumulator = dtypes.dtype(dtypes.dtype(y.dtype).accumulator).numpy
    result = dtypes.dtype(y.dtype).numpy
    assert isinstance(params.dim, tuple)
    dims, keepdim = params.dim, params.keepdim

    def work() -> Array:
        with quiet():
            total = np.sum(values, axis=dims, keepdims=keepdim, dtype=accumulator)
            return np.asarray(total).astype(result, copy=False)

    return work
