"""One elementwise function on operands somewhere in memory: what all launches of this package are made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.model import Argument, Pointer, Problem, Workspace
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.naive import broadcast_strides, scalar_parameters
from gpubench.operators.elementwise.params import ElementwiseParams, OperandSpec
from gpubench.operators.elementwise.promotion import (
    MASK_DTYPE,
    natural_dtype,
    operand_dtypes,
    promoted_dtype,
    result_dtype,
    work_dtype,
)
from gpubench.operators.elementwise.pytorch.iterator import Walk, walks


@dataclass(frozen=True, slots=True)
class Tensor:
    """One operand. `argument` is its first element; `alignment_offset` that element's bytes after a 256-byte boundary;
    strides count bytes, one for each dim of the output.
    """

    argument: Pointer | Workspace
    dtype: str
    strides: tuple[int, ...]
    alignment_offset: int

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtypes.dtype(self.dtype).itemsize

    def at(self, start: int) -> Argument:
        """Return the kernel argument `start` bytes further on."""
        return replace(self.argument, byte_offset=self.argument.byte_offset + start)


@dataclass(frozen=True, slots=True)
class Work:
    """A function, the dtype it works in, the shape, the tensors (output first) and the scalars p0 and p1.

    natural: the dtypes (output first) that need no cast.
    """

    function: str
    dtype: str
    shape: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    natural: tuple[str, ...]
    scalars: tuple[float, float] = (0.0, 0.0)

    @property
    def needs_cast(self) -> bool:
        """True when an operand or the output has another dtype than the function's own there."""
        return tuple(tensor.dtype for tensor in self.tensors) != self.natural

    @property
    def itemsizes(self) -> tuple[int, ...]:
        """Bytes of an element of each tensor, output first."""
        return tuple(tensor.itemsize for tensor in self.tensors)

    def walks(self) -> tuple[Walk, ...]:
        """Return the walks within 32 bits that cover the work."""
        return walks(self.shape, [tensor.strides for tensor in self.tensors])

    def is_contiguous(self, walk: Walk) -> bool:
        """Return whether all tensors are one run along this walk."""
        return walk.is_contiguous(self.itemsizes)


def work_of(problem: Problem[Any]) -> Work:
    """Return the work of an elementwise problem."""
    params, dtype = problem.params, problem.case.dtype
    *inputs, y = problem.operands
    tensors = []
    for operand in (y, *inputs):
        itemsize = dtypes.dtype(operand.dtype).itemsize
        strides = tuple(stride * itemsize for stride in broadcast_strides(operand, y.view.shape))
        tensors.append(Tensor(Pointer(operand.name), operand.dtype, strides, operand.view.offset * itemsize))
    return Work(
        params.function,
        work_dtype(params, dtype),
        y.view.shape,
        tuple(tensors),
        natural_dtypes(params, dtype),
        scalar_parameters(params),
    )


def natural_dtypes(params: ElementwiseParams, dtype: str) -> tuple[str, ...]:
    """Return the dtypes, output first, with which the function needs no cast: masks, then all operands alike."""
    masks = FUNCTIONS[params.function].masks
    promoted = promoted_dtype(params, dtype)
    return (natural_dtype(params, dtype), *(MASK_DTYPE if n < masks else promoted for n in range(len(params.inputs))))


def copy_work(shape: tuple[int, ...], source: Tensor, target: Tensor) -> Work:
    """Return the copy of one tensor into another, cast where their dtypes differ.

    The work is done in the target's dtype (float32 for the 16-bit floats).
    """
    row = dtypes.dtype(target.dtype)
    dtype = row.accumulator if row.kind == "float" else row.name
    return Work("copy", dtype, shape, (target, source), (target.dtype, target.dtype))


def types_of(function: Any, dtype: str) -> tuple[str, tuple[str, ...]]:
    """Return (dtype of the work, dtypes of output and operands) where all operands have the case's dtype."""
    params = ElementwiseParams(function, inputs=(OperandSpec(()),) * FUNCTIONS[function].arity)
    return work_dtype(params, dtype), (result_dtype(params, dtype), *operand_dtypes(params, dtype))
