"""Is an output right? Every element is held against the reference, with a bound that follows from rounding alone.

    |y - ref| <= gamma(h, u_acc) * S + u_out * |ref| * (1 + gamma(h, u_acc)) + tiny / 2

S is the sum of |terms| behind the element, h the number of roundings on the longest path to it, u the unit roundoff of
the accumulator's or the output's dtype, tiny the smallest subnormal number of the output's dtype, and
gamma(h, u) = h u / (1 - h u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.1). With random signs
h may be replaced by 4 * sqrt(h) (growth "sqrt"). gamma is cut off at 1: from there on an error as large as S itself is
possible, and none larger.

Special values. NaN passes only where the reference is NaN, infinity only where it is the same infinity; a finite
reference may come out infinite when it lies within its tolerance of the dtype's overflow. Complex numbers: the error
is the modulus of the difference; special values are held part by part, except where the reference gives a magnitude of
NaN, which says that the formula leaves the parts open: then any special value passes. Integers must be equal; an
integer that was cut off from a float may be any that the float's tolerance allows, and where the float does not fit
the integer's range (or is NaN) the language defines no answer, so every one passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench import dtypes
from gpubench.measure.mismatches import SHOWN, Tally, unwritten
from gpubench.model import Accuracy, Check, Json, Problem
from gpubench.operators import chunks

if TYPE_CHECKING:
    from gpubench.operators.base import Reference

Array = np.ndarray[Any, np.dtype[Any]]
Block = tuple[slice, Array, "Array | None"]


def gamma(additions: int, roundoff: float, growth: str = "linear") -> float:
    """Return the relative error that `additions` roundings can make, at most 1."""
    steps = 4.0 * math.sqrt(additions) if growth == "sqrt" else float(additions)
    steps = min(steps, float(additions))
    product = steps * roundoff
    return min(1.0, product / (1.0 - product)) if product < 0.5 else 1.0


@dataclass(frozen=True, slots=True)
class _Bound:
    """The tolerance of one check: |error| <= by_magnitude * S + by_value * |ref| + least."""

    dtype: dtypes.DType
    by_magnitude: float
    by_value: float
    least: float

    def of(self, value: Array, magnitude: Array | None) -> Array:
        """Return what is allowed at each element, float64; NaN where value or magnitude is NaN."""
        allowed = np.abs(value).astype(np.float64, copy=False) * self.by_value
        if magnitude is not None and self.by_magnitude:
            allowed += self.by_magnitude * magnitude
        allowed += self.least
        return allowed


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What one block says: largest error, largest error over tolerance, and its wrong elements."""

    error: float | None
    ratio: float | None
    wrong: _Wrong | None = None


@dataclass(frozen=True, slots=True)
class _Wrong:
    """The wrong elements of a block: places in the flat output, the first of them as (place, found, wanted, allowed),
    and how many hold nothing but poison.
    """

    places: Array
    first: tuple[tuple[int, Any, Any, float], ...]
    unwritten: int


def check(problem: Problem[Any], reference: Reference, accuracy: Accuracy, output: Array) -> Check:
    """Hold `output`, the logical array of the problem's `out` or `inout` operand, against the reference.

    Works block by block, by threads, so that memory stays bounded. ValueError when shape or dtype is not the operand's.
    """
    operand = next(operand for operand in problem.operands if operand.role != "in")
    row = dtypes.dtype(operand.dtype)
    if output.shape != operand.view.shape or output.dtype != row.numpy:
        raise ValueError(
            f"{operand.name} should be {operand.dtype} of shape {list(operand.view.shape)}, "
            f"found {output.dtype} of shape {list(output.shape)}"
        )
    growth = gamma(accuracy.additions, dtypes.dtype(accuracy.accumulator).roundoff, accuracy.growth)
    bound = _Bound(row, growth, row.roundoff * (1 + growth), row.tiny / 2)
    flat: Any = output.reshape(-1) if output.flags.c_contiguous else output.flat

    def work(block: Block) -> _Verdict:
        place, value, magnitude = block
        with np.errstate(all="ignore"):
            return _judge(np.asarray(flat[place]), place.start, value, magnitude, bound)

    return _collect(chunks.ordered(work, reference.blocks()), output.shape)


