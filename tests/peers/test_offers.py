"""What each peer takes, and what it says where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpubench.operators import operator
from gpubench.peers import PEERS, load, refusal
from gpubench.peers.base import DeviceOperand
from tests.engine.bed import case


def answer(peer: str, name: str, params: Mapping[str, Any], dtype: str = "float32") -> str | None:
    """Return what a peer says to a problem."""
    return refusal(load(peer), operator(name).problem(case(name, params, dtype)))


ADD = {"function": "add", "inputs": [{"shape": [8, 9]}, {"shape": [8, 9]}]}


@pytest.mark.parametrize("peer", PEERS)
def test_plain_work_is_taken_by_all(peer: str) -> None:
    """A contiguous float32 cumsum of one line, a sum of everything and an addition are nobody's problem."""
    assert answer(peer, "cumsum", {"shape": [100], "dim": 0}) is None
    assert answer(peer, "sum", {"shape": [8, 9], "dim": "all"}) is None
    assert answer(peer, "elementwise", ADD) is None


TRANSPOSED = {"shape": [8, 9], "dim": 1, "layout": {"permute": [1, 0]}}


@pytest.mark.parametrize(
    ("peer", "name", "params", "dtype", "words"),
    [
        ("cupy", "sum", {"shape": [8], "dim": [0]}, "bfloat16", "bfloat16"),
        ("cupy", "elementwise", {"function": "gelu", "inputs": [{"shape": [8]}]}, "float32", "gelu"),
        ("cupy", "index_add", {"shape": [8], "indices": 4, "alpha": 2}, "float32", "factor"),
        ("torch", "sum", {"shape": [8, 9], "dim": []}, "float32", "empty list"),
        ("inductor", "cumsum", {"shape": [0], "dim": 0}, "float32", "without elements"),
        ("jax", "cumsum", TRANSPOSED, "float32", "contiguous"),
        ("jax", "cumsum", {"shape": [9], "dim": 0, "layout": {"offset": 3}}, "float16", "multiples of 16 bytes"),
        ("jax", "elementwise", {"function": "lerp", "inputs": [{"shape": [8]}] * 2}, "float32", "lerp"),
        ("cub", "cumsum", {"shape": [8, 9], "dim": 1}, "float32", "one line"),
        ("cub", "sum", {"shape": [8, 9], "dim": [0]}, "float32", "last dims"),
        ("cub", "sum", {"shape": [8], "dim": [0]}, "complex64", "complex"),
        ("cub", "elementwise", {**ADD, "out_dtype": "float16"}, "float32", "one dtype"),
        ("cub", "elementwise", {"function": "add", "inputs": [{"shape": [8, 9]}, {"shape": [9]}]}, "float32", "broad"),
        ("cub", "index_add", {"shape": [8], "indices": 4}, "float32", "cub has no index_add"),
    ],
)
def test_what_is_not_offered_has_a_reason(
    peer: str, name: str, params: Mapping[str, Any], dtype: str, words: str
) -> None:
    """The reason names what stands in the way."""
    reason = answer(peer, name, params, dtype)
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
def test_cub_takes_narrow_dtypes(dtype: str) -> None:
    """cuda.compute knows bfloat16 by its ml_dtypes name, and sums narrow dtypes in wider ones."""
    assert answer("cub", "cumsum", {"shape": [100], "dim": 0}, dtype) is None
    assert answer("cub", "elementwise", ADD, dtype) is None


def test_jax_takes_an_offset_that_keeps_the_alignment() -> None:
    """Four floats are 16 bytes."""
    assert answer("jax", "cumsum", {"shape": [9], "dim": 0, "layout": {"offset": 4}}) is None


def test_operands_tell_their_strides_in_bytes_and_bfloat16_as_an_integer() -> None:
    """Libraries that take foreign arrays know no bfloat16: the bits travel as int16."""
    x = operator("cumsum").problem(case("cumsum", TRANSPOSED, "bfloat16")).operand("x")
    interface = DeviceOperand(x.name, x.role, x.dtype, x.view, 4096).__cuda_array_interface__
    assert interface["typestr"] == "<i2"
    assert interface["shape"] == (8, 9)
    assert interface["strides"] == (2, 16)
    assert interface["data"] == (4096, False)
