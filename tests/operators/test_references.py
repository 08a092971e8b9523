"""The references against slow definitions in plain Python."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.dtypes import NAMES, dtype
from gpubench.operators import OPERATORS
from gpubench.operators.parameters import to_json
from tests.operators.cases import Array, layouts, logical, make_case, prepare, shapes, whole

DISTRIBUTIONS = ("normal", "uniform", "integers")


def exact(value: Any) -> Any:
    """Return a number without rounding: a Fraction, an int, or a pair of Fractions."""
    if isinstance(value, np.integer | int):
        return int(value)
    if isinstance(value, np.complexfloating | complex):
        return (Fraction(float(value.real)), Fraction(float(value.imag)))
    return Fraction(float(value))


def total(terms: list[Any], scale: float = 1.0) -> Any:
    """Return the sum, without rounding (integers: as wrapped to int64)."""
    if not terms:
        return 0
    if isinstance(terms[0], tuple):
        return complex(*(float(sum((term[part] for term in terms), Fraction())) * scale for part in (0, 1)))
    summed = sum(terms)
    if isinstance(summed, int):
        return (summed * int(scale) + 2**63) % 2**64 - 2**63
    return float(summed * Fraction(scale))


def agree(found: Array, wanted: list[Any]) -> None:
    """Equal to 14 digits, exactly for integers."""
    if found.dtype.kind == "i":
        assert found.tolist() == wanted
    else:
        np.testing.assert_allclose(found, np.array(wanted, found.dtype), rtol=1e-14, atol=1e-13)


@settings(deadline=None)
@given(st.data())
def test_cumsum_is_every_prefix_of_its_line(data: st.DataObject) -> None:
    """Any shape, dim, dtype and layout: each output is the exact sum of its line up to there, S that of |x|."""
    shape = data.draw(shapes())
    name = data.draw(st.sampled_from(NAMES))
    params: dict[str, Any] = {
        "shape": shape,
        "dim": data.draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1)),
    }
    layout = to_json(data.draw(layouts(shape)))
    problem, inputs = prepare(
        make_case("cumsum", name, data.draw(st.sampled_from(DISTRIBUTIONS)), layout=layout, **params)
    )
    x = logical(problem, inputs, "x")
    value, sizes = whole(OPERATORS["cumsum"].reference(problem, inputs))
    dim = problem.params.dim
    prefixes = [
        [exact(x[(*at[:dim], k, *at[dim + 1 :])] if at else x[()]) for k in range(at[dim] + 1 if at else 1)]
        for at in np.ndindex(shape)
    ]
    agree(value, [total(terms) for terms in prefixes])
    if sizes is not None:
        wanted = [sum(abs(complex(*map(float, t)) if isinstance(t, tuple) else float(t)) for t in p) for p in prefixes]
        np.testing.assert_allclose(sizes, wanted, rtol=1e-12)


@settings(deadline=None)
@given(st.data())
def test_sum_is_the_sum_of_the_terms_of_each_output(data: st.DataObject) -> None:
    """Any set of dims, keepdim or not, any shape, dtype and layout; the sum of nothing is 0."""
    shape = data.draw(shapes())
    name = data.draw(st.sampled_from(NAMES))
    dims = data.draw(st.sets(st.sampled_from(range(len(shape))))) if shape else set()
    keepdim = data.draw(st.booleans())
    case = make_case(
        "sum",
        name,
        data.draw(st.sampled_from(DISTRIBUTIONS)),
        shape=shape,
        dim=[data.draw(st.sampled_from([dim, dim - len(shape)])) for dim in dims],
        keepdim=keepdim,
        layout=to_json(data.draw(layouts(shape))),
    )
    problem, inputs = prepare(case)
    x = logical(problem, inputs, "x")
    value, sizes = whole(OPERATORS["sum"].reference(problem, inputs))
    groups: dict[tuple[int, ...], list[Any]] = {
        at: [] for at in np.ndindex(tuple(1 if dim in dims else size for dim, size in enumerate(shape)))
    }
    for at in np.ndindex(shape):
        groups[tuple(0 if dim in dims else place for dim, place in enumerate(at))].append(exact(x[at]))
    agree(value, [total(terms) for terms in groups.values()])
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(shape) if keepdim or dim not in dims)
    assert problem.operand("y").view.shape == kept
    if value.size:
        assert (sizes is None) == (dtype(name).kind == "integer")


@settings(deadline=None)
@given(st.data())
def test_index_add_adds_every_named_slice(data: st.DataObject) -> None:
    """Any shape, dim, pattern, dtype and layout: duplicates add up, places that are not named keep their value."""
    shape = data.draw(shapes(3))
    name = data.draw(st.sampled_from(NAMES))
    dim = data.draw(st.integers(0, max(len(shape), 1) - 1))
    places = shape[dim] if shape else 1
    pattern = data.draw(st.sampled_from(["uniform", "zipf", "sorted", "same", {"below": 1}]))
    case = make_case(
        "index_add",
        name,
        shape=shape,
        dim=dim,
        indices=data.draw(st.integers(0, 9)) if places else 0,
        pattern=pattern,
        index_dtype=data.draw(st.sampled_from(["int32", "int64"])),
        alpha=data.draw(st.sampled_from([1.0, -2.0])),
        layout=to_json(data.draw(layouts(shape, expand=False))),
    )
    problem, inputs = prepare(case)
    target, source = logical(problem, inputs, "destination"), logical(problem, inputs, "source")
    value, sizes = whole(OPERATORS["index_add"].reference(problem, inputs))
    alpha = problem.params.alpha
    for flat, at in enumerate(np.ndindex(shape)):
        named = [k for k, row in enumerate(inputs["index"]) if row == (at[dim] if at else 0)]
        added = total([exact(source[(*at[:dim], k, *at[dim + 1 :])]) for k in named], alpha)
        if dtype(name).kind == "integer":
            assert value[flat] == int(target[at]) + added
        else:
            assert abs(value[flat] - (complex(target[at]) + added)) < 1e-12
            assert sizes is not None
            assert (sizes[flat] == 0) == (not named)


@pytest.mark.parametrize(
    ("shape", "dim"), [((700_001,), 0), ((3, 300_001), 0), ((2, 300_001), 1), ((2, 5, 70_000), 1), ((40_000, 3, 5), 1)]
)
def test_cumsum_carries_across_blocks(shape: tuple[int, ...], dim: int) -> None:
    """Lines and rows longer than a block of the reference come out as if there were no blocks."""
    problem, inputs = prepare(make_case("cumsum", "int32", shape=shape, dim=dim))
    x = np.moveaxis(logical(problem, inputs, "x"), dim, -1).reshape(-1, shape[dim])
    value, _ = whole(OPERATORS["cumsum"].reference(problem, inputs))
    lines = np.moveaxis(value.reshape(shape), dim, -1).reshape(-1, shape[dim])
    for line in (0, len(x) // 2, len(x) - 1):
        assert lines[line].tolist() == list(itertools.accumulate(x[line].tolist()))
    assert lines[:, -1].tolist() == x.sum(axis=1, dtype=np.int64).tolist()


@pytest.mark.parametrize(
    ("shape", "dim"),
    [((700_001,), "all"), ((300_001, 3), 0), ((3, 300_001), 0), ((900, 700), [0, 1]), ((7, 400, 300), 1)],
)
def test_sum_joins_blocks_of_terms_and_outputs(shape: tuple[int, ...], dim: Any) -> None:
    """More terms, or more outputs, than a block holds: float sums agree with math.fsum."""
    problem, inputs = prepare(make_case("sum", "float32", shape=shape, dim=dim))
    x = logical(problem, inputs, "x")
    value, sizes = whole(OPERATORS["sum"].reference(problem, inputs))
    axes = problem.params.dim
    columns = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(value.size, -1)
    assert sizes is not None
    for output in {0, value.size // 2, value.size - 1}:
        assert value[output] == pytest.approx(math.fsum(columns[output].tolist()), abs=1e-9)
        assert sizes[output] == pytest.approx(math.fsum(np.abs(columns[output]).tolist()), rel=1e-12)


def test_index_add_cuts_a_heavy_place_into_runs() -> None:
    """One place that takes more elements than a block holds gets them all."""
    problem, inputs = prepare(make_case("index_add", "int64", shape=(9, 50), indices=20_000, pattern="same", alpha=3))
    value, _ = whole(OPERATORS["index_add"].reference(problem, inputs))
    target, source = logical(problem, inputs, "destination").copy(), logical(problem, inputs, "source")
    target[4] += 3 * source.sum(axis=0)
    assert value.tolist() == target.reshape(-1).tolist()


def test_integer_sums_wrap_at_64_bits() -> None:
    """The extremes of int64 add up modulo 2^64, as the kernels' integers do."""
    problem, inputs = prepare(make_case("sum", "int64", shape=(4,)))
    inputs["x"][:] = 2**63 - 1
    value, _ = whole(OPERATORS["sum"].reference(problem, inputs))
    assert value.tolist() == [-4]


