"""Random cases of `cumsum`."""

from __future__ import annotations

from collections.abc import Mapping

from gpubench.model import Json
from gpubench.operators.drawing.numbers import Numbers
from gpubench.operators.drawing.shapes import draw_layout, draw_shape
from gpubench.operators.drawing.wishes import Wishes


def draw(numbers: Numbers, wishes: Wishes, given: Mapping[str, Json]) -> dict[str, Json]:
    """Return params: a shape, any of its dims, a layout. What is given stays."""
    shape = tuple(given["shape"]) if "shape" in given else draw_shape(numbers.of("shape"), wishes)
    dim = numbers.of("dim").below(max(len(shape), 1))
    layout = draw_layout(numbers.of("layout"), wishes, shape)
    return {"shape": list(shape), "dim": dim, "layout": layout, **given}
