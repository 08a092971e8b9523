"""Powers of integers, which wrap: every pair of bytes, and exponents of every size of wider ones."""

from __future__ import annotations

import numpy as np
import pytest

from gpubench import dtypes
from gpubench.engine.buffers import Operands, Pristine
from gpubench.model import Plan
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.flat import Flat
from tests.operators.cases import make_case
from tests.operators.on_host import host

WIDE = (0, 1, 2, 3, 7, 8, 255, 256, 257, 32767, -1, -2, -255, -32768, 12345, -9)


def power(base: int, exponent: int, bits: int, signed: bool) -> int:
    """Return the power in so many bits; of a negative exponent the quotient, cut off towards zero."""
    if exponent < 0:
        return base ** (exponent % 2) if abs(base) == 1 else 0
    wrapped = pow(base, exponent, 1 << bits)
    return wrapped - (1 << bits) if signed and wrapped >> (bits - 1) else wrapped


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int64"])
def test_integer_powers_wrap(dtype: str) -> None:
    """Of 1 and -1 by negative exponents, of 0 by 0, and far beyond the dtype's range."""
    kind = dtypes.dtype(dtype).numpy
    limits = np.iinfo(kind)
    every = range(limits.min, limits.max + 1) if kind.itemsize == 1 else WIDE
    operator = OPERATORS["elementwise"]
    shapes = ({"shape": (len(every),)}, {"shape": (len(every), 1)})
    problem = operator.problem(make_case("elementwise", dtype, function="pow", inputs=shapes))
    inputs = {name: np.array(every, dtype=kind) for name in ("a", "b")}
    plan = Flat().plan(problem, host().info)
    assert isinstance(plan, Plan)
    operands = Operands(host(), problem, Pristine(host(), problem, inputs, keep_inputs=True), plan.workspace_bytes)
    host().bind(plan, operands.addresses, operands.workspace).run()
    bits, signed = 8 * kind.itemsize, limits.min < 0
    expected = [power(base, exponent, bits, signed) for exponent in every for base in every]
    assert operands.output().ravel().tolist() == expected
