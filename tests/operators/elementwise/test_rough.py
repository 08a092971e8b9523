"""The approximations behind 16-bit results, on the host: series, reductions and special cases, over every input."""

from __future__ import annotations

import pytest

from tests.operators.elementwise.patterns import ROUGH, answer
from tests.operators.on_host import host


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", ROUGH)
def test_every_input_keeps_the_bound_that_is_stated(function: str, dtype: str) -> None:
    """All 65,536 patterns against float64; infinities and NaN by class. (The GPU's own approximations: tests/gpu.)"""
    verdict = answer(host(), function, dtype)
    assert verdict.ok, verdict.first_mismatch
