"""The right results, and numpy's own way to form them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from gpubench import dtypes
from gpubench.model import Problem
from gpubench.operators import chunks
from gpubench.operators.base import Reference
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.params import ElementwiseParams
from gpubench.operators.elementwise.promotion import work_dtype
from gpubench.operators.precision import Array, Block, BlockReference, narrow, quiet, wide


def _views(problem: Problem[ElementwiseParams], inputs: Mapping[str, Array]) -> list[Array]:
    """Return the operands' logical arrays."""
    return [operand.view.of(inputs[operand.name]) for operand in problem.operands if operand.role == "in"]


def _scalars(params: ElementwiseParams, work: str) -> dict[str, float]:
    """Return the scalars as the kernels see them: rounded to the dtype of the work."""
    part = dtypes.dtype(dtypes.dtype(work).part)
    return {name: part.numpy.type(value).item() for name, value in params.scalars.items()}


def reference(problem: Problem[ElementwiseParams], inputs: Mapping[str, Array]) -> Reference:
    """Prepare the function of the operands, first converted to the dtype of the work, in the wide dtype. A result that
    is to be cut off to an integer is handed out as the float, so that the check can allow for its error.
    """
    params = problem.params
    row = FUNCTIONS[params.function]
    work = work_dtype(params, problem.case.dtype)
    scalars = _scalars(params, work)
    shape = problem.operand("y").view.shape
    views = [np.broadcast_to(array, shape) for array in _views(problem, inputs)]
    is_complex = dtypes.dtype(work).kind == "complex"

    def block(item: tuple[chunks.Box, slice]) -> Block:
        box, place = item
        with quiet():
            masks = [array[box] for array in views[: row.masks]]
            numbers = [_convert(array[box], work) for array in views[row.masks :]]
            operands = (*masks, *numbers)
            value = np.asarray(row.compute(np, operands, scalars))
            if dtypes.dtype(work).kind == "integer":
                return place, _integer_value(value, work, problem.operand("y").dtype), None
            sizes = None
            if row.magnitude is not None:
                sizes = np.asarray(row.magnitude(np, value, operands, scalars)).astype(np.float64).reshape(-1)
            value = narrow(value).reshape(-1)
            if is_complex and row.mixes_parts and sizes is not None:
                sizes[~np.isfinite(value)] = np.nan
        return place, value, sizes

    def produce() -> Iterator[Block]:
        return chunks.ordered(block, chunks.boxes(shape))

    return BlockReference(produce, problem.operand("y").view.size, 24 if is_complex else 16)


def _convert(array: Array, work: str) -> Array:
    """Convert to the dtype of the work, as the kernels do, then to the wide dtype."""
    return wide(array.astype(dtypes.dtype(work).numpy, copy=False), work)


def _integer_value(value: Array, work: str, result: str) -> Array:
    """Wrap to the dtype of the work; exact from there on, whatever the result's dtype."""
    wrapped = value.astype(dtypes.dtype(work).numpy)
    kind = dtypes.dtype(result).kind
    target = {"integer": np.int64, "float": np.float64, "complex": np.complex128}[kind]
    return np.ascontiguousarray(wrapped, dtype=target).reshape(-1)


def contender(problem: Problem[ElementwiseParams], inputs: Mapping[str, Array]) -> Callable[[], Array]:
    """Return the numpy function. Operands of several dtypes are converted to the dtype of the work first, so are the
    16-bit floats, except for functions that round nothing.
    """
    params = problem.params
    row = FUNCTIONS[params.function]
    work = work_dtype(params, problem.case.dtype)
    scalars = _scalars(params, work)
    views = _views(problem, inputs)
    native = row.magnitude is None and len({array.dtype for array in views[row.masks :]}) == 1
    working = views[-1].dtype if native else dtypes.dtype(work).numpy
    result = dtypes.dtype(problem.operand("y").dtype).numpy

    def run() -> Array:
        with quiet():
            numbers = (array.astype(working, copy=False) for array in views[row.masks :])
            value = np.asarray(row.compute(np, (*views[: row.masks], *numbers), scalars))
            return value.astype(result, copy=False)

    return run
