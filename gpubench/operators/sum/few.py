"""The host rule of reduce_sum/few.cu: outputs of few terms, each added up by one thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.merged import Dim, Merged, padded

SOURCE = "reduce_sum/few.cu"
HEADER = "reduce_sum/few.cuh"
MOST_TERMS = 8192
TRANSPOSED = (1, 2, 4)
"""Terms at once of an output whose neighbours lie apart in x: the instances."""

WORDS = (1, 2, 4)
"""Words of 32 bits of a short row: the instances."""

LEAST_LINE = 256
"""Outputs of a line whose terms stand anywhere: a vector that begins before a line lies in x."""


SHAPE, LITTLE = (
    Struct(
        f"gpubench::sum::FewShape<{common.cpp}>",
        HEADER,
        terms="i4",
        inner="i4",
        groups="u4",
        line="i4",
        **dict.fromkeys(("step", "other_step", "reach"), size),
        sum=common,
    )
    for common, size in ((fast.SUM, "i8"), (fast.PLAIN, "i4"))
)


NEAR = {
    terms: Struct(
        f"gpubench::sum::NearShape<{terms}>", HEADER, groups="u4", terms="i4", steps=("u4", terms), sum=fast.PLAIN
    )
    for terms in (1, 2, 4, 8, 16)
}


SHARED_SHAPE = Struct(
    "gpubench::sum::SharedShape",
    HEADER,
    **dict.fromkeys(("terms", "output_bits"), "i4"),
    inner=INTEGER_DIVIDER,
    **dict.fromkeys(("step", "other_step"), "u4"),
    **dict.fromkeys(("turn_inner", "moved", "carried"), "i4"),
    groups="u4",
    sum=fast.PLAIN,
)


WORDS_SHAPE = Struct("gpubench::sum::WordsShape", HEADER, rows="u4", terms="i4")


TRANSPOSED_SHAPE = Struct(
    "gpubench::sum::TransposedShape",
    HEADER,
    few=LITTLE,
    tiles=INTEGER_DIVIDER,
    other_tiles=INTEGER_DIVIDER,
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a thread's outputs lie: `width` side by side. across: their terms stand anywhere."""

    width: int
    across: bool = False


class Few(fast.Fast):
    """Outputs of few terms."""

    name: str = "few"
    summary: str = "a thread one output or several, up to 16 terms of each on their way at once"
    origin: str = "an elementwise sum; up to 4096 terms of up to 2 reduced and 3 kept dims"

    along = False
    most_reduced = 2

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses many terms."""
        if shape.terms > MOST_TERMS:
            return Refused(f"more than {MOST_TERMS} terms")
        outputs, lanes = tuning.shared(shape, device)
        if outputs:
            return build_shared(problem, shape, outputs, lanes)
        if tuning.is_transposed(shape):
            return build_transposed(problem, shape, min(4, power_of_two(shape.terms)))
        form = form_for(shape, problem.case.dtype, device)
        if words := tuning.words(shape):
            return build_words(problem, shape, words, 4, 128)
        return build(problem, shape, form, device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By outputs side by side, and terms; and those whose terms stand anywhere."""
        least = tuning.FEW_VECTOR // dtypes.dtype(dtype).itemsize
        forms = [Form(1), *(Form(width) for width in (2, 4) if least <= width < width_of(dtype)), Form(width_of(dtype))]
        if dtypes.dtype(dtype).itemsize <= 2:
            forms.append(Form(width_of(dtype), across=True))
        found = [
            kernel(dtype, form, terms, dims)
            for form in dict.fromkeys(forms)
            for dims in ((0,) if form.across else (0, *fast.DIMS))
            for terms in at_once(form)
        ]
        found += [fast.instance("few_transposed", dtype, terms) for terms in TRANSPOSED]
        if dtypes.dtype(dtype).itemsize <= 2:
            found += [fast.instance("few_words", dtype, words, 4) for words in WORDS]
        found += [fast.instance("few_shared", dtype, terms) for terms in tuning.SHARED_TERMS]
        return tuple((SOURCE, name) for name in dict.fromkeys(found))


def at_once(form: Form) -> tuple[int, ...]:
    """Return the numbers of terms on their way at once of which there are instances."""
    if form.width > 1:
        return (2, 4) if form.across else (1, 2, 4, 8)
    return (1, 2, 4, 8, 16)  # 5 terms int64 95 us with 8 at once, 117 with 16


