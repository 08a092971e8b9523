"""The bounds of index_add where terms are no random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpubench.measure.check import check, gamma
from gpubench.model import Accuracy
from gpubench.operators import OPERATORS
from gpubench.operators.index_add.accuracy import atomic_accuracy, grouped_accuracy
from tests.operators.cases import make_case

INDEX_ADD = OPERATORS["index_add"]


def one_after_the_other(seed: int, dtype: str, indices: int) -> tuple[Any, Any, Any]:
    """Return the problem of one row for all indices, the reference, and the sums as atomics form them."""
    layout = {"expand": [0]}
    case = make_case("index_add", dtype, seed=seed, shape=(1, 32), indices=indices, source_layout=layout, alpha=0.3)
    problem = INDEX_ADD.problem(case)
    inputs = INDEX_ADD.inputs(problem)
    found = problem.operand("destination").view.of(inputs["destination"]).copy()
    row = problem.operand("source").view.of(inputs["source"])[0]
    scale = np.dtype(dtype).type(0.3).real
    term = scale * row.real + 1j * (scale * row.imag) if found.dtype.kind == "c" else scale * row
    for _ in range(indices):
        found[0] += term.astype(found.dtype)
    return problem, INDEX_ADD.reference(problem, inputs), found


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_equal_terms_added_one_after_the_other_are_within_the_bound(dtype: str) -> None:
    """A source broadcast along the dim: errors do not cancel, and random terms' bound would refuse a right answer."""
    refused = 0
    for seed in range(4):
        problem, reference, found = one_after_the_other(seed, dtype, 3000)
        bound = atomic_accuracy(problem)
        assert check(problem, reference, bound, found).ok
        refused += not check(problem, reference, Accuracy(bound.additions, bound.accumulator), found).ok
    assert refused > 0


def test_random_terms_keep_the_narrow_bound() -> None:
    """Only what is broadcast along the indexed dim is equal for all indices."""
    layouts: tuple[dict[str, Any], ...] = ({}, {"source_layout": {"expand": [1]}})
    for params in layouts:
        problem = INDEX_ADD.problem(make_case("index_add", "float64", shape=(9, 32), indices=3000, **params))
        assert {atomic_accuracy(problem).growth, grouped_accuracy(problem, 5).growth} == {"sqrt"}
    assert gamma(3000, 2.0**-53, "sqrt") < gamma(3000, 2.0**-53) / 10


@pytest.mark.parametrize(("dtype", "most"), [("float16", 2046), ("bfloat16", 254)])
def test_as_many_additions_as_a_half_counts_may_all_be_lost(dtype: str, most: int) -> None:
    """A sum of 16 bits stays where it is once terms are below half a unit of it; sums in float32 do not."""
    for indices, growth in ((most - 1, "sqrt"), (most, "linear")):
        problem = INDEX_ADD.problem(make_case("index_add", dtype, shape=(3, 8), indices=indices, pattern="same"))
        assert atomic_accuracy(problem).growth == growth
        assert grouped_accuracy(problem, 16).growth == "sqrt"
