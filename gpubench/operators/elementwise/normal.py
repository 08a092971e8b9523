"""The normal form of elementwise params: every operand spelt out, every scalar filled in."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Sequence

from gpubench import dtypes
from gpubench.errors import ParameterError
from gpubench.layout import Layout
from gpubench.operators.elementwise.function import Function
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.params import ElementwiseParams, OperandSpec
from gpubench.operators.elementwise.promotion import MASK_DTYPE, natural_dtype, promoted_dtype
from gpubench.operators.parameters import check_shape, count_layout


def normalise(params: ElementwiseParams, dtype: str) -> ElementwiseParams:
    """Return params with `inputs` for every operand, dtypes that say nothing left out, and all scalars.

    ParameterError names the field at fault.
    """
    function = FUNCTIONS.get(params.function)
    if function is None:
        near = difflib.get_close_matches(params.function, FUNCTIONS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ParameterError("function", f"there is no {params.function!r}{hint}; there are {', '.join(FUNCTIONS)}")
    inputs = tuple(
        _operand(f"inputs.{number}", spec, dtype, mask=number < function.masks)
        for number, spec in enumerate(_listed(params, function))
    )
    broadcast(inputs)
    normal = dataclasses.replace(params, shape=None, layout=Layout(), inputs=inputs)
    normal = dataclasses.replace(normal, scalars=_scalars(normal, function, dtype))
    if normal.out_dtype == natural_dtype(normal, dtype):
        normal = dataclasses.replace(normal, out_dtype=None)
    return normal


def broadcast(inputs: Sequence[OperandSpec]) -> tuple[int, ...]:
    """Return the shape that the operands broadcast to, by numpy's rule; ParameterError when they do not."""
    dims = max(len(spec.shape) for spec in inputs)
    padded = [(1,) * (dims - len(spec.shape)) + spec.shape for spec in inputs]
    result = []
    for sizes in zip(*padded, strict=True):
        different = set(sizes) - {1}
        if len(different) > 1:
            shapes = ", ".join(str(list(spec.shape)) for spec in inputs)
            raise ParameterError("inputs", f"the shapes {shapes} do not broadcast")
        result.append(different.pop() if different else 1)
    return tuple(result)


def _listed(params: ElementwiseParams, function: Function) -> tuple[OperandSpec, ...]:
    """Return one spec an operand, from either way to write them."""
    if params.inputs and params.shape is not None:
        raise ParameterError("shape", "write either shape or inputs, not both")
    if params.shape is not None:
        return (OperandSpec(params.shape, None, params.layout),) * function.arity
    if not params.layout.is_default:
        raise ParameterError("layout", "belongs to shape; write the layout of each operand in inputs")
    if len(params.inputs) != function.arity:
        raise ParameterError("inputs", f"{params.function} takes {function.arity} operands, found {len(params.inputs)}")
    return params.inputs


def _operand(field: str, spec: OperandSpec, dtype: str, *, mask: bool) -> OperandSpec:
    shape = check_shape(f"{field}.shape", spec.shape)
    layout = count_layout(f"{field}.layout", spec.layout, shape)
    implied = MASK_DTYPE if mask else dtype
    if mask and spec.dtype not in (None, MASK_DTYPE):
        raise ParameterError(f"{field}.dtype", f"a mask is {MASK_DTYPE}, found {spec.dtype}")
    return OperandSpec(shape, None if spec.dtype == implied else spec.dtype, layout)


def _scalars(params: ElementwiseParams, function: Function, dtype: str) -> dict[str, float]:
    unknown = sorted(set(params.scalars) - set(function.scalars))
    if unknown:
        allowed = ", ".join(function.scalars) or "none"
        raise ParameterError(f"scalars.{unknown[0]}", f"{params.function} has no such scalar; allowed: {allowed}")
    values = {name: float(params.scalars.get(name, default)) for name, default in function.scalars.items()}
    for name, value in values.items():
        if not math.isfinite(value):
            raise ParameterError(f"scalars.{name}", f"must be finite, found {value}")
    if "low" in values and values["low"] > values["high"]:
        raise ParameterError("scalars.low", f"{values['low']} is above high, {values['high']}")
    promoted = promoted_dtype(params, dtype)
    if dtypes.dtype(promoted).kind == "integer":
        _fit_integers(values, promoted)
    return values


def _fit_integers(values: dict[str, float], dtype: str) -> None:
    bits = 8 * dtypes.dtype(dtype).itemsize
    low, high = (0, 2**bits - 1) if dtype == "uint8" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for name, value in values.items():
        if value != int(value) or not low <= int(value) <= high:
            raise ParameterError(f"scalars.{name}", f"{value} is not a whole number that {dtype} holds")
