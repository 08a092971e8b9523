"""Host memory that downloads share: an output never shows what an earlier one left, and memory stays bounded."""

from __future__ import annotations

import numpy as np
import pytest

from gpubench.engine.buffers import Landing


def test_the_next_output_lands_in_the_same_memory() -> None:
    """Memory is asked for once, grows with the largest output, and has the size and dtype asked for each time."""
    landing = Landing()
    first = landing.take(1000, "float64")
    second = landing.take(10, "bfloat16")
    assert np.shares_memory(first, second)
    assert (second.size, second.dtype.itemsize) == (10, 2)
    larger = landing.take(2000, "complex128")
    assert not np.shares_memory(first, larger)
    assert np.shares_memory(larger, landing.take(1, "int8"))


def test_a_huge_output_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit an output gets memory of its own, which goes with it."""
    monkeypatch.setattr(Landing, "MOST", 100)
    landing = Landing()
    assert not np.shares_memory(landing.take(101, "int8"), landing.take(101, "int8"))


def test_no_elements_are_no_trouble() -> None:
    """An empty output has no elements, whatever was there before."""
    landing = Landing()
    assert landing.take(0, "float32").size == 0
    landing.take(5, "float32")
    assert landing.take(0, "complex64").size == 0
