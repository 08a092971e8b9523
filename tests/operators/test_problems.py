"""Case ids, normal forms and fewest bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.dtypes import NAMES
from gpubench.errors import GpubenchError, UsageError
from gpubench.operators import OPERATORS, operator
from gpubench.operators.parameters import to_json
from tests.operators.cases import layouts, make_case, shapes


@pytest.mark.parametrize(
    ("name", "dtype", "params", "wanted"),
    [
        ("cumsum", "float32", {"shape": [4096, 4096], "dim": -1}, "cumsum/4096x4096/dim=1/float32"),
        ("cumsum", "int8", {"shape": [], "dim": -1}, "cumsum/scalar/dim=0/int8"),
        ("sum", "bfloat16", {"shape": [64, 256, 56, 56], "dim": [3, 0, -2]}, "sum/64x256x56x56/dim=0,2,3/bfloat16"),
        ("sum", "float32", {"shape": [8192, 8192]}, "sum/8192x8192/dim=all/float32"),
        ("sum", "float32", {"shape": [8, 9], "dim": [], "keepdim": True}, "sum/8x9/dim=none/keepdim/float32"),
        (
            "elementwise",
            "float32",
            {"function": "add", "inputs": [{"shape": [16384, 8192]}, {"shape": [8192]}]},
            "elementwise/add/16384x8192,8192/float32",
        ),
        (
            "elementwise",
            "float32",
            {"function": "clamp", "shape": [9], "out_dtype": "float16", "scalars": {"high": 6}},
            "elementwise/clamp/9/out=float16/high=6/float32",
        ),
        (
            "index_add",
            "float32",
            {"shape": [1000000, 128], "indices": 1048576, "pattern": "zipf"},
            "index_add/1000000x128/dim=0/n=1048576/zipf/float32",
        ),
        (
            "index_add",
            "float16",
            {"shape": [10, 4], "indices": 5, "pattern": {"below": 3}, "alpha": 0.5, "index_dtype": "int32"},
            "index_add/10x4/dim=0/n=5/below=3/index=int32/alpha=0.5/float16",
        ),
        (
            "cumsum",
            "float32",
            {"shape": [4, 6], "dim": 0, "layout": {"permute": [1, 0], "step": 2, "expand": [1], "offset": 1}},
            "cumsum/4x6/dim=0/layout=permute1-0+step2+expand1+offset1/float32",
        ),
    ],
)
def test_ids_are_stable(name: str, dtype: str, params: dict[str, Any], wanted: str) -> None:
    """The ids that result files hold must never change."""
    assert make_case(name, dtype, **params).id == wanted


@st.composite
def suite_params(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Params as a suite may write them, from a small world, so that equal and nearly equal ones meet."""
    shape = draw(shapes(3, 3))
    name = draw(st.sampled_from(sorted(OPERATORS)))
    params: dict[str, Any] = {"shape": shape, "layout": to_json(draw(layouts(shape, expand=name != "index_add")))}
    if name == "sum":
        params["keepdim"] = draw(st.booleans())
        params["dim"] = draw(st.just("all") | st.integers(-2, 2) | st.lists(st.integers(-2, 2), max_size=2))
    elif name == "elementwise":
        other = draw(st.sampled_from([(), (1,), (1, 1)]))
        specs = st.fixed_dictionaries(
            {"shape": st.just(shape) | st.just(other)}, optional={"dtype": st.sampled_from(["float32", "int8"])}
        )
        params = {"function": draw(st.sampled_from(["neg", "add", "lerp", "where"]))}
        arity = {"neg": 1, "where": 3}.get(params["function"], 2)
        params["inputs"] = draw(st.lists(specs, min_size=arity, max_size=arity))
        params["out_dtype"] = draw(st.none() | st.sampled_from(["float32", "float64"]))
        params["scalars"] = {"weight": draw(st.sampled_from([0.5, 0.25]))} if params["function"] == "lerp" else {}
    else:
        params["dim"] = draw(st.integers(-3, 2))
    if name == "index_add":
        params |= {"indices": draw(st.integers(0, 3)), "alpha": draw(st.sampled_from([1, 2.0, 0.1]))}
        params["pattern"] = draw(st.sampled_from(["same", "zipf", {"below": 1}, {"duplicates": 1}]))
    return name, params


