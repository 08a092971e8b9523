"""The host rule of index_add/combined.cu: atomics of 16 bytes, equal indices near each other added up before."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add import one_place, owned, owning, regimes, scattered, sort, tuning, walked
from gpubench.operators.index_add.accuracy import atomic_plan
from gpubench.operators.index_add.form import LIMIT, Form, OfForm, fits, form_of
from gpubench.operators.index_add.params import INDEX_DTYPES
from gpubench.operators.index_add.sums import alpha_value
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider, unsigned

SOURCE = "index_add/combined.cu"
THREADS = 256
LANES = 32
WARPS = THREADS // LANES
FEW_ROWS = 4
LEAST_ROWS = 8
"""Of a warp that makes a list of its own."""

SHAPE = Struct(
    "gpubench::index_add::CombinedShape",
    SOURCE,
    chunks=INTEGER_DIVIDER,
    tiles=INTEGER_DIVIDER,
    lanes="i4",
    rows="i4",
    vectors="u4",
    count="u4",
    units="u4",
    inner="u4",
    places="i8",
    **dict.fromkeys(("place_step", "index_step", "outer_place", "outer_index", "item_place", "item_index"), "i8"),
    **dict.fromkeys(("outers", "unused"), "u4"),
    alpha="f8",
)


class Combined(OfForm):
    """Takes rows of neighbours, and single elements."""

    name: str = "combined"
    summary: str = "equal indices of a warp added up in registers, then atomics of 16 bytes; one launch"
    origin: str = (
        "vector reductions as Triton's and PyTorch's newest scatter-add; additions by atomics in the dtype, in any "
        "order; few indices and odd layouts: places owned by threads, own kernel"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return the plan of few indices, of places owned by threads, of the form, or of any layout."""
        if one_place.is_for(problem):
            plan = one_place.build(problem, device)
            if isinstance(plan, Plan):
                return plan
        if walked.is_for(problem):
            plan = walked.build(problem, device)
            if isinstance(plan, Plan):
                return plan
        form = form_of(problem)
        owns = problem.params.count > walked.MOST and owning.is_for_owned(problem, form)
        plan = owned.build(problem, device) if owns else super().plan(problem, device)
        return scattered.build(problem) if isinstance(plan, Refused) else plan

    def of_form(self, problem: Problem[Any], form: Form, device: DeviceInfo) -> Plan | Refused:
        """One launch. Refuses rows whose elements do not lie side by side, and more than 32-bit numbers count."""
        if problem.case.dtype in tuning.SINGLE and form.count > tuning.FEW:
            form = dataclasses.replace(form, vector=1)
        rows = regimes.warp_rows(form, device)
        cut = form.in_vectors_anywhere() if problem.case.dtype in tuning.CUT else None
        if cut:
            much = form.added >= tuned("CUT_MUCH", tuning.CUT_MUCH)
            of_cut = max(regimes.warp_rows(cut, device), LEAST_ROWS if much else 1)
            if FEW_ROWS < of_cut < form.count and (much or rows > FEW_ROWS):
                return build(problem, cut, of_cut)
        return build(problem, form, rows)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By form of the work, index dtype, and vectors of 16 bytes or elements."""
        widths = sorted({16 // dtypes.dtype(dtype).itemsize, 1})
        names = []
        for index in INDEX_DTYPES:
            names += [kernel(dtype, index, width, FEW_ROWS, asks=asks) for width in widths for asks in (False, True)]
            names += [
                kernel(dtype, index, width, LANES, sharing, asks=asks)
                for width in widths
                for sharing, asks in (*product(("even", "runs"), (False, True)), ("owned", False))
            ]
            if dtype in tuning.CUT:
                names += [kernel(dtype, index, widths[-1], LANES, sharing, True) for sharing in ("even", "runs")]
            names += [
                *(single(dtype, index, looking) for looking in ("nobody", "warp", "block")),
                *(
                    scattered.kernel(dtype, index, dims, width, alone)
                    for dims, width in ((2, widths[-1]), (3, 1))
                    for alone in (False, True)
                ),
                *(scattered.turned_kernel(dtype, index, 1, to_places=to_places) for to_places in (False, True)),
            ]
        return (
            *((SOURCE, name) for name in names),
            *walked.instances(dtype),
            *one_place.instances(dtype),
            *owned.instances(dtype),
            *sort.instances(),
        )


def kernel(
    dtype: str, index: str, vector: int, rows: int, sharing: str = "even", anywhere: bool = False, asks: bool = False
) -> str:
    """Return the name expression for so many rows; sharing: of a warp's list among its groups of lanes.

    anywhere: vectors are cut in which rows begin and end. asks: for places while their rows are on their way.
    """
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}, {vector}"
    if rows == FEW_ROWS:
        return f"gpubench::index_add::add_few<{types}, {str(asks).lower()}>"
    sharing = f"gpubench::index_add::Sharing::{sharing}"
    return f"gpubench::index_add::add_combined<{types}, {sharing}, {str(anywhere).lower()}, {str(asks).lower()}>"


def single(dtype: str, index: str, looking: str) -> str:
    """Return the name expression for single elements without gaps; looking: who does for others with their place."""
    types = f"{dtypes.dtype(dtype).cpp}, {dtypes.dtype(index).cpp}"
    return f"gpubench::index_add::add_single<{types}, gpubench::index_add::Looking::{looking}>"


def looking_of(count: int) -> str:
    """Return who looks for others with an element's place, where there are so many."""
    if count <= tuning.ALONE_SINGLE:
        return "nobody"
    return "block" if count >= tuned("LOOKING_BLOCK", tuning.LOOKING_BLOCK) else "warp"


