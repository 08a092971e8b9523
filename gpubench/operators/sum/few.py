"""The host rule of reduce_sum/few.cu: outputs of up to eight terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import Struct
from gpubench.operators.sum import exchange, structs
from gpubench.operators.sum.merged import Merged, padded

SOURCE = "reduce_sum/few.cu"
THREADS = 256
TERMS = (1, 2, 4, 8)
"""The instances: up to so many terms."""


SHAPE = Struct(
    "gpubench::sum::FewShape",
    SOURCE,
    kept=structs.KEPT,
    finish=structs.FINISH,
    **dict.fromkeys(("extent", "step", "other_step"), "i8"),
    terms="i4",
    inner="i4",
    groups="u4",
    first_out="i4",
)


class Few:
    """Outputs of a few terms."""

    name: str = "few"
    summary: str = "a thread several outputs of up to 8 terms, all on their way at once"
    origin: str = "an elementwise sum; up to 2 reduced and 3 kept dims"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Refuses more terms."""
        del device
        shape = exchange.shape_of(problem)
        if isinstance(shape, Refused):
            return shape
        if shape.terms > TERMS[-1]:
            return Refused(f"more than {TERMS[-1]} terms")
        if refused := exchange.too_many(len(shape.kept), len(shape.reduced), 2):
            return refused
        return build(problem, shape)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By outputs side by side, and by terms."""
        widths = sorted({1, vector_of(dtype)})
        return tuple((SOURCE, exchange.instance("few", dtype, width, terms)) for width in widths for terms in TERMS)


def vector_of(dtype: str) -> int:
    """Return the elements of 16 bytes of the wider of x and y."""
    return 16 // max(dtypes.dtype(dtype).itemsize, dtypes.dtype(sum_dtype(dtype)).itemsize)


def width_of(shape: Merged, dtype: str) -> int:
    """Return the outputs that move as one: a vector where x and y stand on vectors throughout, else 1."""
    width = vector_of(dtype)
    if not shape.kept:
        return 1
    first, *others = shape.kept
    steps = [shape.offset, first.size, *(dim.x for dim in shape.reduced), *(dim.y for dim in shape.copies)]
    steps += [step for dim in others for step in (dim.x, dim.y)]
    return width if (first.x, first.y) == (1, 1) and all(step % width == 0 for step in steps) else 1


def build(problem: Problem[Any], shape: Merged) -> Plan | Refused:
    """Return the plan."""
    dtype = problem.case.dtype
    width = width_of(shape, dtype)
    inner, outer = padded(shape.reduced, 2)
    kept = shape.kept
    if width > 1:
        kept = (replace(kept[0], size=kept[0].size // width, x=width, y=width), *kept[1:])
    groups = shape.outputs // width
    terms = power_of_two(shape.terms)
    block = THREADS * max(1, (4 if shape.itemsize == 16 else 8) // terms)
    if not structs.fits(groups + block, *(dim.size for dim in kept)):
        return Refused("more outputs than the kernel counts")
    packed = SHAPE.value(
        kept=structs.kept(kept),
        finish=structs.finish(shape),
        extent=shape.extent,
        step=inner.x,
        other_step=outer.x,
        terms=shape.terms,
        inner=inner.size,
        groups=groups,
        first_out=shape.bytes < exchange.PLAIN_FROM,
    )
    launch = Launch(
        SOURCE,
        exchange.instance("few", dtype, width, terms),
        (ceil_div(groups, block), 1, 1),
        (THREADS, 1, 1),
        (Pointer("x"), Pointer("y"), packed),
    )
    return Plan("few", (launch,), exchange.accuracy(dtype, 0, 3), notes={"width": width, "terms": terms})
