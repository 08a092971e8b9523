"""Random cases by which speed is judged."""

from __future__ import annotations

import pytest

from gpubench.model import Case
from studies.draws import draw_cases, is_endless


def index_add(dtype: str, count: int, pattern: str) -> Case:
    """Return a case of so many indices of a dim of 1000."""
    params = {"shape": [1000], "dim": 0, "indices": count, "pattern": pattern}
    return Case("index_add", "index_add", dtype, params, "normal", seed=1)


@pytest.mark.parametrize(
    ("dtype", "count", "pattern", "endless"),
    [
        ("int16", 60_000, "same", True),
        ("uint8", 120_000, "half_same", True),
        ("int16", 60_000, "uniform", False),
        ("int16", 40_000, "same", False),
        ("float16", 60_000, "same", False),
        ("float16", 300_000, "same", True),
        ("bfloat16", 300_000, "half_same", False),
        ("int32", 60_000, "same", False),
        ("complex64", 300_000, "same", True),
        ("complex64", 150_000, "same", False),
    ],
)
def test_small_numbers_that_one_place_gets_many_of_are_endless(
    dtype: str, count: int, pattern: str, endless: bool
) -> None:
    """Libraries add such by compare and swap, in time that grows with the square of their number."""
    assert is_endless(index_add(dtype, count, pattern)) is endless


@pytest.mark.parametrize("operator", ["cumsum", "sum", "elementwise"])
def test_no_other_operator_has_endless_cases(operator: str) -> None:
    """Only additions to places meet."""
    assert not any(map(is_endless, draw_cases(operator, 3, 20, 14, 18, "many")))
