"""The approximations behind 16-bit results, on the host: series, reductions and special cases, over every input."""

from __future__ import annotations

import pytest

from tests.operators.elementwise.patterns import EXPONENTIALS, ROUGH, answer
from tests.operators.on_host import host


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", ROUGH)
def test_every_input_keeps_the_bound_that_is_stated(function: str, dtype: str) -> None:
    """All 65,536 patterns against float64; infinities and NaN by class. (The GPU's own approximations: tests/gpu.)"""
    verdict = answer(host(), function, dtype)
    assert verdict.ok, verdict.first_mismatch


@pytest.mark.parametrize("function", EXPONENTIALS)
def test_exponentials_of_doubles_keep_the_function_s_bound(function: str) -> None:
    """Overflow, underflow to zero, infinities and NaN come out as in the C library."""
    verdict = answer(host(), function, "float64")
    assert verdict.ok, verdict.first_mismatch


def test_powers_of_floats_keep_the_function_s_bound() -> None:
    """Signs, zeros, infinities and NaN come out as in the C library, and powers that are nearly too large as well."""
    verdict = answer(host(), "pow", "float32")
    assert verdict.ok, verdict.first_mismatch
