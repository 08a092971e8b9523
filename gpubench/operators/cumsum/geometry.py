"""How the fast kernels see a problem of cumsum: as rows, columns or transposed lines; y is contiguous."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from gpubench import dtypes
from gpubench.layout import View
from gpubench.model import DeviceInfo, Operand, Problem
from gpubench.operators.constants import tuned
from gpubench.operators.cumsum import tuning
from gpubench.operators.geometry.columns import Columns, columns_along
from gpubench.operators.geometry.rows import Rows, rows_along, rows_in_groups
from gpubench.operators.geometry.transposed import Transposed, transposed_along
from gpubench.operators.geometry.vectors import items_of, sides_of, vector_items
from gpubench.operators.results import sum_dtype


def line_length(problem: Problem[Any]) -> int:
    """Return the elements of a line: the size of the summed dim, 1 where there are no dims."""
    shape: tuple[int, ...] = problem.operand("x").view.shape
    return shape[problem.params.dim] if shape else 1


def rows_of(problem: Problem[Any]) -> Rows | None:
    """Return x as rows; None where the summed dim is not the fastest of y or the rows have no one pitch."""
    x, y = problem.operand("x").view, problem.operand("y").view
    dim = problem.params.dim
    if not y.is_contiguous or x.size == 0:
        return None
    if not x.shape or (x.shape[dim] == 1 and x.is_contiguous):
        return Rows(x.size, 1, 1, 1)
    return rows_along(x, (dim,)) if math.prod(x.shape[dim + 1 :]) == 1 else None


def grouped_rows_of(problem: Problem[Any]) -> Rows | None:
    """Return x as rows in groups; None where they have one pitch, or are no rows."""
    x, dim = problem.operand("x").view, problem.params.dim
    if not problem.operand("y").view.is_contiguous or x.size == 0 or not x.shape or math.prod(x.shape[dim + 1 :]) > 1:
        return None
    return _in_groups(x, (dim,))


def _in_groups(x: View, dims: Iterable[int]) -> Rows | None:
    """Return rows in groups, in groups of groups only where their elements lie side by side: others are turned."""
    rows = rows_in_groups(x, tuple(dims))
    return None if rows is None or (len(rows.groups) > 1 and rows.step > 1) else rows


def short_rows_of(problem: Problem[Any]) -> Rows | None:
    """Return x as rows, also in groups, or as rows of a few columns side by side that divide a vector.

    None where it is neither.
    """
    rows = rows_of(problem) or grouped_rows_of(problem)
    x, dim = problem.operand("x").view, problem.params.dim
    if rows is not None or not problem.operand("y").view.is_contiguous or x.size == 0 or not x.shape:
        return rows
    side = math.prod(x.shape[dim + 1 :])
    if side not in sides_of(*(operand.dtype for operand in problem.operands)):
        return None
    along = range(dim, len(x.shape))
    rows = rows_along(x, along) or _in_groups(x, along)
    return None if rows is None else dataclasses.replace(rows, side=side)


def long_rows_of(problem: Problem[Any]) -> Rows | None:
    """Return the same as far as rows have one pitch."""
    rows = short_rows_of(problem)
    return None if rows is None or rows.groups else rows


def is_aligned(problem: Problem[Any], rows: Rows) -> bool:
    """Tell whether x stands on the grid of y's 16-byte vectors in every row, its elements side by side."""
    return rows.on_grid(problem.operand("x").view.offset, vector_items(problem))


def columns_of(problem: Problem[Any]) -> Columns | None:
    """Return x as columns; None where there are none or their memory has no such form."""
    x, y = problem.operand("x").view, problem.operand("y").view
    if not y.is_contiguous or x.size == 0 or not x.shape:
        return None
    return columns_along(x, (problem.params.dim,))


def aligned_items(problem: Problem[Any], columns: Columns) -> int:
    """Return the columns of one thread: a whole vector where every row of x and y starts on one, else 1."""
    items = vector_items(problem)
    return items if columns.on_grid(problem.operand("x").view.offset, items) else 1


def in_parts(problem: Problem[Any], columns: Columns) -> tuple[Problem[Any], Columns]:
    """Return complex columns as twice as many of their parts, which add up by themselves; anything else as it is.

    Only where rows begin on whole vectors: a lane moves as many bytes then, and the kernels of the parts do for both.
    """
    x, y = problem.operands
    part = dtypes.dtype(x.dtype).part
    if part == x.dtype or aligned_items(problem, columns) != vector_items(problem):
        return problem, columns
    operands = (_of_parts(x, part), _of_parts(y, part))
    halves = Columns(columns.outer, columns.length, 2 * columns.inner, 2 * columns.outer_pitch, 2 * columns.row_pitch)
    return dataclasses.replace(problem, operands=operands), halves


def _of_parts(operand: Operand, part: str) -> Operand:
    shape, strides = (*operand.view.shape, 2), (*(2 * stride for stride in operand.view.strides), 1)
    return dataclasses.replace(
        operand, dtype=part, view=View(shape, strides, 2 * operand.view.offset, 2 * operand.view.storage)
    )


def column_items(dtype: str) -> Iterable[tuple[str, int]]:
    """Return (dtype, columns) of a thread for x of a dtype: a whole vector, of the parts of complex numbers; else 1."""
    part = dtypes.dtype(dtype).part
    whole, single = (part, items_of(part, sum_dtype(part))), (dtype, 1)
    return (whole,) if items_of(dtype, sum_dtype(dtype)) == 1 else (whole, single)


def transposed_of(problem: Problem[Any]) -> Transposed | None:
    """Return x and y as transposed lines; None where their fastest dims agree, or none is summed."""
    return transposed_along(problem.operand("x").view, problem.operand("y").view, problem.params.dim)


def gives_up_x(problem: Problem[Any], device: DeviceInfo) -> bool:
    """Tell whether the L2 cache had better give up x first, so that it keeps y and pushes out less of what it held."""
    return problem.bytes <= tuned("STREAMING_L2", tuning.STREAMING_L2) * device.l2_bytes