def kernel(dtype: str, form: Form, terms: int, dims: int = 0) -> str:
    """Return the name expression: for so many terms at once; dims: kept ones at most, of little, else 0."""
    if form.across:
        return fast.instance("few_across", dtype, form.width, terms)
    if dims:
        return fast.instance("few_near", dtype, form.width, terms, dims)
    return fast.instance("few", dtype, form.width, terms, groups_of(dtype, form, terms))


def groups_of(dtype: str, form: Form, terms: int) -> int:
    """Return the groups of outputs that a thread takes: eight vectors, four of complex128, are on their way at once."""
    return 1 if form.across else max(1, (4 if dtypes.dtype(dtype).itemsize == 16 else 8) // terms)


def width_of(dtype: str) -> int:
    """Return the outputs of a thread: a vector of x, or two of y.

    Not of more than two bytes where terms stand anywhere: 5 x 7988160 int64 95.4 us element by element, 101.8 so.
    """
    return min(16 // dtypes.dtype(dtype).itemsize, 32 // dtypes.dtype(sum_dtype(dtype)).itemsize)


def form_of(shape: Merged, dtype: str) -> Form:
    """Return the widest form that x and y allow."""
    (first, *_), width = padded(shape.dims, 1), width_of(dtype)
    wide = shape.itemsize <= 2 and first.size >= LEAST_LINE and fast.is_plain(shape)
    if first.x == first.y == 1 and wide and widest(shape, dtype) < width:
        return Form(width, across=True)
    return Form(widest(shape, dtype))


def form_for(shape: Merged, dtype: str, device: DeviceInfo) -> Form:
    """Return the form for so many outputs: element by element where vectors would leave too few threads."""
    form = form_of(shape, dtype)
    if form.across and tuning.is_little(shape) and shape.terms > 2:
        form = Form(widest(shape, dtype))
    groups = shape.outputs // form.width
    # 2728 x 56 x 32 int32 13 us one by one, 38 by vectors of so few threads
    threads = 128 if shape.terms <= tuning.FEW_OF_LITTLE else 256
    return form if groups >= threads * device.sm_count else Form(1)  # 400000 float16 copied 6.4 us by vectors, 7.4 so


def widest(shape: Merged, dtype: str) -> int:
    """Return the elements of the widest vector of x, and as many outputs, that begin wherever terms and outputs do."""
    (first, *_), others = padded(shape.dims, 1), shape.kept[1:]
    if first.x != 1 or first.y != 1:
        return 1
    y_steps = (dim.y for dim in (*others, *shape.copies))
    width = math.gcd(width_of(dtype), shape.widest(first.size, *(dim.x for dim in (*others, *shape.reduced))), *y_steps)
    if width == width_of(dtype):
        return width
    return tuning.narrowed(shape, width) if width * shape.itemsize >= tuning.FEW_VECTOR else 1


def build(problem: Problem[Any], shape: Merged, form: Form, device: DeviceInfo) -> Plan | Refused:
    """Return the plan."""
    dtype = problem.case.dtype
    reduced, kept = shape.reduced, shape.kept
    inner, outer = padded(reduced, 2)
    line = kept[0].size if form.across else 0
    if form.width > 1:
        first, *others = kept
        size = ceil_div(line + form.width - 1, form.width) if form.across else first.size // form.width
        kept = (replace(first, size=size, x=form.width, y=form.width), *others)
    groups = math.prod(dim.size for dim in kept)
    wanted = power_of_two(inner.size * outer.size)
    terms = next((terms for terms in at_once(form) if terms >= wanted), at_once(form)[-1])
    small = shape.bytes < tuning.HINT_FROM and not tuning.fill_threads(shape.outputs // 8, device)
    little = small and fast.is_plain(shape) and shape.terms <= terms and not form.across
    threads = tuning.threads_of_little(groups, device) if little else tuned("FEW_THREADS", tuning.FEW_THREADS)
    block = threads * (1 if little else groups_of(dtype, form, terms))
    if not fast.fits(groups + block, line or 1, *(dim.size for dim in kept)):
        return Refused("more outputs than the kernel counts")
    if little:
        steps = [term % inner.size * inner.x + term // inner.size * outer.x for term in range(inner.size * outer.size)]
        steps += [0] * (terms - len(steps))
        packed = NEAR[terms].value(groups=groups, terms=shape.terms, steps=steps, sum=fast.plain(shape, kept))
    else:
        outputs = (fast.plain if form.across else fast.common)(shape, kept)
        packed = (LITTLE if form.across else SHAPE).value(**_fields(reduced, outputs, groups, line))
    bound = fast.accuracy(dtype, ceil_div(inner.size * outer.size, 4), 6)
    notes = {"width": form.width, "across": form.across, "terms": terms, "threads": threads}
    which = (SOURCE, kernel(dtype, form, terms, fast.dims_of(kept) if little else 0))
    return fast.one_launch(which, ceil_div(groups, block), threads, packed, bound, {**notes, "little": little})


def build_shared(problem: Problem[Any], shape: Merged, outputs: int, lanes: int) -> Plan | Refused:
    """Return the plan by blocks of outputs x lanes threads: whole warps, up to 512."""
    dtype, terms = problem.case.dtype, shape.terms
    inner, outer = padded(shape.reduced, 2)
    held = next((held for held in tuning.SHARED_TERMS if held * lanes >= terms), 0)
    grid = ceil_div(shape.outputs, outputs)
    if held == 0 or not fast.is_plain(shape) or not fast.fits(grid * outputs):
        return Refused("more terms than a block holds")
    turn_outer, turn_inner = divmod(lanes, inner.size)
    packed = SHARED_SHAPE.value(
        sum=fast.plain(shape, shape.kept),
        terms=terms,
        output_bits=outputs.bit_length() - 1,
        inner=divider(inner.size),
        step=inner.x,
        other_step=outer.x,
        turn_inner=turn_inner,
        moved=turn_inner * inner.x + turn_outer * outer.x,
        carried=outer.x - inner.size * inner.x,
        groups=shape.outputs,
    )
    bound = fast.accuracy(dtype, ceil_div(outputs * outputs * lanes, 1024), 4 + 5 + 5)
    notes = {"terms": held, "outputs": outputs, "lanes": lanes, "little": True}
    which = (SOURCE, fast.instance("few_shared", dtype, held))
    return fast.one_launch(which, grid, outputs * lanes, packed, bound, notes)


def build_words(problem: Problem[Any], shape: Merged, words: int, groups: int, threads: int) -> Plan | Refused:
    """Return the plan for short rows of narrow items, by words of 32 bits."""
    dtype, terms = problem.case.dtype, shape.terms
    if shape.itemsize > 2 or not tuning.are_side_by_side(shape) or terms * shape.itemsize > 4 * words:
        return Refused("not short rows of narrow items, side by side")
    packed = WORDS_SHAPE.value(rows=shape.outputs, terms=terms)
    notes = {"words": words, "groups": groups, "threads": threads}
    which = (SOURCE, fast.instance("few_words", dtype, words, groups))
    return fast.one_launch(
        which, ceil_div(shape.outputs, threads * groups), threads, packed, fast.accuracy(dtype, 1, 8), notes
    )


def build_transposed(problem: Problem[Any], shape: Merged, terms: int) -> Plan | Refused:
    """Return the plan for outputs whose neighbours lie apart in x, with so many of their terms at once."""
    dtype = problem.case.dtype
    if len(shape.kept) < 2 or not fast.is_plain(shape):
        return Refused("one kept dim, or sums that are stored several times")
    across = shape.kept[0]
    down, *others = sorted(shape.kept[1:], key=lambda dim: dim.y)
    kept = (across, down, *others)
    tiles, other_tiles = ceil_div(across.size, 32), ceil_div(down.size, 32)
    grid = math.prod((tiles, other_tiles, *(dim.size for dim in others)))
    if shape.outputs >= 2**32 or not fast.fits(grid, *(dim.size + 32 for dim in kept)):
        return Refused("more outputs than the kernel counts")
    packed = TRANSPOSED_SHAPE.value(
        few=tuple(_fields(shape.reduced, fast.plain(shape, kept), shape.outputs).values()),
        tiles=divider(tiles),
        other_tiles=divider(other_tiles),
    )
    bound = fast.accuracy(dtype, ceil_div(shape.terms, terms), 4)
    notes = {"terms": terms, "tiles": [tiles, other_tiles]}
    which = (SOURCE, fast.instance("few_transposed", dtype, terms))
    return fast.one_launch(which, grid, 256, packed, bound, notes)


def _fields(reduced: Sequence[Dim], outputs: tuple[Any, ...], groups: int, line: int = 0) -> dict[str, Any]:
    """Return the fields of a FewShape, in their order."""
    inner, outer = padded(reduced, 2)
    return {
        "terms": inner.size * outer.size,
        "inner": inner.size,
        "groups": groups,
        "line": line,
        "step": inner.x,
        "other_step": outer.x,
        "reach": (inner.size - 1) * inner.x + (outer.size - 1) * outer.x,
        "sum": outputs,
    }
