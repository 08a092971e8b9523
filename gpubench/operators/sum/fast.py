"""What the fast sums share: what they all refuse, what they take by value, names of instances, the bound of errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import Accuracy, DeviceInfo, Json, Launch, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, LIMIT, Struct, divider
from gpubench.operators.sum.merged import Dim, Merged, merged, padded

LOADS = 8
"""Vectors that a thread has on their way."""

KEPT_DIMS = 3

DIMS = (1, 2, 3)
"""Kept dims that a kernel of little may be compiled for: at most so many."""

FAR, NEAR = (
    Struct(
        f"gpubench::sum::Outputs<{step}>",
        "reduce_sum/terms.cuh",
        **dict.fromkeys(("first", "second"), INTEGER_DIVIDER),
        **dict.fromkeys(("x_steps", "y_steps"), (code, KEPT_DIMS)),
    )
    for step, code in (("long long", "i8"), ("unsigned int", "u4"))
)
FINISH = Struct("gpubench::sum::Finish", "reduce_sum/terms.cuh", multiple="i8", copies="i8", apart="i8")
SUM = Struct("gpubench::sum::Sum", "reduce_sum/terms.cuh", kept=FAR, finish=FINISH, extent="i8", first_out="i4")
PLAIN = Struct("gpubench::sum::Plain", "reduce_sum/terms.cuh", kept=NEAR, extent="i4")

PLAIN_FROM = 300 * 2**20
"""From so many bytes of x on the L2 cache is not told to give them up first. One H200, 64 MiB: 17.8 us with the hint,
20.1 without; 256 MiB 68.4 and 69.2; 1 GiB 258 and 246."""


class Fast:
    """A sum by the merged dims of x. `along`: its terms lie side by side. most_: dims that the kernel walks."""

    along = True
    most_reduced, most_kept = 1, KEPT_DIMS

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Refuses sums of nothing, other orders of dims, and more of them than the kernel walks."""
        shape = shape_of(problem)
        if isinstance(shape, Refused):
            return shape
        if self.along and shape.apart != 1:
            return Refused("no dim of x has neighbours side by side")
        if self.along and shape.dims and shape.dims[0].kept:
            return Refused("the fastest dim of x is kept")
        refused = too_many(shape.kept, self.most_kept, "kept") or too_many(shape.reduced, self.most_reduced, "reduced")
        return refused or self.planned(problem, shape, device)

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Return the plan, or what else the variant refuses."""
        raise NotImplementedError


def shape_of(problem: Problem[Any]) -> Merged | Refused:
    """Return the sum's dims, or why no fast kernel takes it."""
    if problem.operand("x").view.size == 0:
        return Refused("there is nothing to read")
    return merged(problem)


def too_many(dims: Sequence[Dim], most: int, role: str) -> Refused | None:
    """Return why a kernel cannot walk so many dims, or None."""
    if len(dims) <= most:
        return None
    return Refused(f"{len(dims)} {role} dims are left after merging; the kernel walks {most}")


def common(shape: Merged, dims: Sequence[Dim]) -> tuple[Any, ...]:
    """Return a `gpubench::sum::Sum` whose outputs lie along these kept dims, to stand in a struct."""
    (copies,) = padded(shape.copies, 1)
    return outputs_of(dims), (shape.multiple, copies.size, copies.y), shape.extent, shape.bytes < PLAIN_FROM


def plain(shape: Merged, dims: Sequence[Dim]) -> tuple[Any, ...]:
    """Return a `gpubench::sum::Plain` whose outputs lie along these kept dims, to stand in a struct."""
    return outputs_of(dims), shape.extent


def outputs_of(dims: Sequence[Dim]) -> tuple[Any, ...]:
    """Return a `gpubench::sum::Outputs` along these kept dims, to stand in a struct."""
    every = padded(dims, KEPT_DIMS)
    return divider(every[0].size), divider(every[1].size), [dim.x for dim in every], [dim.y for dim in every]


def is_plain(shape: Merged) -> bool:
    """Say whether each sum is stored once, as it is, and all offsets fit 32 bits."""
    return not shape.copies and shape.multiple == 1 and max(shape.extent, shape.y_bytes) <= LIMIT


def dims_of(kept: Sequence[Dim], instances: Sequence[int] = DIMS) -> int:
    """Return for how many kept dims at most the kernel of little is compiled that takes these."""
    return next(dims for dims in instances if dims >= len(kept))


def fits(*numbers: int) -> bool:
    """Say whether the numbers may be divided by multiplication, or divide so."""
    return all(1 <= number <= LIMIT for number in numbers)


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
