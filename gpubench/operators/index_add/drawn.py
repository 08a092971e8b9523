"""Random cases of `index_add`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpubench.model import Json
from gpubench.operators.drawing.numbers import Numbers
from gpubench.operators.drawing.shapes import draw_layout, draw_shape
from gpubench.operators.drawing.wishes import Wishes
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.parameters import count_dim

PATTERNS = ("uniform", "zipf", "sorted", "same", "half_same", "below", "duplicates")
MOST_DUPLICATES = 64


def draw(numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return params: a destination, a dim, how many indices and their pattern, two layouts. What is given stays.

    As many indices as the source, too, stays within the most elements, as likely in every octave.
    """
    shape = tuple(given["shape"]) if "shape" in given else draw_shape(numbers.of("shape"), wishes)
    dim = count_dim("dim", given.get("dim", numbers.of("dim").below(max(len(shape), 1))), len(shape))
    rows = [*shape] or [1]
    places = rows[dim]
    width = math.prod(rows) // max(places, 1)
    most = max(wishes.elements[1] // max(width, 1), 1)
    indices = given.get("indices", numbers.of("indices").logarithmic(1, most))
    source = [*shape]
    if source:
        source[dim] = indices
    drawn = {
        "shape": list(shape),
        "dim": dim,
        "indices": indices,
        "pattern": _pattern(numbers.of("pattern"), max(places, 1), max(indices, 1)),
        "index_dtype": numbers.of("index_dtype").choice(INDEX_DTYPES),
        "layout": draw_layout(numbers.of("layout"), wishes, shape, may_overlap=False),
        "source_layout": draw_layout(numbers.of("source_layout"), wishes, tuple(source)),
    }
    return {**drawn, **given}


def _pattern(numbers: Numbers, places: int, indices: int) -> Json:
    """Return a pattern that the places and the number of indices allow."""
    name = numbers.choice(PATTERNS)
    if name == "below":
        return {"below": numbers.logarithmic(1, places)}
    if name == "duplicates":  # as many a place at least as fit the indices into the places
        least = -(-indices // places)
        return {"duplicates": numbers.logarithmic(least, max(least, MOST_DUPLICATES))}
    return name
