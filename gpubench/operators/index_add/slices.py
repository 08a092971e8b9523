"""How PyTorch's index_add kernels see their tensors: dims merged around the indexed one, offsets of 32 or 64 bits.

Facts from PyTorch (aten/src/ATen/native/cuda/Indexing.cu and CollapseDims.h). Dims stand slowest first, strides count
elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpubench.layout import View
from gpubench.model import DeviceInfo, Problem, Refused, Value
from gpubench.operators.coalesce import coalesce
from gpubench.operators.structs import Struct

MAX_TENSOR_DIMS = 25
"""Dims that `gpubench::index_add::TensorInfo` holds."""

TENSOR_INFO = {
    itemsize: Struct(
        f"gpubench::index_add::TensorInfo<{cpp}>",
        "index_add/seeds/slices.cuh",
        dims="i4",
        sizes=(f"u{itemsize}", MAX_TENSOR_DIMS),
        strides=(f"u{itemsize}", MAX_TENSOR_DIMS),
        step=f"u{itemsize}",
    )
    for itemsize, cpp in ((4, "unsigned int"), (8, "unsigned long long"))
}
"""By the bytes of an offset."""

LIMIT = 2**31 - 1
"""Elements that 32-bit offsets must stay below."""

SMALL_INDICES = 16
"""Indices up to which PyTorch takes the small-index kernel."""

THREADS = 128
BLOCKS_PER_SM = 8


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor whose indexed dim stands at place `dim` with size 1; `step` is that dim's stride."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dim: int
    step: int

    def pack(self, offset_bytes: int) -> Value:
        """Return the kernel's `TensorInfo`, with offsets of 4 or 8 bytes."""
        unused = MAX_TENSOR_DIMS - len(self.sizes)
        return TENSOR_INFO[offset_bytes].value(
            self,
            dims=len(self.sizes),
            sizes=[*self.sizes, *[1] * unused],
            strides=[*self.strides, *[0] * unused],
        )


def tensor_info(view: View, dim: int, merge: bool) -> TensorInfo:
    """Describe an operand; `merge` joins the dims before the indexed one among themselves, and those after it."""
    shape, strides = (view.shape, view.strides) if view.shape else ((1,), (1,))
    before = shape[:dim], strides[:dim]
    after = shape[dim + 1 :], strides[dim + 1 :]
    if merge:
        before, after = _merged(*before), _merged(*after)
    return TensorInfo((*before[0], 1, *after[0]), (*before[1], strides[dim], *after[1]), len(before[0]), strides[dim])


def _merged(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    joined, (steps,) = coalesce(sizes, strides)
    return joined, steps


@dataclass(frozen=True, slots=True)
class Slices:
    """An index_add seen as slices. `work` counts source elements, `static_dims` dims known to the compiler."""

    destination: TensorInfo
    source: TensorInfo
    indices: int
    slice: int
    size: int
    wide: bool
    static_dims: int
    index_major: bool

    @property
    def work(self) -> int:
        """Elements of the source."""
        return self.indices * self.slice


def slices(problem: Problem[Any], merge: bool) -> Slices:
    """Describe the problem, with dims merged or as they are."""
    destination, index, source = problem.operands
    dim = problem.params.dim
    to, of = tensor_info(destination.view, dim, merge), tensor_info(source.view, dim, merge)
    wide = not all(reaches_32_bits(operand.view) for operand in problem.operands)
    dims = len(to.sizes)
    static = dims if not wide and dims <= 3 and dims == len(of.sizes) else 0
    return Slices(
        to,
        of,
        index.view.size,
        math.prod(to.sizes),
        destination.view.shape[dim] if destination.view.shape else 1,
        wide,
        static,
        static in (0, 1) or slice_is_denser(to),
    )


def reaches_32_bits(view: View) -> bool:
    """Return True when every element's number and offset stay below 2^31 - 1."""
    if view.size == 0:
        return True
    last = sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
    return view.size < LIMIT and last < LIMIT


def slice_is_denser(info: TensorInfo) -> bool:
    """Return True when some dim of the slice has neighbours closer together than the indexed dim has."""
    return any(
        place != info.dim and size > 1 and stride < info.step
        for place, (size, stride) in enumerate(zip(info.sizes, info.strides, strict=True))
    )


Blocks = tuple[int, int, int]
Shape = Callable[[Slices, DeviceInfo], tuple[Blocks, Blocks]]
"""(slices, device) -> grid and block of a launch."""


def over_one_slice(seen: Slices, device: DeviceInfo) -> tuple[Blocks, Blocks]:
    """Return the original's grid and block for few indices: threads for one slice, within `_launch_shape`'s limit."""
    return _launch_shape(seen.slice, device)


def over_the_source(seen: Slices, device: DeviceInfo) -> tuple[Blocks, Blocks]:
    """Return the original's grid and block for many indices: threads for the source, within `_launch_shape`'s limit."""
    return _launch_shape(seen.work, device)


def _launch_shape(work: int, device: DeviceInfo) -> tuple[Blocks, Blocks]:
    """Return grid and block: at most 8 blocks of 128 threads an SM."""
    return (min(-(-work // THREADS), BLOCKS_PER_SM * device.sm_count), 1, 1), (min(work, THREADS), 1, 1)


def too_many_dims(problem: Problem[Any], merge: bool) -> Refused | None:
    """Refuse an operand that the kernels cannot describe, or return None."""
    dims = max(
        len(tensor_info(problem.operand(name).view, problem.params.dim, merge).sizes)
        for name in ("destination", "source")
    )
    if dims <= MAX_TENSOR_DIMS:
        return None
    return Refused(f"{dims} dims {'are left after merging' if merge else 'are there'}; {MAX_TENSOR_DIMS} are the most")
