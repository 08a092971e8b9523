"""The naive elementwise kernels, interpreted through the operator's own table of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench.devices.fake_kernels import Call, store
from gpubench.operators.elementwise.functions import FUNCTIONS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


def interpret(call: Call) -> Array:
    """Interpret `naive1`, `naive2` or `naive3`: functor, dtype of the work, of the result, of the operands."""
    import numpy

    function = FUNCTIONS[call.template[0].removeprefix("gpubench::functions::")]
    arity = function.arity
    work = call.dtype(1).numpy
    y = call.tensor(0, call.dtype(2), call.walk(1 + arity))
    operands = []
    for index in range(arity):
        array = call.tensor(1 + index, call.dtype(3 + index), call.walk(2 + arity + index)).reshape(-1)
        operands.append(array if index < function.masks else array.astype(work))
    scalars = dict(zip(function.scalars, (call.real(-2), call.real(-1)), strict=False))
    with numpy.errstate(all="ignore"):
        store(y, numpy.asarray(function.compute(numpy, tuple(operands), scalars)))
    return y
