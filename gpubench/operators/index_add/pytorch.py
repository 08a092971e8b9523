"""The host side of small_index.cu and large_index.cu: PyTorch's two kernels and the choice of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Json, Launch, Plan, Pointer, Problem, Refused, Value
from gpubench.operators.choosing import Dispatch
from gpubench.operators.index_add.accuracy import atomic_accuracy, atomic_plan
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.slices import (
    MAX_TENSOR_DIMS,
    SMALL_INDICES,
    Shape,
    Slices,
    over_one_slice,
    over_the_source,
    slices,
    too_many_dims,
)
from gpubench.operators.structs import float64, int32, int64, unsigned

STATIC_DIMS = (1, 2, 3, 0)
LIMITS = "atomics in the dtype, in any order; 1-D with few indices is one block (known bad case)"


Kernel = tuple[str, str]
"""Source and name."""

SMALL: Kernel = ("index_add/seeds/small_index.cu", "small_index")
LARGE: Kernel = ("index_add/seeds/large_index.cu", "large_index")


@dataclass(eq=False, slots=True)
class SmallIndex:
    """Takes up to 16 indices, on tensors that 32-bit offsets reach. `shape`: (slices, device) -> grid and block."""

    name: str = "small_index"
    summary: str = "every thread walks the indices and strides over one slice; grid covers one slice"
    origin: str = f"PyTorch indexFuncSmallIndex; up to {SMALL_INDICES} indices, tensors under 2^31 elements; {LIMITS}"
    kernel: Kernel = SMALL
    shape: Shape = over_one_slice

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none when there is nothing to add. Refuses what the original sends to the other kernel."""
        return _not_small(problem) or _plan(self.name, problem, device, self.kernel, self.shape, merge=True)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One for each index dtype and number of dims."""
        return _small_instances(dtype, *self.kernel)


@dataclass(eq=False, slots=True)
class LargeIndex:
    """Takes any number of indices."""

    name: str = "large_index"
    summary: str = "threads stride over the whole source, index-major or not by stride"
    origin: str = f"PyTorch indexFuncLargeIndex; at most {MAX_TENSOR_DIMS} dims after merging; {LIMITS}"
    kernel: Kernel = LARGE

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none when there is nothing to add. Refuses more dims than the kernel's description holds."""
        return _plan(self.name, problem, device, self.kernel, over_the_source, merge=True)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One for each index dtype and number of dims, and the 64-bit form."""
        return _large_instances(dtype, *self.kernel)


class Uncollapsed:
    """The two kernels without merged dims, chosen between as PyTorch does.

    A contiguous (32, 1024, 1024) keeps its three, and every element pays one remainder and one division for each; from
    four dims on the loop over them is not unrolled.
    """

    name: str = "uncollapsed"
    summary: str = "small_index and large_index with every dim kept, to measure what merging dims is worth"
    origin: str = (
        "PyTorch's two kernels with dims as they are (the text gives only the time without merging); at most "
        f"{MAX_TENSOR_DIMS} dims; {LIMITS}"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none when there is nothing to add. Refuses more dims than the kernel's description holds."""
        kernel, shape = (LARGE, over_the_source) if _not_small(problem) else (SMALL, over_one_slice)
        return _plan(self.name, problem, device, kernel, shape, merge=False)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return both kernels' instances."""
        return (*_small_instances(dtype, *SMALL), *_large_instances(dtype, *LARGE))


def _not_small(problem: Problem[Any]) -> Refused | None:
    """Refuse what the small-index kernel is not for."""
    indices = problem.operand("index").view.size
    if indices > SMALL_INDICES:
        return Refused(f"{indices} indices; the small-index kernel is for up to {SMALL_INDICES}")
    if slices(problem, merge=True).wide:
        return Refused("a tensor reaches beyond 2^31 elements; the small-index kernel has 32-bit offsets only")
    return None


def _plan(
    variant: str, problem: Problem[Any], device: DeviceInfo, kernel: Kernel, shape: Shape, *, merge: bool
) -> Plan | Refused:
    """Return the plan of one kernel: a large-index kernel where its grid is over the source, else a small-index one."""
    if refused := too_many_dims(problem, merge):
        return refused
    seen = slices(problem, merge)
    if seen.work == 0:
        return Plan(variant, (), atomic_accuracy(problem))
    grid, block = shape(seen, device)
    destination, index, _ = problem.operands
    source, name = kernel
    if shape is over_the_source:
        expression = large_kernel(name, destination.dtype, index.dtype, seen.wide, seen.static_dims)
        order: tuple[Value, ...] = (int32(int(seen.index_major)),)
    else:
        expression = small_kernel(name, destination.dtype, index.dtype, seen.static_dims)
        order = ()
    offset_bytes = 8 if seen.wide else 4
    launch = Launch(
        source,
        expression,
        grid,
        block,
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            seen.destination.pack(offset_bytes),
            seen.source.pack(offset_bytes),
            unsigned(seen.indices, offset_bytes),
            unsigned(seen.slice, offset_bytes),
            *order,
            int64(seen.size),
            float64(problem.params.alpha),
        ),
    )
    return atomic_plan(variant, (launch,), problem, notes=_notes(seen, name, launch))


def _notes(seen: Slices, kernel: str, launch: Launch) -> dict[str, Json]:
    """Return what was chosen, and whether this is the case that leaves all but one block idle."""
    return {
        "kernel": kernel,
        "grid": launch.grid[0],
        "block": launch.block[0],
        "destination_sizes": list(seen.destination.sizes),
        "source_sizes": list(seen.source.sizes),
        "static_dims": seen.static_dims,
        "index_major": seen.index_major,
        "offset_bits": 64 if seen.wide else 32,
        "known_bad_case": launch.grid == (1, 1, 1) and seen.slice == 1,
    }


def small_kernel(name: str, dtype: str, index: str, dims: int) -> str:
    """Return the name expression of a small-index instance."""
    return f"gpubench::index_add::{name}<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {dims}>"


def large_kernel(name: str, dtype: str, index: str, wide: bool, dims: int) -> str:
    """Return the name expression of a large-index instance."""
    offset = "unsigned long long" if wide else "unsigned int"
    return f"gpubench::index_add::{name}<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {offset}, {dims}>"


def _small_instances(dtype: str, source: str, name: str) -> tuple[tuple[str, str], ...]:
    return tuple((source, small_kernel(name, dtype, index, dims)) for index in INDEX_DTYPES for dims in STATIC_DIMS)


def _large_instances(dtype: str, source: str, name: str) -> tuple[tuple[str, str], ...]:
    forms = [(False, dims) for dims in STATIC_DIMS] + [(True, 0)]
    return tuple(
        (source, large_kernel(name, dtype, index, wide, dims)) for index in INDEX_DTYPES for wide, dims in forms
    )


_SMALL, _LARGE = SmallIndex(), LargeIndex()
AUTO_PYTORCH = Dispatch(
    "auto_pytorch",
    f"PyTorch's dispatch: small_index up to {SMALL_INDICES} indices, else large_index",
    f"PyTorch index_add_cuda_ (not deterministic); at most {MAX_TENSOR_DIMS} dims after merging; {LIMITS}",
    (_SMALL, _LARGE),
    lambda problem: _LARGE if _not_small(problem) else _SMALL,
)
"""PyTorch's choice: by the number of indices, and by what 32-bit offsets reach."""
