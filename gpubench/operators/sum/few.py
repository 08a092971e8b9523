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
from gpubench.operators.structs import Struct
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.merged import Dim, Merged, padded

SOURCE = "reduce_sum/few.cu"
MOST_TERMS = 4096
SHARED = (4, 8, 16)
"""Terms of a thread where warps share outputs: the instances."""

LEAST_LINE = 256
"""Outputs of a line whose terms stand anywhere: a vector that begins before a line lies in x."""


SHAPE, LITTLE = (
    Struct(
        f"gpubench::sum::FewShape<{common.cpp}>",
        SOURCE,
        terms="i4",
        inner="i4",
        groups="u4",
        line="i4",
        **dict.fromkeys(("step", "other_step", "reach"), "i8"),
        sum=common,
    )
    for common in (fast.SUM, fast.PLAIN)
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a thread's outputs lie: `width` side by side in y, `run` neighbours in x to each.

    across: the terms stand anywhere.
    """

    width: int
    run: int = 1
    across: bool = False


class Few(fast.Fast):
    """Outputs of few terms."""

    name: str = "few"
    summary: str = "a thread one output or several, up to 16 terms of each on their way at once"
    origin: str = "an elementwise sum; up to 4096 terms of up to 2 reduced and 3 kept dims"

    along = False
    most_reduced = 3  # of which one may be the neighbours on a vector

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses many terms."""
        if shape.terms > MOST_TERMS:
            return Refused(f"more than {MOST_TERMS} terms")
        if warps := tuning.few_warps(shape, device):
            return build_shared(problem, shape, warps)
        return build(problem, shape, form_for(shape, problem.case.dtype, device), device)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By outputs side by side, neighbours of one output, and terms; and those whose terms stand anywhere."""
        forms = [Form(1), Form(vector_of(dtype)), *(Form(run_width(dtype, run), run) for run in runs(dtype))]
        if across_width(dtype) > 1:
            forms.append(Form(across_width(dtype), across=True))
        found = [
            kernel(dtype, form, terms, little)
            for form in dict.fromkeys(forms)
            for little in (False, True)
            for terms in at_once(form, little)
        ]
        found += [shared_kernel(dtype, terms) for terms in SHARED]
        return tuple((SOURCE, name) for name in found)


def at_once(form: Form, little: bool) -> tuple[int, ...]:
    """Return the numbers of terms on their way at once of which there are instances."""
    if form.run > 1:
        return (1,) if little else (1, 2)
    if form.width > 1:
        return () if little else (2, 4) if form.across else (1, 2, 4, 8)
    return (2, 4, 8, 16) if little else (1, 2, 4, 8, 16)  # 5 terms int64 95 us with 8 at once, 117 with 16


def kernel(dtype: str, form: Form, terms: int, little: bool) -> str:
    """Return the name expression: for so many terms at once, and one group of outputs a thread or several."""
    if form.across:
        return fast.instance("few_across", dtype, form.width, terms)
    groups = 0 if little else groups_of(dtype, form, terms)
    return fast.instance("few", dtype, form.width, form.run, terms, groups)


def shared_kernel(dtype: str, terms: int) -> str:
    """Return the name expression for warps that share outputs, with so many terms of each."""
    return fast.instance("few_shared", dtype, terms)


def groups_of(dtype: str, form: Form, terms: int) -> int:
    """Return the groups of outputs that a thread takes: eight vectors, four of complex128, are on their way at once."""
    return 1 if form.across else max(1, (4 if dtypes.dtype(dtype).itemsize == 16 else 8) // terms)


def vector_of(dtype: str) -> int:
    """Return the elements of 16 bytes of the wider of x and y."""
    return 16 // max(dtypes.dtype(dtype).itemsize, dtypes.dtype(sum_dtype(dtype)).itemsize)


def across_width(dtype: str) -> int:
    """Return the outputs of a thread whose terms stand anywhere: a vector of x, or two of y; 1 for wide elements.

    5 x 7988160 int64 95.4 us element by element, 101.8 so; 1108 x 13 x 2135 bfloat16 32 so, more than 41 by elements.
    """
    size = dtypes.dtype(dtype).itemsize
    return min(16 // size, 32 // dtypes.dtype(sum_dtype(dtype)).itemsize) if size <= 2 else 1


def runs(dtype: str) -> tuple[int, ...]:
    """Return the numbers of neighbours that make an output and are less than a vector."""
    return tuple(run for run in (2, 4, 8) if run * dtypes.dtype(dtype).itemsize < 16)


def run_width(dtype: str, run: int) -> int:
    """Return the outputs of a thread with `run` neighbours each: at most a vector of x and one of y."""
    return max(1, min(vector_of(dtype), 16 // (run * dtypes.dtype(dtype).itemsize)))


def form_of(shape: Merged, dtype: str) -> Form:
    """Return the widest form that x and y allow."""
    first, *others = padded(shape.dims, 1)
    if first.x != 1:
        return Form(1)
    if shape.terms == 1 and shape.itemsize < 4:  # 97 million uint8 223 us, 229 by two
        return Form(1)
    if first.kept:
        if first.y == 1 and stands(shape, shape.kept, vector_of(dtype), 1):
            return Form(vector_of(dtype))
        width = across_width(dtype)
        wide = first.y == 1 and first.size >= LEAST_LINE and width > 1
        return Form(width, across=True) if wide and all(dim.y % width == 0 for dim in shape.copies) else Form(1)
    run = first.size
    if run in runs(dtype) and shape.terms <= 2 * run and others and (others[0].x, others[0].y) == (run, 1):
        width = run_width(dtype, run)
        if stands(shape, shape.kept, width, run):
            return Form(width, run)
    return Form(1)


def form_for(shape: Merged, dtype: str, device: DeviceInfo) -> Form:
    """Return the form for so many outputs: element by element where vectors would leave too few threads."""
    form = form_of(shape, dtype)
    if form.run > 1 and shape.terms == form.run:
        return form
    return Form(1) if tuning.is_little(shape) or not tuning.fill_threads(shape.outputs // form.width, device) else form


def stands(shape: Merged, kept: Sequence[Dim], width: int, run: int) -> bool:
    """Say whether vectors of width x run elements of x, and of `width` outputs, begin wherever terms and outputs do."""
    first, *others = kept
    reduced = shape.reduced[run > 1 :]
    x_steps = [shape.offset, first.size * run, *(dim.x for dim in (*others, *reduced))]
    y_steps = [first.size, *(dim.y for dim in (*others, *shape.copies))]
    return all(step % (width * run) == 0 for step in x_steps) and all(step % width == 0 for step in y_steps)


def build(problem: Problem[Any], shape: Merged, form: Form, device: DeviceInfo) -> Plan | Refused:
    """Return the plan."""
    dtype = problem.case.dtype
    reduced, kept = shape.reduced[form.run > 1 :], shape.kept
    if refused := fast.too_many(reduced, 2, "reduced"):
        return refused
    inner, outer = padded(reduced, 2)
    line = kept[0].size if form.across else 0
    if form.width > 1 or form.run > 1:
        first, *others = kept
        size = ceil_div(line + form.width - 1, form.width) if form.across else first.size // form.width
        kept = (replace(first, size=size, x=form.width * form.run, y=form.width), *others)
    groups = math.prod(dim.size for dim in kept)
    wanted = power_of_two(inner.size * outer.size)
    little = tuning.is_little(shape) and (wanted == 1 if form.run > 1 else form.width == 1)
    terms = next((terms for terms in at_once(form, little) if terms >= wanted), at_once(form, little)[-1])
    threads = tuning.threads_of_little(groups, device) if little else tuned("FEW_THREADS", tuning.FEW_THREADS)
    block = threads * (1 if little else groups_of(dtype, form, terms))
    if not fast.fits(groups + block, *(dim.size for dim in kept)):
        return Refused("more outputs than the kernel counts")
    packed = (LITTLE if little else SHAPE).value(
        sum=(fast.plain if little else fast.common)(shape, kept),
        step=inner.x,
        other_step=outer.x,
        terms=inner.size * outer.size,
        inner=inner.size,
        groups=groups,
        reach=(inner.size - 1) * inner.x + (outer.size - 1) * outer.x,
        line=line,
    )
    bound = fast.accuracy(dtype, ceil_div(inner.size * outer.size, 4), 6)
    notes = {"width": form.width, "run": form.run, "across": form.across, "terms": terms, "threads": threads}
    which = (SOURCE, kernel(dtype, form, terms, little))
    return fast.one_launch(which, ceil_div(groups, block), threads, packed, bound, {**notes, "little": little})


def build_shared(problem: Problem[Any], shape: Merged, warps: int) -> Plan | Refused:
    """Return the plan by blocks of so many warps, which share 32 outputs each."""
    dtype, terms = problem.case.dtype, shape.terms
    held = next((held for held in SHARED if held * warps >= terms), 0)
    outputs = ceil_div(shape.outputs, 32) * 32
    if len(shape.reduced) != 1 or held == 0 or not fast.is_plain(shape) or not fast.fits(outputs):
        return Refused("not one run of terms that a block holds")
    packed = LITTLE.value(
        sum=fast.plain(shape, shape.kept),
        step=shape.reduced[0].x,
        other_step=0,
        terms=terms,
        inner=terms,
        groups=shape.outputs,
        reach=0,
        line=0,
    )
    bound = fast.accuracy(dtype, 1, 5 + warps)
    notes = {"terms": held, "warps": warps, "little": True}
    return fast.one_launch((SOURCE, shared_kernel(dtype, held)), outputs // 32, 32 * warps, packed, bound, notes)
