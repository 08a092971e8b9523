"""Inputs that leave out no kind of number, here and on a GPU: all patterns of 16-bit floats, and as many doubles."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpubench import dtypes
from gpubench.devices.base import Device
from gpubench.engine.buffers import Operands, Pristine
from gpubench.measure.check import check
from gpubench.model import Check, Plan, Problem
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.flat import Flat
from gpubench.operators.elementwise.functions import FUNCTIONS
from tests.operators.cases import make_case

Array = np.ndarray[Any, np.dtype[Any]]

ROUGH = [name for name, row in FUNCTIONS.items() if row.rough]
EXPONENTIALS = ("exp", "sigmoid", "silu", "gelu")
"""Functions whose exponential of a double is the project's own."""

EXPONENTS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    -3.0,
    0.5,
    -0.25,
    0.333,
    7.0,
    100.0,
    -101.0,
    4096.0,
    np.inf,
    -np.inf,
    np.nan,
)


def doubles() -> Array:
    """Return 65,536 doubles: most where exponentials are finite, of any size, and those at which something changes.

    None whose exponential is subnormal: there one unit of the last place is more than any relative bound.
    """
    draw = np.random.default_rng(1)
    sizes = np.ldexp(draw.uniform(1, 2, 2**13), draw.integers(-1074, 1024, 2**13))
    edges = [0.0, 708.3, 709.78, 709.79, 710.0, 745.14, 750.0, 1e300, np.inf, np.nan, 5e-324]
    made = np.concatenate([edges, np.negative(edges), sizes, -sizes, draw.normal(size=2**13) * 40])
    made = np.concatenate([made, draw.uniform(-708, 720, 2**16 - len(made))])
    return np.where((made > -745.14) & (made < -708.3), 1.0, made)


def powers() -> tuple[Array, Array]:
    """Return 65,536 bases and exponents: special numbers by each other, bases of any size or near 1 with powers of any.

    None whose power is subnormal, but of special numbers.
    """
    draw = np.random.default_rng(2)
    sizes = [0.0, 1.0, 2.0, 0.5, 3.0, 0.333, 101.0, 1e30, 1e-45, 2.0**-126, float(np.finfo(np.float32).max)]
    whole = [2.0**24, 2.0**24 - 1, 2.0**22 + 0.5]
    special = [*sizes, *whole, 1 - 2.0**-24, 1 + 2.0**-23, np.inf, np.nan]
    edges = np.concatenate([special, np.negative(special)]).astype(np.float32)
    one, other = (grid.ravel() for grid in np.meshgrid(edges, edges))
    count = 2**16 - len(one)
    any_size = np.ldexp(draw.uniform(1, 2, count), draw.integers(-149, 128, count))
    near = 1 + draw.normal(size=count) * np.exp2(-draw.uniform(1, 24, count))
    bases = np.where(draw.random(count) < 0.5, any_size, np.abs(near)).astype(np.float32)
    bases[bases == 1] = 2
    exponents = draw.uniform(-126, 128, count) / np.log2(bases.astype(np.float64))
    exponents = np.where(draw.random(count) < 0.3, np.rint(exponents), exponents).astype(np.float32)
    with np.errstate(over="ignore"):
        results = np.power(bases.astype(np.float64), exponents.astype(np.float64))
    bases[results < 2.0**-125], exponents[results < 2.0**-125] = 2, 1.5
    bases = np.where(draw.random(count) < 0.3, -bases, bases)
    return np.concatenate([one, bases]), np.concatenate([other, exponents])


def every_pattern(function: str, dtype: str) -> tuple[Problem[Any], dict[str, Array]]:
    """Return the problem of a function on all patterns, or on doubles, and its inputs; of powers: some exponents.

    Of floats: of powers alone.
    """
    operator = OPERATORS["elementwise"]
    kind = dtypes.dtype(dtype).numpy
    if dtype == "float32":
        pairs = ({"shape": (2**16,)}, {"shape": (2**16,)})
        problem = operator.problem(make_case("elementwise", dtype, function=function, inputs=pairs))
        return problem, dict(zip(("a", "b"), powers(), strict=True))
    patterns = doubles() if dtype == "float64" else np.arange(2**16, dtype=np.uint16).view(kind)
    if FUNCTIONS[function].arity == 1:
        return operator.problem(make_case("elementwise", dtype, function=function, shape=(2**16,))), {"a": patterns}
    shapes = ({"shape": (2**16,)}, {"shape": (len(EXPONENTS), 1)})
    problem = operator.problem(make_case("elementwise", dtype, function=function, inputs=shapes))
    return problem, {"a": patterns, "b": np.array(EXPONENTS).astype(kind)}


def answer(device: Device, function: str, dtype: str) -> Check:
    """Run a function on all patterns and hold it against float64."""
    problem, inputs = every_pattern(function, dtype)
    plan = Flat().plan(problem, device.info)
    assert isinstance(plan, Plan)
    operands = Operands(device, problem, Pristine(device, problem, inputs, keep_inputs=True), plan.workspace_bytes)
    device.bind(plan, operands.addresses, operands.workspace).run()
    reference = OPERATORS["elementwise"].reference(problem, inputs)
    return check(problem, reference, plan.accuracy, operands.output())