def test_special_values_spread_to_their_own_line_only() -> None:
    """NaN and infinity reach what comes after them in their line, as NaN, infinity, and NaN for their difference."""
    problem, inputs = prepare(make_case("cumsum", "float32", shape=(4, 5)))
    x = logical(problem, inputs, "x")
    x[0, 2], x[1, 1], x[2, 1], x[2, 3] = np.nan, np.inf, np.inf, -np.inf
    value, _ = whole(OPERATORS["cumsum"].reference(problem, inputs))
    rows = value.reshape(4, 5)
    assert np.isfinite(rows).sum(axis=1).tolist() == [2, 1, 1, 5]
    assert np.isnan(rows).sum(axis=1).tolist() == [3, 0, 2, 0]


def test_an_index_outside_the_dim_is_an_error_of_the_case() -> None:
    """The reference refuses it and names the first such index."""
    problem, inputs = prepare(make_case("index_add", "float32", shape=(10, 3), indices=8, pattern={"out_of_range": 2}))
    with pytest.raises(ValueError, match=r"2 of 8 indices lie outside dim 0 of size 10; the first is index\[0\] = -1"):
        OPERATORS["index_add"].reference(problem, inputs)


def test_blocks_are_kept_for_the_next_contender() -> None:
    """A small reference is worked out once: the second reading gives the very same arrays."""
    problem, inputs = prepare(make_case("cumsum", "float32", shape=(100,)))
    reference = OPERATORS["cumsum"].reference(problem, inputs)
    first, second = list(reference.blocks()), list(reference.blocks())
    assert first[0][1] is second[0][1]


def test_a_real_alpha_keeps_the_parts_of_a_complex_number_apart() -> None:
    """An infinite real part times a real alpha leaves the imaginary part finite, as kernels do."""
    problem, inputs = prepare(make_case("index_add", "complex64", shape=(1,), indices=1, pattern="same", alpha=2))
    problem.operand("source").view.of(inputs["source"])[0] = complex(np.inf, 1.0)
    problem.operand("destination").view.of(inputs["destination"])[0] = 0
    value, _ = whole(OPERATORS["index_add"].reference(problem, inputs))
    assert value[0].real == np.inf
    assert value[0].imag == 2.0