@settings(deadline=None)
@given(st.lists(suite_params(), min_size=2, max_size=12), st.sampled_from(["float32", "float64"]))
def test_different_cases_have_different_ids(written: list[tuple[str, dict[str, Any]]], dtype: str) -> None:
    """Two normalised params share an id exactly when they are equal; no id has a blank; JSON keeps them whole."""
    seen: dict[str, Any] = {}
    for name, params in written:
        try:
            case = make_case(name, dtype, **params)
        except GpubenchError:
            continue
        assert not any(character.isspace() for character in case.id)
        assert seen.setdefault(case.id, case.params) == case.params
        one = OPERATORS[name]
        again = one.normalise(one.parse(case.params), dtype)
        assert to_json(again) == case.params
    texts = [repr(params) for params in seen.values()]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("name", "dtype", "params", "read", "written"),
    [
        ("cumsum", "float32", {"shape": [1000]}, 4000, 4000),
        ("cumsum", "int8", {"shape": [10, 10]}, 100, 800),
        ("cumsum", "float32", {"shape": [10, 10], "layout": {"expand": [0]}}, 40, 400),
        ("cumsum", "float32", {"shape": [10, 0]}, 0, 0),
        ("sum", "bfloat16", {"shape": [16, 32], "dim": 0}, 1024, 64),
        ("sum", "uint8", {"shape": [16, 32]}, 512, 8),
        ("sum", "float32", {"shape": [0, 4], "dim": 0}, 0, 16),
        ("elementwise", "float32", {"function": "add", "inputs": [{"shape": [10, 8]}, {"shape": [8]}]}, 352, 320),
        ("elementwise", "float32", {"function": "copy", "shape": [10], "out_dtype": "float16"}, 40, 20),
        ("elementwise", "float64", {"function": "where", "shape": [10]}, 170, 80),
        ("index_add", "float32", {"shape": [50, 4], "indices": 16, "pattern": {"duplicates": 4}}, 448, 64),
        ("index_add", "float16", {"shape": [50, 4], "indices": 6, "pattern": "same", "index_dtype": "int32"}, 80, 8),
        ("index_add", "float32", {"shape": [50, 4], "indices": 0}, 0, 0),
        ("cumsum", "float32", {"shape": [2**16, 2**16]}, 2**34, 2**34),
    ],
)
def test_fewest_bytes_by_hand(name: str, dtype: str, params: dict[str, Any], read: int, written: int) -> None:
    """Input elements once, output elements once, a destination's named places both ways."""
    problem = OPERATORS[name].problem(make_case(name, dtype, **params))
    assert (problem.bytes_read, problem.bytes_written) == (read, written)


@pytest.mark.parametrize("name", NAMES)
def test_sums_take_every_dtype(name: str) -> None:
    """Integers give int64, the others their own dtype."""
    for summing in ("cumsum", "sum"):
        result = OPERATORS[summing].problem(make_case(summing, name, shape=[3])).operand("y").dtype
        assert result == ("int64" if "int" in name else name)


def test_an_unknown_operator_is_a_usage_error_with_a_hint() -> None:
    """The nearest name is offered."""
    with pytest.raises(UsageError, match="Did you mean cumsum"):
        operator("cumsumm")


def test_importing_the_operators_loads_no_heavy_package() -> None:
    """Neither numpy nor pydantic nor any GPU library, so that `--help` stays quick."""
    heavy = {"numpy", "pydantic", "torch", "cupy", "scipy"}
    code = f"import sys, gpubench.operators; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
