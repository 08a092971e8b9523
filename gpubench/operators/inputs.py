"""Inputs: numpy Philox streams, one a chunk, so that the bits depend on the seed alone, not on machine or threads.

The key of a stream is (seed, operand), its counter starts at (0, 0, chunk, 0); no two chunks can meet, as each draws
far less than 2^128 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from gpubench import dtypes
from gpubench.layout import View
from gpubench.model import Case, Distribution, Operand
from gpubench.operators import chunks

Array = np.ndarray[Any, np.dtype[Any]]
Domain = Literal["any", "positive", "nonzero", "exponent", "mask"]
"""What an operator needs of its operand: positive: above 0; exponent: 0 to 3 for integers; mask: 0 or 1."""

_MASK64 = (1 << 64) - 1
_SPECIAL_CHUNK = _MASK64
SPECIALS = 6
"""At most this many elements of a `with_nonfinite` operand are NaN, infinite or the dtype's extremes."""


def generator(seed: int, stream: int, chunk: int) -> np.random.Generator:
    """Return the random numbers of one chunk of one operand."""
    key = np.array([seed & _MASK64, stream], np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, chunk, 0], np.uint64)))


def operand_storage(operand: Operand, case: Case, stream: int, domain: Domain = "any") -> Array:
    """Make an operand's storage from the case's distribution and seed. `stream` tells operands apart."""
    return storage(operand.view, operand.dtype, case.distribution, case.seed, stream, domain)


def storage(
    view: View,
    dtype: str,
    distribution: Distribution,
    seed: int,
    stream: int,
    domain: Domain = "any",
    threads: int | None = None,
) -> Array:
    """Return the one-dimensional storage behind `view`. Elements that no index names hold `filler(dtype)`.

    normal: standard normal (integers: 32 times that, rounded; uint8 around 128). uniform: [0, 1) (integers: 0 to 100).
    integers: -2 to 2 (uint8: 0 to 4), so that sums stay exact for long. with_nonfinite: normal, with up to six
    elements NaN or infinite (integers: the dtype's extremes) at seeded places.
    """
    row = dtypes.dtype(dtype)
    count = view.unique_elements
    if count == view.storage:
        whole = np.empty(view.storage, row.numpy)
    else:
        whole = np.full(view.storage, filler(dtype), row.numpy)
    places = _in_memory_order(view, whole)
    draw = _DRAWS[row.kind, distribution]

    def fill(number: int) -> None:
        start = number * chunks.CHUNK
        target = places[start : start + chunks.CHUNK]
        draw(generator(seed, stream, number), target, row)
        _restrict(target, domain, row)

    chunks.run(fill, range(-(-count // chunks.CHUNK)), threads)
    if distribution == "with_nonfinite" and domain not in ("exponent", "mask"):
        _place_specials(places, row, seed, stream)
    return whole


def filler(dtype: str) -> Any:
    """Return what stands in gaps between elements: NaN, or the largest integer, so that a kernel that uses it shows."""
    row = dtypes.dtype(dtype)
    if row.kind == "integer":
        return np.iinfo(row.numpy).max
    return np.nan


def _in_memory_order(view: View, whole: Array) -> Array:
    """Return the one-dimensional array of the different elements, in the order in which they lie in memory."""
    count = view.unique_elements
    dims = [(stride, size) for size, stride in zip(view.shape, view.strides, strict=True) if stride and size > 1]
    step = min((stride for stride, _ in dims), default=1)
    dense = step
    for stride, size in sorted(dims):
        assert stride == dense, "a view's elements lie at even distances"
        dense *= size
    return whole[view.offset : view.offset + max(count - 1, 0) * step + 1 : step][:count]


def _restrict(target: Array, domain: Domain, row: dtypes.DType) -> None:
    """Bring freshly drawn values into the domain, in place."""
    if domain == "mask":
        np.bitwise_and(target, 1, out=target)
    elif domain == "exponent" and row.kind == "integer":
        np.bitwise_and(target, 3, out=target)
    elif domain == "positive" and row.kind != "complex":
        target[...] = np.abs(target)
        target[target == 0] = 1
    elif domain in ("nonzero", "positive"):
        target[target == 0] = 1


def _place_specials(places: Array, row: dtypes.DType, seed: int, stream: int) -> None:
    """Put the dtype's special values at a few seeded places."""
    random = generator(seed, stream, _SPECIAL_CHUNK)
    if not places.size:
        return
    if row.kind == "integer":
        limits = np.iinfo(row.numpy)
        values: tuple[Any, ...] = (limits.max, limits.min)
    else:
        values = (np.nan, np.inf, -np.inf)
    for number, place in enumerate(random.integers(0, places.size, min(SPECIALS, places.size))):
        places[place] = values[number % len(values)]


# --- One rule a kind and distribution: each fills `target`, in the dtype of `row`, from `random` ---------------------

Draw = Callable[[np.random.Generator, Array, dtypes.DType], None]


def _real_parts(target: Array, row: dtypes.DType) -> Array:
    """Return an array of float32 or float64 to draw into: the target itself where it is one, else a temporary."""
    if row.kind == "complex":
        part = np.float32 if row.name == "complex64" else np.float64
        return target.view(part) if target.flags.c_contiguous else np.empty(2 * target.size, part)
    wide = np.float64 if row.name == "float64" else np.float32
    if target.dtype == wide and target.flags.c_contiguous:
        return target
    return np.empty(target.size, wide)


def _store(parts: Array, target: Array, row: dtypes.DType) -> None:
    """Copy a temporary of `_real_parts` into the target, rounding to its dtype."""
    if not np.shares_memory(parts, target):
        target[...] = parts.view(row.numpy) if row.kind == "complex" else parts


def _normal(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    parts = _real_parts(target, row)
    random.standard_normal(out=parts, dtype=parts.dtype.type)
    _store(parts, target, row)


def _uniform(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    parts = _real_parts(target, row)
    random.random(out=parts, dtype=parts.dtype.type)
    _store(parts, target, row)


def _whole_numbers(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    parts = _real_parts(target, row)
    parts[...] = random.integers(-2, 3, parts.size, np.int8)
    _store(parts, target, row)


def _integer_normal(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    drawn = random.standard_normal(target.size, np.float32)
    drawn *= 32
    np.rint(drawn, out=drawn)
    if row.name == "uint8":
        np.clip(drawn + 128, 0, 255, out=drawn)
    else:
        np.clip(drawn, -127, 127, out=drawn)
    target[...] = drawn


def _integer_uniform(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    del row
    target[...] = random.integers(0, 101, target.size, np.int8)


def _integer_small(random: np.random.Generator, target: Array, row: dtypes.DType) -> None:
    low = 0 if row.name == "uint8" else -2
    target[...] = random.integers(low, low + 5, target.size, np.int8)


_DRAWS: dict[tuple[dtypes.Kind, Distribution], Draw] = {
    ("integer", "normal"): _integer_normal,
    ("integer", "uniform"): _integer_uniform,
    ("integer", "integers"): _integer_small,
    ("integer", "with_nonfinite"): _integer_normal,
    ("float", "normal"): _normal,
    ("float", "uniform"): _uniform,
    ("float", "integers"): _whole_numbers,
    ("float", "with_nonfinite"): _normal,
    ("complex", "normal"): _normal,
    ("complex", "uniform"): _uniform,
    ("complex", "integers"): _whole_numbers,
    ("complex", "with_nonfinite"): _normal,
}
