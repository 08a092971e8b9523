"""The functions of `elementwise`: one row each, everything that the project knows of it.

The name is also the functor in cuda_src/include/gpubench/functions.cuh, with the scalars as its p0 and p1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpubench.dtypes import Kind

Values = tuple[Any, ...]
Scalars = Mapping[str, float]
Compute = Callable[[Any, Values, Scalars], Any]
"""(numpy, operands, scalars) -> result, in the operands' dtype. numpy is handed in, so that this table needs none."""
Magnitude = Callable[[Any, Any, Values, Scalars], Any]
"""(numpy, result, operands, scalars) -> what the rounding errors are proportional to, or None for exact results."""

ALL: tuple[Kind, ...] = ("integer", "float", "complex")
REAL: tuple[Kind, ...] = ("integer", "float")
FLOAT: tuple[Kind, ...] = ("float",)
FIELD: tuple[Kind, ...] = ("float", "complex")


def _result(np: Any, result: Any, operands: Values, scalars: Scalars) -> Any:
    del operands, scalars
    return np.abs(result)


def _first(np: Any, result: Any, operands: Values, scalars: Scalars) -> Any:
    del result, scalars
    return np.abs(operands[0])


def _terms(np: Any, result: Any, operands: Values, scalars: Scalars) -> Any:
    del result, scalars
    return np.abs(operands[0]) + np.abs(operands[1])


def _product_terms(np: Any, result: Any, operands: Values, scalars: Scalars) -> Any:
    del result
    return np.abs(operands[0]) + abs(scalars["value"]) * np.abs(operands[1]) * np.abs(operands[2])


def _lerp_terms(np: Any, result: Any, operands: Values, scalars: Scalars) -> Any:
    del result
    return (1 + abs(scalars["weight"])) * (np.abs(operands[0]) + np.abs(operands[1]))


def _lerp(np: Any, v: Values, s: Scalars) -> Any:
    """From the nearer end, as torch does: weight 1 gives the second operand exactly."""
    del np
    a, b, weight = v[0], v[1], s["weight"]
    return a + weight * (b - a) if weight < 0.5 else b - (b - a) * (1 - weight)


def _gelu(np: Any, v: Values, s: Scalars) -> Any:
    del s
    x = v[0]
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    kinds: dtypes that the promoted operands may have. roundings: unit roundoffs of the dtype of the work that the
    result may be off, times `magnitude` (an error of 1 ulp is two of them; CUDA's documented bounds for exp, log, sin,
    tanh, pow, rsqrt, with room for numpy's own). domains: what each operand's inputs are restricted to. masks: how many
    leading operands are uint8 masks that take no part in promotion. real_result: complex operands give a real result.
    mixes_parts: which part of a complex result is special, where operands are, depends on how the formula is written.
    """

    arity: int
    compute: Compute
    kinds: tuple[Kind, ...]
    roundings: int = 0
    magnitude: Magnitude | None = None
    domains: tuple[str, ...] = ("any", "any", "any")
    scalars: Mapping[str, float] = field(default_factory=dict)
    masks: int = 0
    real_result: bool = False
    mixes_parts: bool = False


_POSITIVE = ("positive",)

FUNCTIONS: dict[str, Function] = {
    "copy": Function(1, lambda _, v, __: v[0].copy(), ALL),
    "neg": Function(1, lambda np, v, _: np.negative(v[0]), ALL),
    "abs": Function(1, lambda np, v, _: np.abs(v[0]), ALL, 6, _result, real_result=True),
    "exp": Function(1, lambda np, v, _: np.exp(v[0]), FLOAT, 6, _result),
    "log": Function(1, lambda np, v, _: np.log(v[0]), FLOAT, 8, _result, _POSITIVE),
    "sqrt": Function(1, lambda np, v, _: np.sqrt(v[0]), FLOAT, 2, _result, _POSITIVE),
    "rsqrt": Function(1, lambda np, v, _: 1 / np.sqrt(v[0]), FLOAT, 4, _result, _POSITIVE),
    "sin": Function(1, lambda np, v, _: np.sin(v[0]), FLOAT, 6, _result),
    "tanh": Function(1, lambda np, v, _: np.tanh(v[0]), FLOAT, 6, _result),
    "sigmoid": Function(1, lambda np, v, _: 1 / (1 + np.exp(-v[0])), FLOAT, 10, _result),
    "relu": Function(1, lambda np, v, _: np.maximum(v[0], 0), REAL),
    "gelu": Function(1, _gelu, FLOAT, 12, _first),
    "silu": Function(1, lambda np, v, _: v[0] / (1 + np.exp(-v[0])), FLOAT, 12, _first),
    "clamp": Function(
        1,
        lambda np, v, s: np.minimum(np.maximum(v[0], v[0].dtype.type(s["low"])), v[0].dtype.type(s["high"])),
        REAL,
        scalars={"low": 0.0, "high": 1.0},
    ),
    "add": Function(2, lambda np, v, _: np.add(v[0], v[1]), ALL, 1, _terms),
    "sub": Function(2, lambda np, v, _: np.subtract(v[0], v[1]), ALL, 1, _terms),
    "mul": Function(2, lambda np, v, _: np.multiply(v[0], v[1]), ALL, 4, _result, mixes_parts=True),
    "div": Function(
        2, lambda np, v, _: np.true_divide(v[0], v[1]), FIELD, 12, _result, ("any", "nonzero"), mixes_parts=True
    ),
    "maximum": Function(2, lambda np, v, _: np.maximum(v[0], v[1]), REAL),
    "minimum": Function(2, lambda np, v, _: np.minimum(v[0], v[1]), REAL),
    "pow": Function(2, lambda np, v, _: np.power(v[0], v[1]), REAL, 18, _result, ("positive", "exponent")),
    "lerp": Function(
        2,
        _lerp,
        FIELD,
        6,
        _lerp_terms,
        scalars={"weight": 0.5},
        mixes_parts=True,
    ),
    "addcmul": Function(
        3,
        lambda _, v, s: v[0] + v[0].dtype.type(s["value"]) * v[1] * v[2],
        ALL,
        6,
        _product_terms,
        scalars={"value": 1.0},
        mixes_parts=True,
    ),
    "where": Function(3, lambda np, v, _: np.where(v[0], v[1], v[2]), ALL, domains=("mask", "any", "any"), masks=1),
}
