"""Axes: a dim, or a few that kernels count through as one, with the steps of several operands along it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpubench.model import Value
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.structs import INTEGER_DIVIDER, LIMIT, Struct, divider

TENSORS = 4
"""Operands that an axis has steps for, the output among them."""

MAX_AXIS_DIMS = 6

NEAR = 2**32
"""Elements of a tensor at most of which offsets have 32 bits."""


def _axes(strides: str, *offset: str) -> tuple[Struct, ...]:
    return tuple(
        Struct(
            f"gpubench::Axis<{', '.join((str(dims), *offset))}>",
            "gpubench/axis.cuh",
            sizes=(INTEGER_DIVIDER, dims),
            strides=(strides, dims * TENSORS),
        )
        for dims in range(1, MAX_AXIS_DIMS + 1)
    )


AXES, NEAR_AXES = _axes("i8"), _axes("u4", "gpubench::uint32")
"""By the number of dims; the first is for one. Those of offsets of 64 bits, and of 32."""


def axis_size(dims: Sequence[Dim]) -> int:
    """Return the elements along an axis; no dims are one element."""
    return math.prod(dim.size for dim in dims)


def axis_fits(dims: Sequence[Dim]) -> bool:
    """Say whether a kernel counts through these dims: not too many, and fewer than 2^31 elements."""
    return len(dims) <= MAX_AXIS_DIMS and axis_size(dims) <= LIMIT


def axis_struct(dims: Sequence[Dim], near: bool = False) -> Struct:
    """Return the `gpubench::Axis` of so many dims. near: with offsets of 32 bits."""
    return (NEAR_AXES if near else AXES)[max(len(dims), 1) - 1]


def axis(dims: Sequence[Dim], near: bool = False) -> Value:
    """Return a `gpubench::Axis` of these dims, fastest first, of one element where there are none."""
    every = tuple(dims) or (Dim(1, (0,)),)
    steps = [step for dim in every for step in (*dim.steps, *[0] * (TENSORS - len(dim.steps)))]
    return axis_struct(every, near).value(sizes=[divider(dim.size) for dim in every], strides=steps)
