"""Which dtypes an elementwise problem has: of its operands, of the work, of its result, and the bound that follows."""

from __future__ import annotations

from gpubench import dtypes
from gpubench.model import Accuracy
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.params import ElementwiseParams

MASK_DTYPE = "uint8"


def operand_dtypes(params: ElementwiseParams, dtype: str) -> tuple[str, ...]:
    """Return the dtype of each operand of normalised params."""
    masks = FUNCTIONS[params.function].masks
    return tuple(MASK_DTYPE if number < masks else spec.dtype or dtype for number, spec in enumerate(params.inputs))


def promoted_dtype(params: ElementwiseParams, dtype: str) -> str:
    """Return the dtype that the operands promote to, masks left out."""
    return dtypes.promote(*operand_dtypes(params, dtype)[FUNCTIONS[params.function].masks :])


def work_dtype(params: ElementwiseParams, dtype: str) -> str:
    """Return the dtype in which the function works: the promoted one, float32 for the 16-bit floats."""
    promoted = dtypes.dtype(promoted_dtype(params, dtype))
    return promoted.accumulator if promoted.kind == "float" else promoted.name


def natural_dtype(params: ElementwiseParams, dtype: str) -> str:
    """Return the result's dtype where none is asked for: the promoted one, its real part's for abs."""
    promoted = promoted_dtype(params, dtype)
    return dtypes.dtype(promoted).part if FUNCTIONS[params.function].real_result else promoted


def result_dtype(params: ElementwiseParams, dtype: str) -> str:
    """Return the output's dtype."""
    return params.out_dtype or natural_dtype(params, dtype)


def is_rough(params: ElementwiseParams, dtype: str) -> bool:
    """Say whether the hardware's approximations are close enough: the operands and the result are 16-bit floats."""
    every = (result_dtype(params, dtype), *operand_dtypes(params, dtype))
    return FUNCTIONS[params.function].rough > 0 and all(name in ("float16", "bfloat16") for name in every)


def accuracy(params: ElementwiseParams, dtype: str, rough: bool = False) -> Accuracy:
    """Return what the check allows: the function's bound, in the dtype of the work; rough: of the approximations."""
    row = FUNCTIONS[params.function]
    return Accuracy(row.roundings + (row.rough if rough else 0), work_dtype(params, dtype), "linear")