def build_single(problem: Problem[Any], form: Form) -> Plan:
    """Return the plan for single elements without gaps, at most LIMIT."""
    destination, index, _ = problem.operands
    looking = looking_of(form.count)
    threads = THREADS if looking == "block" else min(THREADS, max(32, power_of_two(ceil_div(form.count, 32))))
    launch = Launch(
        SOURCE,
        single(destination.dtype, index.dtype, looking),
        (ceil_div(form.count, threads), 1, 1),
        (threads, 1, 1),
        (
            Pointer("destination"),
            Pointer("source"),
            Pointer("index"),
            unsigned(form.count, 4),
            unsigned(form.places, 4),
            alpha_value(problem.params.alpha, destination.dtype),
        ),
    )
    return atomic_plan("combined", (launch,), problem, notes={"rows": 1, "lanes": 1, "vector": 1})


def build(problem: Problem[Any], form: Form, rows: int) -> Plan | Refused:
    """Return the plan with so many rows of a thread (1), of a group of lanes (4), or of a warp."""
    if rows == 1 and form.is_single and fits(form.count + THREADS, form.places):
        return build_single(problem, form)
    if rows == 1:
        plan = scattered.build(problem)
        if isinstance(plan, Plan):
            return plan
        rows = FEW_ROWS
    if form.outers > 1 and form.inner == 1 and form.is_denser_across:
        form = form.across()
    work = _work(form, rows)
    if not fits(work.units + THREADS, form.vectors, form.outers, form.count + 32 * THREADS, form.places):
        return Refused(f"more than {LIMIT} indices, places or pieces of work")
    destination, index, _ = problem.operands
    owned = rows > FEW_ROWS and rows >= form.count and work.lanes == LANES
    runs = work.lanes < LANES and form.count >= tuned("RUNS_LEAST", tuning.RUNS_LEAST)
    shape = SHAPE.value(
        form,
        work,
        chunks=divider(work.chunks),
        tiles=divider(work.tiles),
        rows=rows,
        vectors=form.vectors,
        unused=0,
        alpha=problem.params.alpha,
    )
    sharing = "owned" if owned else "runs" if runs else "even"
    asks = not owned and regimes.asks_for_rows(form)
    launch = Launch(
        SOURCE,
        kernel(destination.dtype, index.dtype, form.vector, rows, sharing, form.anywhere, asks),
        work.grid,
        (work.threads, 1, 1),
        (Pointer("destination"), Pointer("source"), Pointer("index"), shape),
    )
    notes = {
        "rows": rows, "lanes": work.lanes, "vector": form.vector,
        "owned": owned, "anywhere": form.anywhere, "asks": asks,
    }  # fmt: skip
    return atomic_plan("combined", (launch,), problem, notes=notes)


@dataclass(frozen=True, slots=True)
class Work:
    """How rows are cut: chunks of a row, as wide as a group of lanes; tiles of the list; units of both; the launch."""

    lanes: int
    chunks: int
    tiles: int
    units: int
    threads: int
    grid: tuple[int, int, int]


def _work(form: Form, rows: int) -> Work:
    """Cut into so many rows of a group of lanes (4), or of a warp, whose lanes take a chunk."""
    vectors = form.vectors
    lanes = min(LANES, power_of_two(vectors))
    few = rows == FEW_ROWS
    tiles, chunks = ceil_div(form.count, rows * (THREADS // lanes) if few else rows), ceil_div(vectors, lanes)
    units = tiles * chunks * form.outers
    return Work(lanes, chunks, tiles, units, THREADS, (units if few else ceil_div(units, WARPS), 1, 1))
