"""What a suite may write for `elementwise`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpubench import dtypes
from gpubench.layout import Layout
from gpubench.operators.elementwise.functions import FUNCTIONS

if TYPE_CHECKING:
    FunctionName = str
else:
    FunctionName = Literal[tuple(FUNCTIONS)]


OutLayout = Literal["contiguous", "operands"]


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One input. dtype None: the case's own dtype (the mask of `where` is always uint8)."""

    shape: tuple[int, ...]
    dtype: dtypes.Name | None = None
    layout: Layout = field(default_factory=Layout)


@dataclass(frozen=True, slots=True)
class ElementwiseParams:
    """y = function(inputs), shapes broadcast as numpy does.

    Write either `inputs`, one entry an operand, or `shape` (and `layout`), meaning the same for every operand.
    Normalised params always hold `inputs`, with shape None and the default layout. out_dtype: the result is cast to it
    (float to integer cuts off towards zero); None: the dtype that the inputs promote to. out_layout: y's dims lie in
    memory in row-major order (contiguous), or in the operands' own order, as the result of torch's functional form does
    (operands); without gaps either way. scalars: constants of the function by name (addcmul: value; lerp: weight;
    clamp: low, high), those left out have their default.
    """

    function: FunctionName
    shape: tuple[int, ...] | None = None
    layout: Layout = field(default_factory=Layout)
    inputs: tuple[OperandSpec, ...] = ()
    out_dtype: dtypes.Name | None = None
    out_layout: OutLayout = "contiguous"
    scalars: Mapping[str, float] = field(default_factory=dict)
