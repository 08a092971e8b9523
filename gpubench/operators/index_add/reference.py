"""The right sums, and numpy's own way to form them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators import chunks
from gpubench.operators.base import Reference
from gpubench.operators.index_add.params import IndexAddParams
from gpubench.operators.precision import Array, Block, BlockReference, is_exact, magnitude, narrow, quiet, wide


@dataclass(frozen=True, slots=True)
class _Work:
    """What the blocks share. `order` sorts the indices (stably); `names` are the sorted indices.

    Both logical arrays have the indexed dim at `dim`.
    """

    destination: Array
    source: Array
    order: Array
    names: Array
    dim: int
    dtype: str
    alpha: Any


def reference(problem: Problem[IndexAddParams], inputs: Mapping[str, Array]) -> Reference:
    """Prepare destination + the sum of alpha * source over the indices that name a place, in the wide dtype.

    The magnitude is |destination| + the sum of |alpha * source|, 0 for places that no index names. ValueError for an
    index outside the dim.
    """
    params = problem.params
    destination, source = problem.operand("destination"), problem.operand("source")
    target = destination.view.of(inputs["destination"])
    target = target.reshape(1) if target.ndim == 0 else target
    index = inputs["index"]
    require_in_range(index, target.shape[params.dim], params.dim)
    order = np.argsort(index, kind="stable")
    dtype = destination.dtype
    work = _Work(
        target, source.view.of(inputs["source"]), order, index[order], params.dim, dtype, _alpha(params.alpha, dtype)
    )

    def produce() -> Iterator[Block]:
        return chunks.ordered(lambda item: _block(work, *item), chunks.boxes(target.shape))

    return BlockReference(produce, target.size, 24 if dtypes.dtype(dtype).kind == "complex" else 16)


def require_in_range(index: Array, places: int, dim: int) -> None:
    """ValueError when an index lies outside 0 to places - 1; it names the first."""
    wrong = (index < 0) | (index >= places)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{int(wrong.sum())} of {index.size} indices lie outside dim {dim} of size {places}; the first is "
            f"index[{at}] = {int(index[at])}. Negative indices are not counted from the end."
        )


def _alpha(alpha: float, dtype: str) -> Any:
    """Return alpha as kernels see it: rounded to the accumulator of the dtype."""
    row = dtypes.dtype(dtype)
    if row.kind == "integer":
        return np.int64(int(alpha))
    return dtypes.dtype(dtypes.dtype(row.accumulator).part).numpy.type(alpha).item()


def _block(work: _Work, box: chunks.Box, place: slice) -> Block:
    """Work out the answers of one box of the destination."""
    rows = box[work.dim]
    first, last = np.searchsorted(work.names, [rows.start, rows.stop])
    with quiet():
        exact = is_exact(work.dtype)
        value = np.moveaxis(wide(work.destination[box], work.dtype), work.dim, 0).copy()
        start = value.copy() if not exact else None
        sizes = np.zeros(value.shape) if start is not None else None
        width = max(value[0].size, 1)
        for run in chunks.ranges(int(last - first), max(chunks.BLOCK // width, 1)):
            _add(work, box, slice(first + run.start, first + run.stop), value, sizes)
        if sizes is not None and start is not None:
            named = np.unique(work.names[first:last]) - rows.start
            sizes[named] += magnitude(start[named])
            sizes = np.ascontiguousarray(np.moveaxis(sizes, 0, work.dim)).reshape(-1)
        return place, narrow(np.moveaxis(value, 0, work.dim)).reshape(-1), sizes


def _add(work: _Work, box: chunks.Box, some: slice, value: Array, sizes: Array | None) -> None:
    """Add the slices of some sorted indices to the places that they name."""
    here = work.names[some]
    starts = np.flatnonzero(np.r_[True, here[1:] != here[:-1]])
    places = here[starts] - box[work.dim].start
    others = box[: work.dim], box[work.dim + 1 :]
    terms = np.take(work.source[(*others[0], slice(None), *others[1])], work.order[some], axis=work.dim)
    terms = np.moveaxis(wide(terms, work.dtype), work.dim, 0)
    _scale(terms, work.alpha)
    value[places] += np.add.reduceat(terms, starts, axis=0)
    if sizes is not None:
        sizes[places] += np.add.reduceat(magnitude(terms), starts, axis=0)


def _scale(values: Array, alpha: Any) -> None:
    """Multiply in place. alpha is real: an infinite part of a complex number must not make a NaN of the other part."""
    if np.iscomplexobj(values):
        np.multiply(values.real, alpha, out=values.real)
        np.multiply(values.imag, alpha, out=values.imag)
    else:
        np.multiply(values, alpha, out=values)


def contender(problem: Problem[IndexAddParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
    """numpy.add.at on a copy of the destination."""
    destination, source = problem.operand("destination"), problem.operand("source")
    target = destination.view.of(inputs["destination"])
    added = source.view.of(inputs["source"])
    index = inputs["index"]
    row = dtypes.dtype(destination.dtype)
    alpha = row.numpy.type(problem.params.alpha).real
    place: Any = (slice(None),) * problem.params.dim + (index,)
    shape = target.shape

    def run() -> Array:
        with quiet():
            result = target.copy().reshape(shape or (1,))
            terms = added
            if alpha != 1:
                terms = added.copy()
                _scale(terms, alpha)
            np.add.at(result, place, terms)
            return result.reshape(shape)

    return run
