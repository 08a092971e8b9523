"""Inputs: the same bits everywhere, in their distribution, domain and layout."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from gpubench.dtypes import NAMES, dtype
from gpubench.layout import Layout, view
from gpubench.model import Distribution
from gpubench.operators import chunks
from gpubench.operators.inputs import SPECIALS, storage
from tests.operators.cases import logical, make_case, prepare


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int16", "complex64"])
@pytest.mark.parametrize("layout", [Layout(), Layout(permute=(1, 0), step=2, offset=3)])
def test_the_number_of_threads_changes_nothing(name: str, layout: Layout) -> None:
    """One thread and seven make the same bytes, over several chunks."""
    where = view((3, chunks.CHUNK // 2), layout)
    one, seven = (storage(where, name, "with_nonfinite", 5, 0, threads=threads).tobytes() for threads in (1, 7))
    assert one == seven


def test_the_bits_are_those_of_the_first_version() -> None:
    """A result file is only comparable if a case keeps its inputs: these digests must never change."""
    wanted: dict[tuple[str, Distribution], str] = {
        ("float32", "uniform"): "58afa78e2dc977a7",
        ("int64", "integers"): "603858d43908042d",
        ("float64", "uniform"): "fc301cfc03214567",
    }
    found = {
        (name, kind): hashlib.sha256(storage(view((1000,)), name, kind, 1, 0).tobytes()).hexdigest()[:16]
        for name, kind in wanted
    }
    assert found == wanted


def test_seeds_operands_and_chunks_have_streams_of_their_own() -> None:
    """No two of them repeat each other's numbers."""
    base = storage(view((2 * chunks.CHUNK,)), "float32", "normal", 1, 0)
    others = [storage(view((1000,)), "float32", "normal", seed, stream)[:1000] for seed, stream in ((2, 0), (1, 1))]
    parts = [base[:1000], base[chunks.CHUNK : chunks.CHUNK + 1000], *others]
    for number, part in enumerate(parts):
        for other in parts[number + 1 :]:
            assert not np.intersect1d(part, other).size > 5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("distribution", ["normal", "uniform", "integers", "with_nonfinite"])
def test_distributions_are_what_they_say(name: str, distribution: Distribution) -> None:
    """Mean, spread and range of each distribution, for every dtype; special values in with_nonfinite alone, a few."""
    row = dtype(name)
    made = storage(view((20_000,)), name, distribution, 1, 0)
    assert made.dtype == row.numpy
    values: Any = made.astype(np.complex128 if row.kind == "complex" else np.float64).real
    special = ~np.isfinite(values) if row.kind != "integer" else np.zeros(values.shape, bool)
    assert (0 < special.sum() <= SPECIALS) == (distribution == "with_nonfinite" and row.kind != "integer")
    if row.kind == "integer" and distribution == "with_nonfinite":
        assert {np.iinfo(row.numpy).max, np.iinfo(row.numpy).min} <= set(made.tolist())
    elif distribution in ("normal", "with_nonfinite"):
        spread = 32 if row.kind == "integer" else 1
        assert abs(values[~special].mean() - (128 if name == "uint8" else 0)) < 0.05 * spread
        assert abs(values[~special].std() - spread) < 0.05 * spread
    elif distribution == "uniform":
        top = 100 if row.kind == "integer" else 1
        assert values.min() >= 0
        assert values.max() <= top
        assert abs(values.mean() - top / 2) < 0.02 * top
    else:
        low = 0 if name == "uint8" else -2
        assert set(values.tolist()) == {low, low + 1, low + 2, low + 3, low + 4}


@pytest.mark.parametrize(
    "layout", [Layout(step=2), Layout(offset=3), Layout(permute=(1, 0), step=3), Layout(expand=(0,))]
)
def test_gaps_hold_the_filler_and_elements_do_not(layout: Layout) -> None:
    """What no index names is NaN, so that a kernel that uses it shows; every element is a drawn number."""
    where = view((5, 7), layout)
    made = storage(where, "float32", "normal", 1, 0)
    elements = where.of(made)
    assert np.isfinite(elements).all()
    assert len(np.unique(elements)) == where.unique_elements
    assert np.isnan(made).sum() == where.storage - where.unique_elements


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (function, name)
        for function in ("log", "sqrt", "rsqrt", "div", "pow", "where")
        for name in ("float16", "float64")
    ]
    + [("pow", "int8"), ("where", "uint8")],
)
def test_functions_get_inputs_in_their_domain(function: str, name: str) -> None:
    """No logarithm of 0, no divisor of 0, no negative base or exponent of integers, masks of 0 and 1."""
    problem, inputs = prepare(make_case("elementwise", name, "integers", function=function, shape=[4000]))
    first = logical(problem, inputs, "a").astype(np.float64)
    if function == "div":
        assert (logical(problem, inputs, "b") != 0).all()
    elif function == "where":
        assert set(first.tolist()) == {0, 1}
    else:
        assert (first > 0).all()
    if function == "pow" and name == "int8":
        assert set(logical(problem, inputs, "b").tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,)])
def test_tiny_and_empty_operands(shape: tuple[int, ...]) -> None:
    """A scalar, an empty tensor and one element have storage of just their size."""
    made = storage(view(shape), "float32", "with_nonfinite", 1, 0)
    assert made.size == int(np.prod(shape))
