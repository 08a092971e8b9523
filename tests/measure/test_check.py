"""The check: right answers pass, every kind of wrong one is caught and named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench import dtypes
from gpubench.layout import view
from gpubench.measure.check import check, gamma
from gpubench.model import Accuracy, Case, Operand, Problem

Array = np.ndarray[Any, np.dtype[Any]]
FLOATS = ("float16", "bfloat16", "float32", "float64")


class Known:
    """A reference given by its arrays, cut into small blocks."""

    def __init__(self, value: Array, magnitude: Array | None, block: int = 7) -> None:
        self.value, self.magnitude, self.block = value.reshape(-1), magnitude, block
        if magnitude is not None:
            self.magnitude = magnitude.reshape(-1)

    def blocks(self) -> Iterator[tuple[slice, Array, Array | None]]:
        """Yield the blocks."""
        for start in range(0, self.value.size, self.block):
            place = slice(start, min(start + self.block, self.value.size))
            yield place, self.value[place], None if self.magnitude is None else self.magnitude[place]


def problem_of(shape: tuple[int, ...], dtype: str) -> Problem[None]:
    """Return a problem with an output alone."""
    return Problem(Case("id", "none", dtype, {}), None, (Operand("y", "out", dtype, view(shape)),), 0, 0)


def judge(
    found: Any, value: Any, dtype: str = "float32", magnitude: Any = None, additions: int = 1, growth: Any = "linear"
) -> Any:
    """Check arrays given as lists."""
    row = dtypes.dtype(dtype)
    output = np.asarray(found).astype(row.numpy)
    wide = {"integer": np.int64, "float": np.float64, "complex": np.complex128}[row.kind]
    wanted = np.asarray(value, None if row.kind == "integer" else wide)
    sizes = np.abs(wanted).astype(np.float64) if magnitude is None and row.kind != "integer" else magnitude
    reference = Known(wanted, None if sizes is None else np.asarray(sizes, np.float64))
    return check(problem_of(output.shape, dtype), reference, Accuracy(additions, row.accumulator, growth), output)


@settings(deadline=None)
@given(st.data())
def test_the_bound_is_the_formula(data: st.DataObject) -> None:
    """One element at 0.99 of the bound passes and at 1.01 fails, for every float dtype that can show the difference."""
    value = data.draw(st.floats(1, 100))
    size = value * data.draw(st.floats(1, 50))
    additions = data.draw(st.integers(1, 10_000))
    growth = data.draw(st.sampled_from(["sqrt", "linear"]))
    unit = 2.0**-24
    steps = min(4 * math.sqrt(additions), additions) if growth == "sqrt" else additions
    relative = steps * unit / (1 - steps * unit)
    allowed = relative * size + unit * value * (1 + relative) + 2.0**-150
    found = np.float32(value)
    for factor, wanted in ((0.99, True), (1.01, False)):
        reference = float(found) + factor * allowed
        shift = (reference - value) * unit * 2  # the bound follows the reference by this much
        if abs(shift) < 0.005 * allowed:
            assert judge([found], [reference], magnitude=[size], additions=additions, growth=growth).ok is wanted


def test_gamma_grows_to_one_and_no_further() -> None:
    """Gamma is h u / (1 - h u), 4 sqrt(h) instead of h for random signs where that is less, at most 1."""
    assert gamma(0, 2.0**-24) == 0
    assert gamma(1000, 2.0**-24) == 1000 * 2.0**-24 / (1 - 1000 * 2.0**-24)
    assert gamma(10_000, 2.0**-24, "sqrt") == gamma(400, 2.0**-24)
    assert gamma(4, 2.0**-24, "sqrt") == gamma(4, 2.0**-24)
    assert gamma(10**9, 2.0**-8) == 1


@pytest.mark.parametrize("dtype", FLOATS)
@settings(deadline=None)
@given(seed=st.integers(0, 2**32), place=st.integers(0, 59))
def test_one_wrong_element_is_found(dtype: str, seed: int, place: int) -> None:
    """An error of eight roundings in one element fails the check, which names index, found and wanted."""
    random = np.random.default_rng(seed)
    row = dtypes.dtype(dtype)
    value = (random.random((3, 4, 5)) / 2 + 1).astype(row.numpy).astype(np.float64)
    found = value.copy()
    index = np.unravel_index(place, value.shape)
    found[index] += 8 * row.roundoff
    verdict = judge(found, value, dtype, additions=1)
    assert not verdict.ok
    assert verdict.first_mismatch["index"] == [int(place) for place in index]
    assert verdict.first_mismatch["wanted"] == value[index]
    assert verdict.first_mismatch["found"] == found[index]
    assert verdict.max_error == pytest.approx(8 * row.roundoff)
    assert verdict.max_error_over_tolerance > 1
    assert judge(value, value, dtype).ok


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_poison_never_passes(dtype: str, poison: float) -> None:
    """An output that was not written, all or in its last element, is wrong."""
    value = np.linspace(-2, 2, 30)
    assert not judge(np.full(30, poison), value, dtype, additions=10**9).ok
    found = value.copy()
    found[-1] = poison
    verdict = judge(found, value, dtype, additions=100)
    assert not verdict.ok
    assert verdict.first_mismatch["index"] == [29]
    assert verdict.first_mismatch["found"] == str(poison)


def test_rows_off_by_one_are_found() -> None:
    """An output shifted by one row, and an exclusive scan for an inclusive one, are wrong."""
    value = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32).astype(np.float64)
    assert not judge(np.roll(value, 1, axis=0), value).ok
    x = np.random.default_rng(2).standard_normal(1000)
    scan, size = np.cumsum(x), np.cumsum(np.abs(x))
    assert judge(scan, scan, magnitude=size, additions=1000, growth="sqrt").ok
    assert not judge(scan - x, scan, magnitude=size, additions=1000, growth="sqrt").ok


@pytest.mark.parametrize(
    ("found", "value", "fine"),
    [
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (np.inf, np.nan, False),
        (np.nan, np.inf, False),
        (3.0, np.nan, False),
        (3.0e38, np.inf, False),
        (0.0, -0.0, True),
    ],
)
def test_special_values_match_by_class(found: float, value: float, fine: bool) -> None:
    """NaN for NaN, the same infinity for infinity, nothing else."""
    assert judge([1, found], [1, value]).ok is fine


@pytest.mark.parametrize(
    ("found", "value", "fine"),
    [
        (np.inf, 65519, True),  # within half a unit of where rounding overflows
        (np.inf, 65536, True),
        (np.inf, 1e6, True),
        (-np.inf, 1e6, False),
        (65504, 65519, True),
        (65504, 1e6, False),
        (np.inf, 60000, False),
    ],
)
def test_overflow_to_infinity_is_rounding(found: float, value: float, fine: bool) -> None:
    """Near float16's largest number either side passes; far above it infinity alone, far below it never."""
    assert judge([found], [value], "float16", additions=1).ok is fine


