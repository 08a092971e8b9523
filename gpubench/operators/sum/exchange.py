"""What the fast sums share: the words of blocks that share outputs, names of instances, the bound of errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpubench import dtypes
from gpubench.model import Accuracy, Json, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.results import sum_dtype
from gpubench.operators.sum.merged import Merged, merged
from gpubench.operators.sum.structs import KEPT_DIMS

LOADS = 8
"""Vectors that a thread has on their way."""


def shape_of(problem: Problem[Any]) -> Merged | Refused:
    """Return the sum's dims, or why no fast kernel takes it."""
    if problem.operand("x").view.size == 0:
        return Refused("there is nothing to read")
    return merged(problem)


def too_many(kept: int, reduced: int, most_reduced: int) -> Refused | None:
    """Return why a kernel cannot walk so many dims, or None."""
    if kept > KEPT_DIMS:
        return Refused(f"{kept} kept dims are left after merging; the kernel walks {KEPT_DIMS}")
    if reduced > most_reduced:
        return Refused(f"{reduced} reduced dims are left after merging; the kernel walks {most_reduced}")
    return None


def along_terms(problem: Problem[Any], most_reduced: int) -> Merged | Refused:
    """Return the dims of a sum whose terms lie side by side, of which a kernel walks so many; or why it is none."""
    shape = shape_of(problem)
    if isinstance(shape, Refused):
        return shape
    if shape.apart != 1:
        return Refused("no dim of x has neighbours side by side")
    if shape.dims and shape.dims[0].kept:
        return Refused("the fastest dim of x is kept")
    return too_many(len(shape.kept), len(shape.reduced), most_reduced) or shape


def accumulator(dtype: str) -> str:
    """Return the dtype in which sums of a dtype are formed."""
    return dtypes.dtype(sum_dtype(dtype)).accumulator


def word_bytes(dtype: str) -> int:
    """Return the bytes of `gpubench::Published` of a sum."""
    size = dtypes.dtype(accumulator(dtype)).itemsize
    return 8 if size <= 4 else 2 * size


def part_bytes(dtype: str) -> int:
    """Return the bytes of `gpubench::sum::part_t`: 32 bits for 8- and 16-bit integers."""
    row = dtypes.dtype(dtype)
    return 4 if row.kind == "integer" and row.itemsize < 4 else dtypes.dtype(accumulator(dtype)).itemsize


def instance(kernel: str, dtype: str, *others: int | str) -> str:
    """Return the name expression of a kernel's instance."""
    types = [dtypes.dtype(dtype).cpp, dtypes.dtype(sum_dtype(dtype)).cpp, *map(str, others)]
    return f"gpubench::sum::{kernel}<{', '.join(types)}>"


def accuracy(dtype: str, turns: int, others: int, parts: int = 1) -> Accuracy:
    """Return the bound: `turns` of a thread in order, `others` additions of trees, then the parts of other blocks."""
    joined = math.ceil(parts / 32) + 6 if parts > 1 else 0
    return Accuracy(turns + others + joined + 1, accumulator(dtype))


def one_launch(
    instance_of: tuple[str, str],
    grid: int,
    threads: int,
    packed: Value,
    bound: Accuracy,
    notes: Mapping[str, Json],
    shared: int = 0,
    words: int | None = None,
) -> Plan:
    """Return the plan of a launch of this (source, kernel); the variant has the name of its source file.

    words: bytes by which its blocks wait for each other, None for a kernel that takes none.
    """
    source, kernel = instance_of
    workspace = () if words is None else (Workspace(0),)
    arguments = (Pointer("x"), Pointer("y"), *workspace, packed)
    launch = Launch(source, kernel, (grid, 1, 1), (threads, 1, 1), arguments, shared, waits_for_blocks=bool(words))
    name = source.rsplit("/", 1)[1].removesuffix(".cu")
    return Plan(name, (launch,), bound, words or 0, workspace_zeroed=bool(words), notes=notes)
