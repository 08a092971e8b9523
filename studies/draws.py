"""Random cases of any operator, by which speed is judged: sums are drawn here, others as entries of suites are."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

from gpubench.dtypes import dtype
from gpubench.layout import Layout
from gpubench.model import Case
from gpubench.operators import OPERATORS
from gpubench.operators.index_add.indices import draw as draw_indices
from gpubench.operators.index_add.params import IndexAddParams
from gpubench.operators.parameters import to_json
from gpubench.operators.sum.params import SumParams
from gpubench.suite.expand import expand, load_suites

MOST_SWAPS, MOST_HALF_SWAPS = 50_000, 200_000
"""Additions of integers of 8 or 16 bits to one place, and of 16-bit floats: 74,130 of integers take torch and JAX 0.4 s
on an H200, twice as many 4 x; 293,460 of float16 and 4,887,272 of complex64 take JAX over 10 s."""

LAYOUTS = {
    "many": {"contiguous": 0.5, "transposed": 0.15, "permuted": 0.15, "misaligned": 0.2},
    "suite": None,
}
"""The shares of the layouts: half of the cases not contiguous, or what a random entry of a suite has."""


def draw_shape(draw: random.Random, least: float, most: float) -> tuple[int, ...]:
    """Draw sizes whose product is about 2^least to 2^most, log-uniform; half of them round."""
    left = draw.uniform(least, most)
    cuts = sorted(draw.uniform(0, left) for _ in range(draw.randint(1, 4) - 1))
    shape = []
    for low, high in zip([0.0, *cuts], [*cuts, left], strict=True):
        size = max(1, round(2 ** (high - low)))
        if draw.random() < 0.5:
            unit = draw.choice((2, 4, 8, 16, 64))
            size = max(1, round(size / unit)) * unit if size >= unit else size
        shape.append(size)
    return tuple(shape)


def draw_layout(draw: random.Random, dims: int) -> Layout:
    """Draw a layout: a third contiguous, the others transposed or permuted, misaligned, or both."""
    order = None
    if dims > 1 and draw.random() < 0.4:
        order = tuple(reversed(range(dims))) if draw.random() < 0.5 else tuple(draw.sample(range(dims), dims))
    return Layout(permute=order, offset=draw.choice((1, 3, 4, 5)) if draw.random() < 0.3 else 0)


def draw_case(seed: int, number: int, least: float, most: float) -> Case:
    """Draw case `number` of a seed."""
    draw = random.Random(f"{seed}/{number}")
    shape = draw_shape(draw, least, most)
    dims = tuple(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
    dtype = draw.choice(OPERATORS["sum"].dtypes)
    normal = OPERATORS["sum"].normalise(SumParams(shape, dims, False, draw_layout(draw, len(shape))), dtype)
    return Case(OPERATORS["sum"].label(normal, dtype), "sum", dtype, to_json(normal), "normal", seed=number)


def is_endless(case: Case) -> bool:
    """Tell whether a library that compares and swaps would take long to add so many such numbers to a place."""
    params, kind = OPERATORS[case.operator].problem(case).params, dtype(case.dtype)
    if not isinstance(params, IndexAddParams) or (kind.itemsize > 2 and kind.kind != "complex"):
        return False
    most = MOST_SWAPS if kind.kind == "integer" else MOST_HALF_SWAPS
    places = params.shape[params.dim] if params.shape else 1
    indices = draw_indices(params.pattern, places, params.count, case.seed, 1)
    return bool(indices.size and np.bincount(indices).max() > most)


def cases_of(
    operator: str, suites: list[str], seeds: list[int], count: int, least: float, most: float, layouts: str
) -> list[Case]:
    """Return the cases of suites that are of an operator; without suites those that each seed draws."""
    if suites:
        return [case for case in load_suites(suites, None).cases if case.operator == operator]
    return [case for seed in seeds for case in draw_cases(operator, seed, count, least, most, layouts)]


def draw_cases(operator: str, seed: int, count: int, least: float, most: float, layouts: str) -> list[Case]:
    """Draw the cases of a seed: sums here, those of the other operators as a random entry of a suite does."""
    if operator == "sum":
        return [draw_case(seed, number, least, most) for number in range(count)]
    wishes: dict[str, Any] = {"cases": count, "seed": seed, "elements": [round(2**least), round(2**most)]}
    if LAYOUTS[layouts] is not None:
        wishes |= {"layouts": LAYOUTS[layouts], "broadcasts": 0.3, "casts": 0.3, "friendly": 0.5}
    entry = {
        "operator": operator,
        "random": wishes,
        "dtype": list(OPERATORS[operator].dtypes),
    }
    if operator == "elementwise":
        entry["out_layout"] = ["contiguous", "operands"]
    suite = json.dumps({"name": "drawn", "cases": [entry]})  # JSON is YAML
    return list(expand(suite.encode(), "drawn").cases)
