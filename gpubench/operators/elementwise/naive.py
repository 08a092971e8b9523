"""The host rule of elementwise/naive.cu: one thread, one element at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Operand, Plan, Pointer, Problem, Refused
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.params import ElementwiseParams, OperandSpec
from gpubench.operators.elementwise.promotion import accuracy, operand_dtypes, result_dtype, work_dtype
from gpubench.operators.launch import BLOCK_THREADS, grid_stride, too_many_dims, walk
from gpubench.operators.structs import float64, int64

SOURCE = "elementwise/naive.cu"


class Naive:
    """Takes every function, shape, dtype and layout; the first step of the ladder."""

    name: str = "naive"
    summary: str = "one thread, one element at a time"
    origin: str = "textbook; 64-bit divisions for every element's offset"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch; none for an empty result. Refuses more dims than the kernel's strided walk holds."""
        *inputs, y = problem.operands
        shape = y.view.shape
        if refused := too_many_dims(*((shape, broadcast_strides(operand, shape)) for operand in problem.operands)):
            return refused
        params, dtype = problem.params, problem.case.dtype
        bound = accuracy(params, dtype)
        if y.view.size == 0:
            return Plan(self.name, (), bound)
        launch = Launch(
            SOURCE,
            kernel(params, dtype),
            grid_stride(y.view.size, device),
            (BLOCK_THREADS, 1, 1),
            (
                Pointer("y"),
                *(Pointer(operand.name) for operand in inputs),
                *(walk(shape, broadcast_strides(operand, shape)) for operand in (y, *inputs)),
                int64(y.view.size),
                *(float64(value) for value in scalar_parameters(params)),
            ),
        )
        return Plan(self.name, (launch,), bound)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Every function that takes the dtype, all operands and the result of it."""
        kind = dtypes.dtype(dtype).kind
        return tuple((SOURCE, kernel(_same_dtype(name), dtype)) for name, row in FUNCTIONS.items() if kind in row.kinds)


def _same_dtype(name: Any) -> ElementwiseParams:
    return ElementwiseParams(name, inputs=(OperandSpec(()),) * FUNCTIONS[name].arity)


def kernel(params: ElementwiseParams, dtype: str) -> str:
    """Return the name expression: functor, dtype of the work, of the result, of the operands."""
    names = (work_dtype(params, dtype), result_dtype(params, dtype), *operand_dtypes(params, dtype))
    types = ", ".join(dtypes.dtype(name).cpp for name in names)
    return f"gpubench::elementwise::naive{len(params.inputs)}<gpubench::functions::{params.function}, {types}>"


def scalar_parameters(params: ElementwiseParams) -> tuple[float, float]:
    """Return p0 and p1, 0 where the function has none."""
    values = [params.scalars.get(name, default) for name, default in FUNCTIONS[params.function].scalars.items()]
    first, second, *_ = [*values, 0.0, 0.0]
    return first, second


def broadcast_strides(operand: Operand, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the operand's strides for an index into `shape`: 0 along the dims in which it is broadcast."""
    view = operand.view
    missing = len(shape) - len(view.shape)
    own = (0 if size == 1 else stride for size, stride in zip(view.shape, view.strides, strict=True))
    return (0,) * missing + tuple(own)
