"""The functions of elementwise: values, promotion, casts, refusals."""

from __future__ import annotations

import math
from typing import Any, Literal, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.dtypes import NAMES, dtype
from gpubench.errors import ParameterError, UnsupportedError
from gpubench.kernels.sources import default_tree
from gpubench.layout import Layout
from gpubench.operators import OPERATORS
from gpubench.operators.elementwise.functions import FUNCTIONS
from gpubench.operators.elementwise.params import ElementwiseParams
from gpubench.operators.parameters import to_json
from tests.operators.cases import layouts, logical, make_case, prepare, whole

BY_HAND: dict[str, Any] = {
    "copy": lambda a: a,
    "neg": lambda a: -a,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "sin": math.sin,
    "tanh": math.tanh,
    "sigmoid": lambda a: 1 / (1 + math.exp(-a)),
    "relu": lambda a: max(a, 0),
    "gelu": lambda a: a / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
    "silu": lambda a: a / (1 + math.exp(-a)),
    "clamp": lambda a: min(max(a, 0), 1),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": max,
    "minimum": min,
    "pow": lambda a, b: a**b,
    "lerp": lambda a, b: a + 0.5 * (b - a),
    "addcmul": lambda a, b, c: a + b * c,
    "where": lambda a, b, c: b if a else c,
}


def test_the_names_that_a_suite_may_write_are_the_table() -> None:
    """The suite's reader, the editors' schema and the functors know the functions of the table, in its order."""
    assert get_type_hints(ElementwiseParams)["function"] == Literal[tuple(FUNCTIONS)]
    functors = default_tree().read("include/gpubench/functions.cuh")
    assert [name for name in FUNCTIONS if f"struct {name} {{" not in functors] == []


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("distribution", ["normal", "uniform", "integers"])
def test_values_agree_with_plain_python(name: str, distribution: str) -> None:
    """Every function on float64, and on int32 and complex128 where it takes them, element by element."""
    for kind, case_dtype in (("float", "float64"), ("integer", "int32"), ("complex", "complex128")):
        if kind not in FUNCTIONS[name].kinds:
            continue
        problem, inputs = prepare(make_case("elementwise", case_dtype, distribution, function=name, shape=(6, 7)))
        operands = [logical(problem, inputs, operand.name) for operand in problem.operands if operand.role == "in"]
        value, _ = whole(OPERATORS["elementwise"].reference(problem, inputs))
        bits = 8 * dtype(case_dtype).itemsize
        for flat, at in enumerate(np.ndindex(6, 7)):
            wanted = BY_HAND[name](*(operand[at].item() for operand in operands))
            if kind == "integer":
                assert value[flat] == (wanted + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
            else:
                assert abs(value[flat] - wanted) <= 1e-13 * (1 + abs(wanted))


@settings(deadline=None)
@given(st.data())
def test_operands_broadcast_as_numpy_does(data: st.DataObject) -> None:
    """Sizes of 1 and missing dims stretch, under any layout of each operand."""
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    specs = []
    for _ in range(2):
        own = tuple(1 if data.draw(st.booleans()) else size for size in shape)[data.draw(st.integers(0, len(shape))) :]
        specs.append({"shape": own, "layout": to_json(data.draw(layouts(own)))})
    problem, inputs = prepare(make_case("elementwise", "float32", function="sub", inputs=specs))
    a, b = logical(problem, inputs, "a"), logical(problem, inputs, "b")
    value, _ = whole(OPERATORS["elementwise"].reference(problem, inputs))
    wanted = a.astype(np.float64) - b
    assert problem.operand("y").view.shape == wanted.shape
    assert value.tolist() == wanted.reshape(-1).tolist()


@pytest.mark.parametrize("one", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_promotion_agrees_with_numpy_inside_a_category(one: str, other: str) -> None:
    """Two floats, two integers or two complex dtypes promote as in numpy; an integer beside a float never widens it."""
    specs = [{"shape": [2], "dtype": one}, {"shape": [2], "dtype": other}]
    problem = OPERATORS["elementwise"].problem(make_case("elementwise", "float32", function="add", inputs=specs))
    result = dtype(problem.operand("y").dtype)
    kinds = {dtype(one).kind, dtype(other).kind}
    if {one, other} == {"float16", "bfloat16"}:
        assert result.name == "float32"  # numpy knows no common dtype
    elif kinds == {"integer", "float"}:
        assert result.name in (one, other)
        assert result.kind == "float"
    elif kinds == {"integer", "complex"}:
        assert result.name in (one, other)
        assert result.kind == "complex"
    else:
        assert result.numpy == np.promote_types(dtype(one).numpy, dtype(other).numpy)


def test_a_result_is_cast_once_to_the_wanted_dtype() -> None:
    """Float to integer cuts off towards zero; complex to real is refused with its reason; abs of complex is real."""
    problem, inputs = prepare(make_case("elementwise", "float32", function="copy", shape=[50], out_dtype="int32"))
    found = OPERATORS["elementwise"].numpy(problem, inputs)()
    assert found.tolist() == [math.trunc(value) for value in logical(problem, inputs, "a").tolist()]
    with pytest.raises(UnsupportedError, match="complex result cannot be cast to float32"):
        OPERATORS["elementwise"].problem(
            make_case("elementwise", "complex64", function="neg", shape=[2], out_dtype="float32")
        )
    modulus = OPERATORS["elementwise"].problem(make_case("elementwise", "complex64", function="abs", shape=[2]))
    assert modulus.operand("y").dtype == "float32"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"function": "addd", "shape": [2]}, "function"),
        ({"function": "add", "inputs": [{"shape": [2]}]}, "inputs"),
        ({"function": "add", "inputs": [{"shape": [2]}, {"shape": [3]}]}, "inputs"),
        ({"function": "add", "shape": [2], "inputs": [{"shape": [2]}] * 2}, "shape"),
        ({"function": "neg", "shape": [-2]}, "inputs.0.shape"),
        ({"function": "neg", "shape": [2, 3], "layout": {"permute": [0, 2]}}, "inputs.0.layout"),
        ({"function": "neg", "shape": [2], "scalars": {"value": 2}}, "scalars.value"),
        ({"function": "clamp", "shape": [2], "scalars": {"low": 2}}, "scalars.low"),
        ({"function": "where", "inputs": [{"shape": [2], "dtype": "int8"}] * 3}, "inputs.0.dtype"),
    ],
)
def test_mistakes_name_their_field(params: dict[str, Any], field: str) -> None:
    """Every mistake in params is a ParameterError of the field at fault."""
    with pytest.raises(ParameterError) as caught:
        make_case("elementwise", "float32", **params)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("function", "name"), [("exp", "int32"), ("sin", "complex64"), ("div", "int8"), ("relu", "complex64")]
)
def test_a_dtype_without_meaning_is_unsupported(function: str, name: str) -> None:
    """The reason names function and dtype."""
    with pytest.raises(UnsupportedError, match=f"{function} does not take {name}"):
        OPERATORS["elementwise"].problem(make_case("elementwise", name, function=function, shape=[2]))


