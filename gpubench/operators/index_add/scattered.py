"""The host rule of `add_scattered` of index_add/combined.cu: single elements of any layout by atomics."""

from __future__ import annotations

from typing import Any

from gpubench import dtypes
from gpubench.model import Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.index_add import tuning
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, fits
from gpubench.operators.index_add.strides import Strides, strides_of
from gpubench.operators.structs import INTEGER_DIVIDER, MAX_DIMS, Struct, divided_strided, divider

SOURCE = "index_add/combined.cu"
THREADS = 256
SQUARE = 32
"""Indices, and elements of each, of a block that turns them in shared memory."""

SQUARE_LEAST = 16
"""The fewest elements of an index for which it does."""

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


def build(problem: Problem[Any]) -> Plan | Refused:
    """Return the plan. The destination's fastest dims run fastest, or the indices where those are the source's fastest.

    Refuses more elements than 32-bit numbers count, and more dims than the kernel walks.
    """
    if not problem.operand("destination").view.shape or problem.operand("source").view.size == 0:
        return Refused("nothing to add, or a single place")
    strides = strides_of(problem)
    count, width, dims = strides.count, strides.positions, strides.dims
    if len(dims) > MAX_DIMS or not fits(count * width + THREADS):
        return Refused(f"more than {MAX_DIMS} dims after merging, or {LIMIT} elements")
    turned = bool(dims) and is_turned(strides)
    aligned = count < tuning.SQUARES_LEAST or strides.is_denser(0)
    along = strides.is_denser(1) and (turned or aligned)
    inside = bool(dims) and (along or tuning.is_across(strides, problem.case.dtype))
    notes = {"rows": 1, "lanes": 1, "vector": 1, "dims": len(dims), "indices_inside": inside, "turned": turned}
    return atomic_plan("combined", (_launch(problem, strides, inside, turned),), problem, notes=notes)


def is_turned(strides: Strides) -> bool:
    """Say whether indices run fastest in one operand, elements in the other, and both are many enough for squares."""
    if strides.count < SQUARE or strides.positions < SQUARE_LEAST:
        return False
    elements_first = strides.dims[0].steps[0] < strides.place_step
    if strides.is_denser(1):
        return elements_first
    return strides.is_denser(0) and len(strides.dims) == 1 and strides.count >= tuning.SQUARES_LEAST


def _launch(problem: Problem[Any], strides: Strides, inside: bool, turned: bool) -> Launch:
    """Return the launch. inside: whether indices run fastest. turned: through squares in shared memory."""
    destination, index, _ = problem.operands
    count, width = strides.count, strides.positions
    squares = ceil_div(count, SQUARE)
    sizes = [dim.size for dim in reversed(strides.dims)]
    return Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, turned=turned),
        (squares * ceil_div(width, SQUARE) if turned else ceil_div(count * width, THREADS), 1, 1),
        (THREADS, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            *(divided_strided(sizes, [dim.steps[operand] for dim in reversed(strides.dims)]) for operand in (0, 1)),
            SHAPE.value(
                strides,
                inner=divider(squares if turned else count if inside else width),
                indices_inside=int(inside),
                items=width if turned else count * width,
                alpha=problem.params.alpha,
            ),
        ),
    )
