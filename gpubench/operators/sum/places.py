"""The host rule of reduce_sum/places.cu: threads that own places in a line of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider
from gpubench.operators.sum import cuts, fast
from gpubench.operators.sum.lines import MOST_PLACES, Cut, Line, lines_of
from gpubench.operators.sum.merged import Merged

SOURCE = "reduce_sum/places.cu"
MOST_SHARED = 48 * 1024

MOST_NARROW = {1: 2**23, 2: 2**16 - 1}
"""Terms of 8- and 16-bit integers, by bytes of one, that a thread may add up in 32 bits."""


SHAPE = Struct(
    "gpubench::sum::PlacesShape",
    SOURCE,
    sum=fast.SUM,
    **dict.fromkeys(("lines", "slices", "places", "neighbours", "together"), INTEGER_DIVIDER),
    **dict.fromkeys(("line", "terms", "inner"), "u4"),
    **dict.fromkeys(("apart", "step", "other_step", "group_step", "neighbour_step"), "i8"),
    **dict.fromkeys(("outputs", "line_outputs"), "u4"),
    **dict.fromkeys(("lanes", "parts", "width_bits", "rest"), "i4"),
)


class Places(fast.Fast):
    """Sums across what lies side by side."""

    name: str = "places"
    summary: str = (
        "a thread a place of 2 to 16 bytes in a line of neighbours, its terms one by one; columns and sets of dims"
    )
    origin: str = (
        "as the strips of cumsum's columns; lines of kept dims with one reduced dim in between, 2 more reduced, 3 kept"
    )

    along = False
    most_reduced, most_kept = 3, fast.KEPT_DIMS + 2  # one and two of which lie in a line

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses what forms no lines."""
        lines = [line for line in lines_of(shape) if len(line.kept) <= fast.KEPT_DIMS]
        if not lines:
            return Refused("the dims of x form no lines with places")
        line = cuts.best_line(lines, shape)
        return build(problem, shape, line, cuts.cut(line, shape, device))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Each form by vectors of 16 bytes, whole lines by narrower ones and by elements too."""
        vector = 16 // dtypes.dtype(dtype).itemsize
        forms = [("whole", items) for items in (16, 8, 4, 2, 1) if items <= vector]
        forms += [("flat", vector), ("ragged", vector)] if vector > 1 else []
        return tuple((SOURCE, kernel(dtype, *form)) for form in forms)


def kernel(dtype: str, form: str, vector: int) -> str:
    """Return the name expression for places of so many elements in lines of a form: gpubench::sum::Form."""
    return fast.instance("places", dtype, vector, f"gpubench::sum::Form::{form}")


def build(problem: Problem[Any], shape: Merged, line: Line, cut: Cut) -> Plan | Refused:
    """Return the plan for these lines, cut so."""
    dtype = problem.case.dtype
    span = cut.places * line.vector
    vectors = line.items // line.vector
    slices = ceil_div(vectors, cut.places)
    line_outputs = line.neighbours.size * line.groups.size
    outputs = line.neighbours.size if line.flat else span // line.together
    if line.ragged:
        if cut.lanes % line.classes and (cut.lanes < line.rows or cut.parts > 1):
            return Refused("lanes that would meet terms that begin unlike")
        outputs = line_outputs if line_outputs + line.vector - 1 <= span else span - line.vector
        if outputs <= 0:
            return Refused("fewer places than a vector has elements")
        slices = ceil_div(line_outputs, outputs)
        vectors = slices * cut.places
    grid = slices * line.lines * cut.parts
    turns = ceil_div(line.rows, cut.lanes * cut.parts)
    shared = cut.lanes * span * fast.part_bytes(dtype)
    cells = cut.lanes * line.together
    if not fast.fits(grid + 1, vectors + cut.places, cells, *(dim.size for dim in line.kept), line_outputs + span):
        return Refused("more places than the kernel counts")
    if turns > MOST_NARROW.get(shape.itemsize, turns) or line.rows >= 2**31:
        return Refused("more terms than a thread adds up")
    if shared > MOST_SHARED or cut.lanes * cut.places > cut.threads or cut.threads > MOST_PLACES:
        return Refused("more sums than a block holds")
    width = max(1, min(32, power_of_two(cut.threads // outputs + 1) // 2, power_of_two(cells)))
    rest = line.inner.size * line.neighbours.size - line.rows * span if line.flat else 0
    step = span if line.flat else line.inner.x
    packed = SHAPE.value(
        cut,  # its lanes and parts
        sum=fast.common(shape, line.kept),
        lines=divider(slices * line.lines),
        slices=divider(slices),
        places=divider(cut.places),
        neighbours=divider(line.neighbours.size),
        together=divider(line.together),
        line=vectors,
        terms=line.rows,
        inner=line.rows + 1 if line.flat else line.inner.size,
        step=step,
        other_step=line.outer.x,
        group_step=line.groups.y,
        neighbour_step=line.neighbours.y,
        outputs=outputs,
        line_outputs=line_outputs,
        width_bits=width.bit_length() - 1,
        apart=line.apart,
        rest=rest,
    )
    bound = fast.accuracy(dtype, ceil_div(turns, fast.LOADS), 3 + ceil_div(cells, width) + 5, cut.parts)
    words = fast.word_bytes(dtype) * grid * outputs if cut.parts > 1 else 0
    shares = {"places": cut.places, "lanes": cut.lanes, "parts": cut.parts}
    notes = {**shares, "vector": line.vector, "form": line.form, "width": width}
    which = (SOURCE, kernel(dtype, line.form, line.vector))
    return fast.one_launch(which, grid, cut.threads, packed, bound, notes, shared, words)