def test_scalars_reach_the_result() -> None:
    """The value of addcmul, the weight of lerp and the ends of clamp are used, rounded to the dtype of the work."""
    for function, scalars, by_hand in (
        ("addcmul", {"value": 0.1}, lambda a, b, c: a + float(np.float32(0.1)) * b * c),
        ("lerp", {"weight": 0.3}, lambda a, b: a + float(np.float32(0.3)) * (b - a)),
        ("clamp", {"low": -0.5, "high": 0.1}, lambda a: min(max(a, -0.5), float(np.float32(0.1)))),
    ):
        problem, inputs = prepare(make_case("elementwise", "float32", function=function, shape=[40], scalars=scalars))
        operands = [
            logical(problem, inputs, operand.name).tolist() for operand in problem.operands if operand.role == "in"
        ]
        value, _ = whole(OPERATORS["elementwise"].reference(problem, inputs))
        np.testing.assert_allclose(
            value, [by_hand(*row) for row in zip(*operands, strict=True)], rtol=1e-14, atol=1e-15
        )


def test_normal_form_of_the_shorthand() -> None:
    """`shape` and `layout` mean the same for every operand, and normalising again changes nothing."""
    one = OPERATORS["elementwise"]
    short = make_case("elementwise", "float32", function="add", shape=[4, 6], layout={"permute": [1, 0]})
    spelt = {"shape": [4, 6], "dtype": "float32", "layout": {"permute": [-1, 0]}}
    assert short == make_case("elementwise", "float32", function="add", inputs=[spelt, spelt], out_dtype="float32")
    normal = one.parse(short.params)
    assert one.normalise(normal, "float32") == normal
    assert normal.inputs[0].layout == Layout(permute=(1, 0))