def test_a_magnitude_that_overflows_excuses_no_special_value() -> None:
    """An infinite tolerance admits finite answers only."""
    assert judge([5.0], [1.0], "float64", magnitude=[np.inf]).ok
    assert not judge([np.nan], [1.0], "float64", magnitude=[np.inf]).ok


def test_subnormal_answers_may_be_half_a_step_off() -> None:
    """The smallest subnormal's half is allowed where relative bounds vanish; a whole step is not."""
    tiny = 2.0**-149
    assert judge([tiny], [tiny / 2], magnitude=[0]).ok
    assert not judge([2 * tiny], [tiny / 2], magnitude=[0]).ok


def test_integers_are_exact_and_wrap() -> None:
    """One off is wrong; an answer beyond the dtype is its remainder."""
    assert judge([-1, 4], [255, 4], "int8").ok
    verdict = judge([1, 2, 4], [1, 2, 3], "int64")
    assert (verdict.ok, verdict.max_error, verdict.max_error_over_tolerance) == (False, 1.0, None)
    assert verdict.first_mismatch == {"index": [2], "found": 4, "wanted": 3, "allowed": 0.0}
    big = judge([2**63 - 1], [2**63 - 2], "int64")
    assert not big.ok
    assert big.first_mismatch["found"] == 2**63 - 1


def test_integers_cut_off_from_floats() -> None:
    """A float near a whole number may be cut off to either side; one clearly between may not; NaN has no integer."""
    for found, value, fine in (
        (2, 3 - 1e-8, True),
        (3, 3 - 1e-8, True),
        (3, 2.9, False),
        (0, -0.9, True),
        (77, np.nan, True),
    ):
        output = np.array([found], np.int32)
        reference = Known(np.array([value]), np.abs(np.array([value])))
        assert check(problem_of((1,), "int32"), reference, Accuracy(4, "float32", "linear"), output).ok is fine
    assert check(
        problem_of((1,), "uint8"), Known(np.array([300.0]), None), Accuracy(0, "float32"), np.zeros(1, np.uint8)
    ).ok


def test_complex_numbers_are_held_by_modulus() -> None:
    """An error in either part counts; special values are held part by part unless the reference leaves them open."""
    value = np.array([1 + 1j, 1e-3 + 1j])
    assert judge(value, value, "complex64").ok
    assert judge([1 + 1j, 1.00005e-3 + 1j], value, "complex64").ok
    assert not judge([1 + 1j, 1e-3 + 1.0001j], value, "complex64").ok
    assert not judge([1 + 1j, 1.1e-3 + 1j], value, "complex64").ok
    nan = complex(math.nan, 1)
    assert judge([nan], [nan], "complex64", magnitude=[math.inf]).ok
    assert not judge([complex(1, math.nan)], [nan], "complex64", magnitude=[math.inf]).ok
    assert judge([complex(1, math.nan)], [nan], "complex64", magnitude=[math.nan]).ok
    assert not judge([1 + 1j], [nan], "complex64", magnitude=[math.nan]).ok


def test_strided_and_scalar_outputs() -> None:
    """A destination that is not contiguous is read in its logical order; a scalar's index is empty."""
    value = np.arange(12.0).reshape(3, 4)
    strided = np.zeros((4, 3), np.float32).T
    strided[...] = value
    problem, accuracy = problem_of((3, 4), "float32"), Accuracy(1, "float32")
    assert check(problem, Known(value, np.abs(value)), accuracy, strided).ok
    strided[1, 2] = 60
    verdict = check(problem, Known(value, np.abs(value)), accuracy, strided)
    assert verdict.first_mismatch is not None
    assert verdict.first_mismatch["index"] == [1, 2]
    scalar = judge(3.0, 2.0)
    assert scalar.first_mismatch["index"] == []
    assert judge(2.0, 2.0).ok


def test_empty_outputs_pass_and_say_nothing() -> None:
    """No element, no error, no figure."""
    verdict = judge(np.zeros((0, 3)), np.zeros((0, 3)))
    assert (verdict.ok, verdict.max_error, verdict.max_error_over_tolerance) == (True, None, None)


def test_an_output_of_another_shape_or_dtype_is_a_mistake_of_the_caller() -> None:
    """It is refused, not compared."""
    problem, accuracy = problem_of((3,), "float32"), Accuracy(1, "float32")
    reference = Known(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"found float32 of shape \[4\]"):
        check(problem, reference, accuracy, np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="should be float32"):
        check(problem, reference, accuracy, np.zeros(3, np.float64))