def _collect(verdicts: Iterator[_Verdict], shape: tuple[int, ...]) -> Check:
    """Join the blocks' verdicts."""
    error: float | None = None
    ratio: float | None = None
    tally = Tally(shape)
    first: list[Mapping[str, Json]] = []
    for verdict in verdicts:
        error = _larger(error, verdict.error)
        ratio = _larger(ratio, verdict.ratio)
        if verdict.wrong is not None:
            tally.add(verdict.wrong.places, verdict.wrong.unwritten)
            first += [_mismatch(mismatch, shape) for mismatch in verdict.wrong.first[: SHOWN - len(first)]]
    if ratio is not None and math.isinf(ratio):
        ratio = None  # an error where none is allowed has no ratio
    if not first:
        return Check(True, error, ratio)
    return Check(False, error, ratio, first[0], {**tally.to_json(), "first": first})


def _larger(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _mismatch(one: tuple[int, Any, Any, float], shape: tuple[int, ...]) -> Mapping[str, Json]:
    at, found, wanted, allowed = one
    index = [int(place) for place in np.unravel_index(at, shape)] if shape else []
    return {"index": index, "found": _json(found), "wanted": _json(wanted), "allowed": _json(allowed)}


def _wrong(start: int, places: Array, found: Array, wanted: Array, allowed: Array | None, row: dtypes.DType) -> _Wrong:
    """Return the wrong elements of a block that starts at `start` of the flat output; the arrays are the block's."""
    first = tuple(
        (start + int(at), found[at], wanted[at], 0.0 if allowed is None else float(allowed[at]))
        for at in places[:SHOWN]
    )
    return _Wrong(start + places, first, unwritten(found[places], row.name))


def _json(value: Any) -> Json:
    """Return a number that JSON can hold, or text for NaN, infinity and complex numbers."""
    if isinstance(value, np.complexfloating):
        return str(complex(value))
    if isinstance(value, int | np.integer):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _judge(found: Array, start: int, value: Array, magnitude: Array | None, bound: _Bound) -> _Verdict:
    """Hold one block against the reference."""
    if bound.dtype.kind != "integer":
        return _judge_float(found, start, value, magnitude, bound)
    if value.dtype.kind == "i":
        return _judge_exact(found, start, value, bound)
    return _judge_cut_off(found, start, value, magnitude, bound)


def _judge_exact(found: Array, start: int, value: Array, bound: _Bound) -> _Verdict:
    """Integers: equal after wrapping to the output's dtype."""
    wanted = value.astype(bound.dtype.numpy)
    wrong = np.flatnonzero(found != wanted)
    if not wrong.size:
        return _Verdict(0.0, 0.0)
    errors = np.abs(found[wrong].astype(np.float64) - wanted[wrong].astype(np.float64))
    return _Verdict(float(errors.max()), math.inf, _wrong(start, wrong, found, wanted, None, bound.dtype))


def _judge_cut_off(found: Array, start: int, value: Array, magnitude: Array | None, bound: _Bound) -> _Verdict:
    """Integers cut off from floats: between the cut-off ends of the float's tolerance."""
    allowed = bound.of(value, magnitude)
    low, high = np.trunc(value - allowed), np.trunc(value + allowed)
    limits = np.iinfo(bound.dtype.numpy)
    defined = np.isfinite(value) & (low >= float(limits.min)) & (high < float(limits.max) + 1)
    number = found.astype(np.float64)
    wrong = np.flatnonzero(defined & ~((low <= number) & (number <= high)))
    errors = np.abs(number - np.trunc(value))[defined]
    largest = float(errors.max()) if errors.size else None
    if not wrong.size:
        return _Verdict(largest, None if largest is None else 0.0)
    return _Verdict(largest, math.inf, _wrong(start, wrong, found, np.trunc(value), allowed, bound.dtype))


def _judge_float(found: Array, start: int, value: Array, magnitude: Array | None, bound: _Bound) -> _Verdict:
    """Floats and complex numbers: the formula first, the special values for the few elements that fail it."""
    wide = np.complex128 if bound.dtype.kind == "complex" else np.float64
    allowed = bound.of(value, magnitude)
    errors = np.abs(found.astype(wide, copy=False) - value)
    if (quick := _all_pass(errors, allowed)) is not None:
        return quick
    number = found.astype(wide, copy=False)
    passed = (errors <= allowed) & np.isfinite(errors)
    suspects = np.flatnonzero(~passed)
    largest, ratio = _extremes(errors, allowed)
    if suspects.size:
        fine = _special(number[suspects], value[suspects], allowed[suspects], bound.dtype)
        if bound.dtype.kind == "complex" and magnitude is not None:
            open_parts = np.isnan(magnitude[suspects])
            fine |= open_parts & ~np.isfinite(value[suspects]) & ~np.isfinite(number[suspects])
        suspects = suspects[~fine]
    if not suspects.size:
        return _Verdict(largest, ratio)
    return _Verdict(largest, ratio, _wrong(start, suspects, found, value, allowed, bound.dtype))


def _all_pass(errors: Array, allowed: Array) -> _Verdict | None:
    """Return the verdict on a block whose every element clearly passes; None where a closer look is needed.

    One division and two maxima tell it, where the closer look takes a dozen passes over the block. NaN and infinity
    make the largest ratio NaN, and so does an error of 0 where none is allowed.
    """
    if not errors.size:
        return None
    worst = float((errors / allowed).max())
    return _Verdict(float(errors.max()), worst) if worst < 1 else None


def _extremes(errors: Array, allowed: Array) -> tuple[float | None, float | None]:
    """Return the largest finite error and the largest ratio to what was allowed there; None without finite ones."""
    finite = np.isfinite(errors)
    if not finite.all():
        errors, allowed = errors[finite], allowed[finite]
    if not errors.size:
        return None, None
    ratio = np.zeros_like(errors)
    np.divide(errors, allowed, out=ratio, where=errors > 0)
    return float(errors.max()), float(ratio.max())


def _special(found: Array, value: Array, allowed: Array, row: dtypes.DType) -> Array:
    """Return which elements that fail the formula are right all the same, by class."""
    if row.kind != "complex":
        return _same_class(found, value, allowed, row)
    parts = (
        _same_class(found.real, value.real, allowed, row) | _close(found.real, value.real, allowed),
        _same_class(found.imag, value.imag, allowed, row) | _close(found.imag, value.imag, allowed),
    )
    special = ~np.isfinite(found) | ~np.isfinite(value)
    return special & parts[0] & parts[1]


def _close(found: Array, value: Array, allowed: Array) -> Array:
    """Return which finite parts beside special ones pass; the tolerance may be infinite, as the modulus is."""
    fine: Array = np.isfinite(found) & np.isfinite(value) & ~(np.abs(found - value) > allowed)
    return fine


def _same_class(found: Array, value: Array, allowed: Array, row: dtypes.DType) -> Array:
    """NaN for NaN, the same infinity for an infinity, and infinity for what may round beyond the largest number."""
    both_nan = np.isnan(found) & np.isnan(value)
    same_infinity = np.isinf(value) & (found == value)
    overflow = np.isinf(found) & np.isfinite(value) & (np.sign(found) == np.sign(value))
    fine: Array = both_nan | same_infinity | (overflow & (np.abs(value) + allowed >= _largest(row)))
    return fine


def _largest(row: dtypes.DType) -> float:
    """Return the largest finite number of the dtype's parts."""
    if row.name == "bfloat16":
        return float((2 - 2.0**-7) * 2.0**127)
    return float(np.finfo(row.part).max)
