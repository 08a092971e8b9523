"""What all of these variants ask of a problem: its shape around the dim, a contiguous input of the output's dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Operand, Pointer, Problem, Refused, Workspace
from gpubench.operators.elementwise.pytorch import launches
from gpubench.operators.elementwise.pytorch.work import Tensor, Work, copy_work
from gpubench.operators.structs import MAX_ITERATOR_DIMS


@dataclass(frozen=True, slots=True)
class Extent:
    """A tensor seen as outer x length x inner around the summed dim. A scalar is 1 x 1 x 1."""

    outer: int
    length: int
    inner: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.outer * self.length * self.inner


def extent(problem: Problem[Any]) -> Extent:
    """Return the tensor's extent around the dim."""
    shape, dim = problem.params.shape, problem.params.dim
    if not shape:
        return Extent(1, 1, 1)
    return Extent(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))


def is_last(problem: Problem[Any]) -> bool:
    """Return whether the summed dim is the tensor's last (a scalar's too)."""
    return bool(problem.params.dim >= len(problem.params.shape) - 1)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The input as the scan kernels want it: where it is, the launches that put it there, and the bytes they need."""

    x: Pointer | Workspace
    copies: tuple[Launch, ...] = ()
    workspace_bytes: int = 0


def prepare(problem: Problem[Any], device: DeviceInfo, place: int = 0) -> Prepared:
    """Return x itself where it is contiguous and of the output's dtype, else the launches that copy it.

    The copy lies in the workspace from byte `place` (a multiple of 256) and is made by the elementwise dispatch, with
    the cast to int64 in the same launch.
    """
    x, y = problem.operand("x"), problem.operand("y")
    if x.view.is_contiguous and x.dtype == y.dtype:
        return Prepared(Pointer("x"))
    work = _copy(x, y, place)
    form = launches.Form(older=False, capability=device.compute_capability)
    copies = tuple(launches.dispatched(work, walk, form) for walk in work.walks())
    return Prepared(Workspace(place), copies, aligned(_nbytes(y)))


def cannot_copy(problem: Problem[Any]) -> Refused | None:
    """Refuse a copy that cannot be made; None when it can, or is not needed."""
    x, y = problem.operand("x"), problem.operand("y")
    if x.view.is_contiguous:
        return None
    most = max((len(walk.sizes) for walk in _copy(x, y, 0).walks()), default=0)
    if most <= MAX_ITERATOR_DIMS:
        return None
    return Refused(f"{most} dims are left after merging; the copy walks at most {MAX_ITERATOR_DIMS}")


def _copy(x: Operand, y: Operand, place: int) -> Work:
    source_bytes, target_bytes = dtypes.dtype(x.dtype).itemsize, dtypes.dtype(y.dtype).itemsize
    source = Tensor(
        Pointer("x"), x.dtype, tuple(stride * source_bytes for stride in x.view.strides), x.view.offset * source_bytes
    )
    target = Tensor(Workspace(place), y.dtype, tuple(stride * target_bytes for stride in y.view.strides), 0)
    return copy_work(x.view.shape, source, target)


def _nbytes(operand: Operand) -> int:
    return operand.view.size * dtypes.dtype(operand.dtype).itemsize


def aligned(nbytes: int) -> int:
    """Return the next multiple of 256 bytes."""
    return -(-nbytes // 256) * 256


def cpp(problem: Problem[Any]) -> str:
    """Return the name in cuda_src of the dtype that the scan kernels read and write: the output's."""
    return dtypes.dtype(problem.operand("y").dtype).cpp
