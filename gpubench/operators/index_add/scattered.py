"""The host rule of `add_scattered` of index_add/combined.cu: single elements of any layout by atomics."""

from __future__ import annotations

import math
from typing import Any

from gpubench import dtypes
from gpubench.layout import View
from gpubench.model import Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.coalesce import coalesce
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divided_strided, divider

SOURCE = "index_add/combined.cu"
THREADS = 256
SQUARE = 32
"""Indices, and elements of each, of a block that turns them in shared memory."""


SHAPE = Struct(
    "gpubench::index_add::ScatteredShape",
    SOURCE,
    inner=INTEGER_DIVIDER,
    indices_inside="i4",
    items="u4",
    count="u4",
    **dict.fromkeys(("places", "place_step", "index_step"), "i8"),
    alpha="f8",
)


def kernel(dtype: str, index: str, *, turned: bool = False) -> str:
    """Return the name expression; turned: through squares in shared memory."""
    name = "add_turned" if turned else "add_scattered"
    return f"gpubench::index_add::{name}<{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}>"


def _others(view: View, order: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(view.shape[place] for place in order), tuple(view.strides[place] for place in order)


def build(problem: Problem[Any]) -> Plan | Refused:
    """Return the plan. The destination's fastest dims run fastest, or the indices where those are the source's fastest.

    Refuses more elements than 32-bit numbers count, and more dims than the kernel walks.
    """
    destination, index, source = problem.operands
    dim = problem.params.dim
    to, of = destination.view, source.view
    if not to.shape or of.size == 0:
        return Refused("nothing to add, or a single place")
    order = [place for place in range(len(to.shape)) if place != dim and to.shape[place] > 1]
    order.sort(key=lambda place: -to.strides[place])
    sizes, (to_steps, of_steps) = coalesce(_others(to, order)[0], _others(to, order)[1], _others(of, order)[1])
    count, width = of.shape[dim], math.prod(sizes)
    if len(sizes) > MAX_DIMS or not fits(count * width + THREADS):
        return Refused(f"more than {MAX_DIMS} dims after merging, or {LIMIT} elements")
    inside = of.strides[dim] < min(of_steps, default=0)
    turned = inside and min(count, width) >= SQUARE and to_steps[-1] < to.strides[dim]
    squares = ceil_div(count, SQUARE)
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, turned=turned),
        (squares * ceil_div(width, SQUARE) if turned else ceil_div(count * width, THREADS), 1, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            divided_strided(sizes, to_steps),
            divided_strided(sizes, of_steps),
            SHAPE.value(
                inner=divider(squares if turned else count if inside else width),
                indices_inside=int(inside),
                items=width if turned else count * width,
                count=count,
                places=to.shape[dim],
                place_step=to.strides[dim],
                index_step=of.strides[dim],
                alpha=problem.params.alpha,
            ),
        ),
    )
    notes = {"rows": 1, "lanes": 1, "vector": 1, "dims": len(sizes), "indices_inside": inside, "turned": turned}
    return atomic_plan("combined", (launch,), problem, notes=notes)
