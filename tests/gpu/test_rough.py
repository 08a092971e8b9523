"""The hardware's approximations behind 16-bit results, on a real GPU, over every input.

Run with: pytest tests/gpu/test_rough.py -p no:cacheprovider
"""

from __future__ import annotations

import pytest

from gpubench.devices.base import Device
from tests.operators.elementwise.patterns import EXPONENTIALS, ROUGH, answer

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", ROUGH)
def test_every_input_keeps_the_bound_that_is_stated(device: Device, function: str, dtype: str) -> None:
    """All 65,536 patterns against float64; infinities and NaN by class."""
    verdict = answer(device, function, dtype)
    assert verdict.ok, verdict.first_mismatch


@pytest.mark.parametrize("function", EXPONENTIALS)
def test_exponentials_of_doubles_keep_the_function_s_bound(device: Device, function: str) -> None:
    """Overflow, underflow to zero, infinities and NaN come out as in the C library."""
    verdict = answer(device, function, "float64")
    assert verdict.ok, verdict.first_mismatch


def test_powers_of_floats_keep_the_function_s_bound(device: Device) -> None:
    """Signs, zeros, infinities and NaN come out as in the C library, and powers that are nearly too large as well."""
    verdict = answer(device, "pow", "float32")
    assert verdict.ok, verdict.first_mismatch
