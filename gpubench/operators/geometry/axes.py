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

AXES, NEAR_AXES = (
    tuple(
        Struct(
            f"gpubench::Axis<{dims}{step}>",
            "gpubench/axis.cuh",
            sizes=(INTEGER_DIVIDER, dims),
            strides=(code, dims * TENSORS),
        )
        for dims in range(1, MAX_AXIS_DIMS + 1)
    )
    for step, code in (("", "i8"), (", unsigned int", "u4"))
)
"""By the number of dims; the first is for one. NEAR_AXES: of operands whose offsets all fit 32 bits."""


def axis_size(dims: Sequence[Dim]) -> int:
    """Return the elements along an axis; no dims are one element."""
    return math.prod(dim.size for dim in dims)


def axis_fits(dims: Sequence[Dim]) -> bool:
    """Say whether a kernel counts through these dims: not too many, and fewer than 2^31 elements."""
    return len(dims) <= MAX_AXIS_DIMS and axis_size(dims) <= LIMIT


def axis(dims: Sequence[Dim], axes: Sequence[Struct] = AXES) -> Value:
    """Return a `gpubench::Axis` of these dims, fastest first, of one element where there are none."""
    every = tuple(dims) or (Dim(1, (0,)),)
    steps = [step for dim in every for step in (*dim.steps, *[0] * (TENSORS - len(dim.steps)))]
    return axes[len(every) - 1].value(sizes=[divider(dim.size) for dim in every], strides=steps)
