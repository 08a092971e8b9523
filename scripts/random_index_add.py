"""Random cases of index_add for scripts/random_check.py, which draws shapes and layouts; indices are drawn here."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

from gpubench.layout import Layout
from gpubench.operators.index_add.params import Below, Duplicates, IndexAddParams, Pattern

PATTERNS = ("uniform", "zipf", "sorted", "same", "half_same", "below", "duplicates")


def draw_params(
    draw: random.Random, shape: tuple[int, ...], dtype: str, layout: Layout, source_layout: Layout, largest: int
) -> IndexAddParams:
    """Return params for a destination of this shape: a dim, `largest` elements of the source at most, a pattern."""
    dim = draw.randrange(len(shape)) if shape else 0
    places = shape[dim] if shape else 1
    width = max(math.prod(shape) // max(places, 1), 1)
    most = max(largest // width, 1)
    indices = 0 if places == 0 or draw.random() < 0.01 else round(math.exp(draw.uniform(0, math.log(most))))
    pattern = draw_pattern(draw, max(places, 1), indices)
    whole = dtype.startswith(("int", "uint"))
    alpha = draw.choice((1.0, 1.0, 2.0, -3.0) if whole else (1.0, 1.0, 0.5, -1.25))
    index_dtype: Any = draw.choice(("int64", "int32"))
    expands = dataclasses.replace(layout, expand=())  # elements of a destination may not overlap
    return IndexAddParams(shape, indices, dim, pattern, index_dtype, alpha, expands, source_layout)


def draw_pattern(draw: random.Random, places: int, indices: int) -> Pattern:
    """Return a pattern that the places and the number of indices allow."""
    name: Any = draw.choice(PATTERNS)
    if name == "below":
        return Below(draw.randint(1, places))
    if name == "duplicates":
        least = max(-(-indices // places), 1)
        return Duplicates(draw.choice((least, least + 1, 2 * least, max(indices, least))))
    pattern: Pattern = name
    return pattern
