"""The patterns of indices: in range, as spread as they say, and as many different places as the bytes count."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.errors import ParameterError
from gpubench.operators.index_add.indices import distinct_places, draw, most_duplicates, octaves, scatter
from gpubench.operators.index_add.params import Below, Duplicates, Pattern
from tests.operators.cases import make_case

PATTERNS: tuple[Pattern, ...] = ("uniform", "zipf", "sorted", "same", "half_same", Below(50), Duplicates(8))


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize(("places", "indices"), [(1000, 5000), (100_000, 20_000), (777, 777)])
def test_distinct_places_are_as_many_as_counted(pattern: Pattern, places: int, indices: int) -> None:
    """The number behind the fewest bytes is right within 3 % (12 % for few draws); no place passes the bound."""
    drawn = draw(pattern, places, indices, 1, 1) if (indices + 7) // 8 <= places else None
    assert drawn is not None
    assert drawn.min() >= 0
    assert drawn.max() < places
    counts = Counter(drawn.tolist())
    assert len(counts) == pytest.approx(distinct_places(pattern, places, indices), rel=0.03 if places >= 1000 else 0.12)
    assert max(counts.values()) <= most_duplicates(pattern, places, indices)


def test_patterns_are_what_they_say() -> None:
    """Sorted is sorted, same is one place, below stays below, duplicates occur exactly so often, zipf is steep."""
    assert (np.diff(draw("sorted", 1000, 5000, 1, 1)) >= 0).all()
    assert set(draw("same", 1000, 50, 1, 1).tolist()) == {500}
    half = Counter(draw("half_same", 1000, 5000, 1, 1).tolist())
    assert half[500] == pytest.approx(2500, rel=0.05)
    assert len(half) > 800
    assert draw(Below(7), 1000, 5000, 1, 1).max() == 6
    counts = Counter(draw(Duplicates(8), 1000, 803, 1, 1).tolist())
    assert sorted(counts.values()) == [3] + [8] * 100
    zipf = sorted(Counter(draw("zipf", 1000, 100_000, 1, 1).tolist()).values(), reverse=True)
    assert zipf[0] == pytest.approx(100_000 / len(octaves(1000)), rel=0.05)
    assert zipf[0] > 400 * zipf[-1]


def test_the_number_of_threads_changes_nothing() -> None:
    """Indices over several chunks are the same from one thread and from five."""
    for pattern in ("uniform", "zipf", "half_same"):
        one, five = (draw(pattern, 10**6, 2_100_000, 3, 1, threads).tobytes() for threads in (1, 5))
        assert one == five


@settings(deadline=None)
@given(st.integers(1, 5000))
def test_scatter_and_octaves_are_one_to_one(places: int) -> None:
    """Every rank gets a place of its own; the octaves cover every rank once."""
    assert sorted(scatter(np.arange(places), places).tolist()) == list(range(places))
    assert [rank for part in octaves(places) for rank in range(part.start, part.start + part.size)] == list(
        range(places)
    )


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"indices": -1}, "indices"),
        ({"shape": [0, 3], "indices": 2}, "indices"),
        ({"pattern": {"below": 11}}, "pattern.below"),
        ({"pattern": {"duplicates": 0}}, "pattern.duplicates"),
        ({"pattern": {"duplicates": 1}, "indices": 11}, "pattern.duplicates"),
        ({"dim": 2}, "dim"),
        ({"alpha": float("nan")}, "alpha"),
        ({"layout": {"expand": [0]}}, "layout"),
        ({"source_layout": {"permute": [0]}}, "source_layout"),
        ({"shape": [2**31, 1], "index_dtype": "int32"}, "index_dtype"),
    ],
)
def test_mistakes_name_their_field(params: dict[str, Any], field: str) -> None:
    """Every mistake in params is a ParameterError of the field at fault."""
    with pytest.raises(ParameterError) as caught:
        make_case("index_add", "float32", **{"shape": [10, 3], "indices": 5, **params})
    assert caught.value.field == field


def test_a_fraction_of_an_integer_is_refused() -> None:
    """An alpha of 0.5 makes no sense for integers."""
    with pytest.raises(ParameterError, match="whole number for int32"):
        make_case("index_add", "int32", shape=[10], indices=5, alpha=0.5)
