"""The right running sums, and numpy's own way to form them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators import chunks
from gpubench.operators.base import Reference
from gpubench.operators.cumsum.params import CumsumParams
from gpubench.operators.precision import Array, Block, BlockReference, is_exact, magnitude, narrow, quiet, wide

Local = tuple[Array, "Array | None"]


def reference(problem: Problem[CumsumParams], inputs: Mapping[str, Array]) -> Reference:
    """Prepare running sums, one after the other, in the wide dtype: `length` additions, each rounded to at most 2^-53
    (2^-64 for float64 where longdouble has 80 bits). The magnitude is the running sum of |x|.
    """
    x = problem.operand("x")
    dtype, dim = x.dtype, problem.params.dim
    values = x.view.of(inputs["x"])
    if values.ndim == 0:
        values = values.reshape(1)
    outputs = values.size

    def produce() -> Iterator[Block]:
        line_block = int(np.prod(values.shape[dim:], dtype=np.int64))
        if line_block <= chunks.BLOCK:
            return _whole_lines(values, dim, dtype)
        return _cut_lines(values, dim, dtype)

    return BlockReference(produce, outputs, 24 if dtypes.dtype(dtype).kind == "complex" else 16)


def _local(part: Array, axis: int, dtype: str) -> Local:
    """Form the running sums (and those of the magnitudes) within one part."""
    with quiet():
        if is_exact(dtype):
            return np.cumsum(part, axis=axis, dtype=np.int64), None
        values = wide(part, dtype)
        return np.cumsum(values, axis=axis), np.cumsum(magnitude(values), axis=axis)


def _finish(place: slice, value: Array, sizes: Array | None) -> Block:
    return place, narrow(value).reshape(-1), None if sizes is None else np.ascontiguousarray(sizes).reshape(-1)


def _whole_lines(values: Array, dim: int, dtype: str) -> Iterator[Block]:
    """Blocks that hold lines from start to end: many lines a block."""
    line_block = max(int(np.prod(values.shape[dim:], dtype=np.int64)), 1)

    def work(item: tuple[chunks.Box, slice]) -> Block:
        box, place = item
        flat = slice(place.start * line_block, place.stop * line_block)
        return _finish(flat, *_local(values[box], dim, dtype))

    if values.size:
        yield from chunks.ordered(work, chunks.boxes(values.shape[:dim], chunks.BLOCK // line_block))


def _cut_lines(values: Array, dim: int, dtype: str) -> Iterator[Block]:
    """Blocks that cut lines: each is summed by itself, then the sums of the blocks before it are added."""
    tail = values.shape[dim:]
    per_outer = int(np.prod(tail, dtype=np.int64))
    for number, outer in enumerate(itertools.product(*(range(size) for size in values.shape[:dim]))):
        lines = values[outer]

        def work(item: tuple[chunks.Box, slice], lines: Array = lines) -> tuple[chunks.Box, slice, Local]:
            box, place = item
            return box, place, _local(lines[box], 0, dtype)

        carry: Local | None = None
        for box, place, (value, sizes) in chunks.ordered(work, chunks.boxes(tail)):
            if carry is None:
                carry = np.zeros(tail[1:], value.dtype), None if sizes is None else np.zeros(tail[1:])
            with quiet():
                _carry(carry[0], box[1:], value)
                if sizes is not None and carry[1] is not None:
                    _carry(carry[1], box[1:], sizes)
            start = number * per_outer
            yield _finish(slice(start + place.start, start + place.stop), value, sizes)


def _carry(carry: Array, box: chunks.Box, local: Array) -> None:
    """Add to a block what came before it, and pass on its last row."""
    local += carry[box]
    carry[box] = local[-1]


def contender(problem: Problem[CumsumParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
    """numpy.cumsum. The 16-bit floats add up in float32 and are cast back, as every contender must."""
    x, y = problem.operand("x"), problem.operand("y")
    values = x.view.of(inputs["x"])
    shape, dim = values.shape, problem.params.dim
    if values.ndim == 0:
        values = values.reshape(1)
    accumulator = dtypes.dtype(dtypes.dtype(y.dtype).accumulator).numpy
    result = dtypes.dtype(y.dtype).numpy

    def work() -> Array:
        with quiet():
            return np.cumsum(values, axis=dim, dtype=accumulator).astype(result, copy=False).reshape(shape)

    return work
