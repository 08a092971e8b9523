"""The launches of one walk, one function for each kernel of elementwise/{vectorized,unrolled,strided,casting}.cu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench import dtypes
from gpubench.model import Argument, Launch, Value
from gpubench.operators.elementwise.pytorch.iterator import Walk
from gpubench.operators.elementwise.pytorch.width import OLDER_ITEMS, items_per_thread, newer_width, older_width
from gpubench.operators.elementwise.pytorch.work import Work
from gpubench.operators.structs import Struct, float64, int32, offset_calculator

THREADS = 128
CAST_ITEMS = 4
SPACE = "gpubench::elementwise"

CASTS = tuple(
    Struct(
        f"gpubench::elementwise::Casts<{operands}>",
        "elementwise/seeds/casting.cu",
        dtypes=("i4", operands),
        sizes=("u4", operands),
    )
    for operands in (1, 2, 3, 4)
)
"""By the number of tensors; the first is for one."""


def cpp(name: str) -> str:
    """Return the dtype's name in cuda_src."""
    return dtypes.dtype(name).cpp


def vectorized_kernel(function: str, dtype: str, types: tuple[str, ...], width: int, items: int) -> str:
    """Return the name expression for output and operands of `types`."""
    names = ", ".join(map(cpp, types))
    return f"{SPACE}::vectorized<gpubench::functions::{function}, {cpp(dtype)}, {width}, {items}, {names}>"


def unrolled_kernel(function: str, dtype: str, types: tuple[str, ...], items: int) -> str:
    """Return the name expression for output and operands of `types`."""
    return f"{SPACE}::unrolled<gpubench::functions::{function}, {cpp(dtype)}, {items}, {', '.join(map(cpp, types))}>"


def strided_kernel(function: str, dtype: str, types: tuple[str, ...]) -> str:
    """Return the name expression; 2 elements a thread where the output's have 4 bytes or more, else 4."""
    unroll = 2 if dtypes.dtype(types[0]).itemsize >= 4 else 4
    return f"{SPACE}::strided<gpubench::functions::{function}, {cpp(dtype)}, {unroll}, {', '.join(map(cpp, types))}>"


def casting_kernel(function: str, dtype: str, operands: int, strided: bool) -> str:
    """Return the name expression; the operands' dtypes are no part of it."""
    name = "casting_strided" if strided else "casting"
    return f"{SPACE}::{name}<gpubench::functions::{function}, {cpp(dtype)}, {', '.join(['void'] * operands)}>"


def places(work: Work, walk: Walk) -> tuple[int, ...]:
    """Return the bytes of each tensor's first element of the walk after a boundary of 256 bytes."""
    return tuple(
        (tensor.alignment_offset + start) % 256 for tensor, start in zip(work.tensors, walk.starts, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Form:
    """One of the original's forms on a GPU: how many elements an access moves and a thread works on."""

    older: bool
    capability: tuple[int, int]

    def width(self, work: Work, walk: Walk) -> int:
        """Return the elements of an access on contiguous tensors."""
        return self._width(places(work, walk), work.itemsizes)

    def widest(self, itemsizes: Sequence[int]) -> int:
        """Return the elements of an access where every pointer is aligned."""
        return self._width((0,) * len(itemsizes), itemsizes)

    def items(self, itemsizes: Sequence[int]) -> int:
        """Return the elements of a thread."""
        return OLDER_ITEMS if self.older else items_per_thread(itemsizes)

    def _width(self, at: Sequence[int], itemsizes: Sequence[int]) -> int:
        return older_width(at, itemsizes) if self.older else newer_width(at, itemsizes, self.capability)


def vectorized(work: Work, walk: Walk, width: int, items: int) -> Launch:
    """Return the launch on contiguous tensors. At width 1 it is the unrolled kernel, as in the original."""
    if width == 1:
        return unrolled(work, walk, items)
    kernel = vectorized_kernel(work.function, work.dtype, _types(work), width, items)
    return _launch("elementwise/seeds/vectorized.cu", kernel, work, walk, items)


def unrolled(work: Work, walk: Walk, items: int) -> Launch:
    """Return the launch on contiguous tensors with one element an access."""
    kernel = unrolled_kernel(work.function, work.dtype, _types(work), items)
    return _launch("elementwise/seeds/unrolled.cu", kernel, work, walk, items)


def strided(work: Work, walk: Walk) -> Launch:
    """Return the launch on strided tensors without casts. ValueError for more than 25 dims."""
    types = _types(work)
    items = 2 if dtypes.dtype(types[0]).itemsize >= 4 else 4
    calculator = offset_calculator(walk.sizes, *walk.strides)
    kernel = strided_kernel(work.function, work.dtype, types)
    return _launch("elementwise/seeds/strided.cu", kernel, work, walk, items, calculator)


def casting(work: Work, walk: Walk) -> Launch:
    """Return the launch that casts at run time, for contiguous or strided tensors. ValueError for more than 25 dims."""
    contiguous = work.is_contiguous(walk)
    kernel = casting_kernel(work.function, work.dtype, len(work.tensors) - 1, not contiguous)
    codes = [dtypes.NAMES.index(tensor.dtype) for tensor in work.tensors]
    casts = CASTS[len(codes) - 1].value(dtypes=codes, sizes=work.itemsizes)
    extra = (casts,) if contiguous else (offset_calculator(walk.sizes, *walk.strides), casts)
    return _launch("elementwise/seeds/casting.cu", kernel, work, walk, CAST_ITEMS, *extra)


def dispatched(work: Work, walk: Walk, form: Form) -> Launch:
    """Return the launch that the original's dispatch takes: cast needed? contiguous? then the vector width."""
    if work.needs_cast:
        return casting(work, walk)
    if work.is_contiguous(walk):
        return vectorized(work, walk, form.width(work, walk), form.items(work.itemsizes))
    return strided(work, walk)


def _types(work: Work) -> tuple[str, ...]:
    return tuple(tensor.dtype for tensor in work.tensors)


def _launch(source: str, kernel: str, work: Work, walk: Walk, items: int, *extra: Value) -> Launch:
    """Return a launch of one tile of THREADS * items elements a block."""
    output, *inputs = (tensor.at(start) for tensor, start in zip(work.tensors, walk.starts, strict=True))
    arguments: tuple[Argument, ...] = (
        output,
        int32(walk.elements),
        *extra,
        *(float64(value) for value in work.scalars),
        *inputs,
    )
    return Launch(source, kernel, (-(-walk.elements // (THREADS * items)), 1, 1), (THREADS, 1, 1), arguments)
