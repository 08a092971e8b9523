"""The host rule of index_add/naive.cu: one thread adds one element of the source, atomically."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.layout import View
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.dims import without
from gpubench.operators.index_add.accuracy import atomic_accuracy, atomic_plan
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.launch import BLOCK_THREADS, grid_stride, too_many_dims, walk
from gpubench.operators.structs import float64, int64

SOURCE = "index_add/naive.cu"


class Naive:
    """Takes every shape, dtype and layout; the first step of the ladder."""

    name: str = "naive"
    summary: str = "one thread adds one element, atomically"
    origin: str = "textbook; every addition is an atomic, in the dtype"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none when there is nothing to add. Refuses more dims than the kernel's strided walk holds."""
        destination, index, source = problem.operands
        dim = problem.params.dim
        count = index.view.size
        place, from_place = without(destination.view, dim), without(source.view, dim)
        if refused := too_many_dims(place, from_place):
            return refused
        width = math.prod(place[0])
        if count * width == 0:
            return Plan(self.name, (), atomic_accuracy(problem))
        launch = Launch(
            SOURCE,
            kernel(destination.dtype, index.dtype),
            grid_stride(count * width, device),
            (BLOCK_THREADS, 1, 1),
            (
                Pointer("destination"),
                Pointer("source"),
                Pointer("index"),
                walk(*place),
                walk(*from_place),
                int64(count),
                int64(width),
                int64(_step(destination.view, dim)),
                int64(_step(source.view, dim)),
                int64(index.view.strides[0]),
                int64(_size(destination.view, dim)),
                float64(problem.params.alpha),
            ),
        )
        return atomic_plan(self.name, (launch,), problem)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance an index dtype."""
        return tuple((SOURCE, kernel(dtype, index)) for index in INDEX_DTYPES)


def kernel(dtype: str, index: str) -> str:
    """Return the name expression for these dtypes."""
    return f"gpubench::index_add::naive<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def _step(view: View, dim: int) -> int:
    return view.strides[dim] if view.shape else 0


def _size(view: View, dim: int) -> int:
    return view.shape[dim] if view.shape else 1
