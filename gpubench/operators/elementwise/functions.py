"""The functions of `elementwise`: one row each, everything that the project knows of it.

A function is its row here and the functor of the same name in cuda_src/include/gpubench/functions.cuh, whose p0 and p1
are the row's scalars. The suites' schema, `gpubench list --functions`, the peers' calls and the tests' cases follow.
"""

from __future__ import annotations

from typing import Any

from gpubench.dtypes import Kind
from gpubench.operators.elementwise.function import Call, Function, Scalars, Values

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


def _calls(
    torch: str | Call = "", cupy: str | Call = "", jax: str | Call = "", cub: str = "", **more: str
) -> dict[str, Call]:
    """Return the calls by the libraries' names. A string is a path; where it is empty there is no call."""
    every = {"torch": torch, "cupy": cupy, "jax": jax, "cub": cub, **more}
    return {name: Call(call) if isinstance(call, str) else call for name, call in every.items() if call}


_POSITIVE = ("positive",)

FUNCTIONS: dict[str, Function] = {
    "copy": Function(
        1,
        lambda _, v, __: v[0].copy(),
        ALL,
        peers=_calls(Call("clone", out=False), Call("copy", out=False), "numpy.copy", "IDENTITY"),
    ),
    "neg": Function(
        1, lambda np, v, _: np.negative(v[0]), ALL, peers=_calls("neg", "negative", "numpy.negative", "NEGATE")
    ),
    "abs": Function(
        1,
        lambda np, v, _: np.abs(v[0]),
        ALL,
        6,
        _result,
        real_result=True,
        peers=_calls("abs", "absolute", "numpy.abs"),
    ),
    "exp": Function(
        1, lambda np, v, _: np.exp(v[0]), FLOAT, 6, _result, rough=128, peers=_calls("exp", "exp", "numpy.exp")
    ),
    "log": Function(
        1,
        lambda np, v, _: np.log(v[0]),
        FLOAT,
        8,
        _result,
        _POSITIVE,
        rough=64,
        peers=_calls("log", "log", "numpy.log"),
    ),
    "sqrt": Function(
        1,
        lambda np, v, _: np.sqrt(v[0]),
        FLOAT,
        2,
        _result,
        _POSITIVE,
        rough=4,
        peers=_calls("sqrt", "sqrt", "numpy.sqrt"),
    ),
    "rsqrt": Function(
        1, lambda np, v, _: 1 / np.sqrt(v[0]), FLOAT, 4, _result, _POSITIVE, peers=_calls("rsqrt", jax="lax.rsqrt")
    ),
    "sin": Function(
        1, lambda np, v, _: np.sin(v[0]), FLOAT, 6, _result, rough=128, peers=_calls("sin", "sin", "numpy.sin")
    ),
    "tanh": Function(
        1, lambda np, v, _: np.tanh(v[0]), FLOAT, 6, _result, rough=256, peers=_calls("tanh", "tanh", "numpy.tanh")
    ),
    "sigmoid": Function(
        1,
        lambda np, v, _: 1 / (1 + np.exp(-v[0])),
        FLOAT,
        10,
        _result,
        rough=128,
        peers=_calls("sigmoid", jax="nn.sigmoid"),
    ),
    "relu": Function(
        1, lambda np, v, _: np.maximum(v[0], 0), REAL, peers=_calls("ops.aten.relu", Call("maximum", (0,)), "nn.relu")
    ),
    "gelu": Function(
        1,
        _gelu,
        FLOAT,
        12,
        _first,
        rough=16,
        peers=_calls(Call("ops.aten.gelu", keywords={"approximate": "tanh"}), jax="nn.gelu"),
    ),
    "silu": Function(
        1,
        lambda np, v, _: v[0] / (1 + np.exp(-v[0])),
        FLOAT,
        12,
        _first,
        rough=16,
        peers=_calls("ops.aten.silu", jax="nn.silu"),
    ),
    "clamp": Function(
        1,
        lambda np, v, s: np.minimum(np.maximum(v[0], v[0].dtype.type(s["low"])), v[0].dtype.type(s["high"])),
        REAL,
        scalars={"low": 0.0, "high": 1.0},
        peers=_calls(
            Call("clamp", keywords={"min": "low", "max": "high"}),
            Call("clip", ("low", "high")),
            jax=Call("numpy.clip", ("low", "high")),
        ),
    ),
    "add": Function(
        2, lambda np, v, _: np.add(v[0], v[1]), ALL, 1, _terms, peers=_calls("add", "add", "numpy.add", "PLUS")
    ),
    "sub": Function(
        2,
        lambda np, v, _: np.subtract(v[0], v[1]),
        ALL,
        1,
        _terms,
        peers=_calls("sub", "subtract", "numpy.subtract", "MINUS"),
    ),
    "mul": Function(
        2,
        lambda np, v, _: np.multiply(v[0], v[1]),
        ALL,
        4,
        _result,
        mixes_parts=True,
        peers=_calls("mul", "multiply", "numpy.multiply", "MULTIPLIES"),
    ),
    "div": Function(
        2,
        lambda np, v, _: np.true_divide(v[0], v[1]),
        FIELD,
        12,
        _result,
        ("any", "nonzero"),
        mixes_parts=True,
        rough=4,
        peers=_calls("div", "true_divide", "numpy.true_divide", "DIVIDES"),
    ),
    "maximum": Function(
        2, lambda np, v, _: np.maximum(v[0], v[1]), REAL, peers=_calls("maximum", "maximum", "numpy.maximum", "MAXIMUM")
    ),
    "minimum": Function(
        2, lambda np, v, _: np.minimum(v[0], v[1]), REAL, peers=_calls("minimum", "minimum", "numpy.minimum", "MINIMUM")
    ),
    "pow": Function(
        2,
        lambda np, v, _: np.power(v[0], v[1]),
        REAL,
        18,
        _result,
        ("positive", "exponent"),
        rough=2048,
        peers=_calls("pow", "power", "numpy.power"),
    ),
    "lerp": Function(
        2,
        _lerp,
        FIELD,
        6,
        _lerp_terms,
        scalars={"weight": 0.5},
        mixes_parts=True,
        peers=_calls(Call("lerp", ("weight",))),
    ),
    "addcmul": Function(
        3,
        lambda _, v, s: v[0] + v[0].dtype.type(s["value"]) * v[1] * v[2],
        ALL,
        6,
        _product_terms,
        scalars={"value": 1.0},
        mixes_parts=True,
        peers=_calls(Call("addcmul", keywords={"value": "value"})),
    ),
    "where": Function(
        3,
        lambda np, v, _: np.where(v[0], v[1], v[2]),
        ALL,
        domains=("mask", "any", "any"),
        masks=1,
        peers=_calls("where", Call("where", out=False), "numpy.where"),
    ),
}
