"""The host rule of reduce_sum/rows.cu: a block, or several, for each output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.constants import tuned
from gpubench.operators.geometry.rounding import ceil_div
from gpubench.operators.structs import INTEGER_DIVIDER, Struct, divider
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.merged import Dim, Merged, padded

SOURCE = "reduce_sum/rows.cu"
RUNS = 3
"""Reduced dims that the kernel walks: those of a run, of a round of runs, and rounds."""


SHAPE = Struct(
    "gpubench::sum::RowsShape",
    SOURCE,
    sum=fast.SUM,
    parts=INTEGER_DIVIDER,
    **dict.fromkeys(("items", "step", "other_step"), "i8"),
    **dict.fromkeys(("vectors", "inner", "all", "turn", "turn_vectors", "turn_inner", "turn_outer"), "u4"),
)


ENDS = Struct("gpubench::sum::Ends", SOURCE, head="u4", vectors="u4")
EVERYTHING = Struct("gpubench::sum::Everything", SOURCE, ends=ENDS)
ONE_BLOCK = {
    warps: Struct(f"gpubench::sum::OneBlock<{warps}>", SOURCE, ends=ENDS) for warps in (1, *tuning.ONE_BLOCK_WARPS)
}
WARPS = Struct("gpubench::sum::Warps", SOURCE, kept=fast.NEAR, outputs="u4")
RUN = {
    common: Struct(
        f"gpubench::sum::RunShape<{common.cpp}>",
        SOURCE,
        items="i8" if common is fast.SUM else "u4",
        parts=INTEGER_DIVIDER,
        sum=common,
    )
    for common in (EVERYTHING, *ONE_BLOCK.values(), WARPS, fast.PLAIN, fast.SUM)
}
HELD = (1, 2, 4, 8)
"""Vectors of a thread that has all of them on their way at once: the instances."""

_ONE_BLOCK = {
    *((tuning.WARP, loads) for loads in HELD),
    *((tuning.WARP * warps, tuning.ONE_BLOCK_LOADS) for warps in tuning.ONE_BLOCK_WARPS),
}
"""Threads of the one block that has everything, and vectors of each: the instances."""

DIMS = (1, 3)
"""Kept dims, at most, of those of little."""


class Rows(fast.Fast):
    """Outputs whose terms are runs of neighbours."""

    name: str = "rows"
    summary: str = "a block or several an output, its runs of terms as one list of vectors"
    origin: str = "after CUB's device reduction, blocks joined in their order; up to 3 reduced and 3 kept dims"

    most_reduced = RUNS

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses more vectors than are counted."""
        vectors, runs = vectors_of(shape), runs_of(shape)
        if runs == 1:
            threads, parts, hold = tuning.run(vectors, shape, device)
            return build_run(problem, shape, tuned("ROWS_THREADS", threads), parts, hold)
        threads, parts = tuning.rows(vectors * runs, shape.outputs, is_ragged(shape), device)
        return build(problem, shape, tuned("ROWS_THREADS", threads), parts)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """By how several runs lie; of one run, by where outputs lie, what a thread holds, and the hint to the cache."""
        found = [kernel(dtype, runs) for runs in ("whole", "ragged")]
        found += [run_kernel(dtype, common, 1, loads, False) for common in (EVERYTHING, ONE_BLOCK[1]) for loads in HELD]
        found += [
            run_kernel(dtype, ONE_BLOCK[warps], 1, tuning.ONE_BLOCK_LOADS, False) for warps in tuning.ONE_BLOCK_WARPS
        ]
        found += [run_kernel(dtype, WARPS, dims, loads, False) for dims in DIMS for loads in HELD]
        found += [
            run_kernel(dtype, fast.PLAIN, dims, loads, hint)
            for dims in DIMS
            for loads in HELD
            for hint in (False, True)
        ]
        for hint in (False, True):
            found += [run_kernel(dtype, EVERYTHING, 1, 0, hint), run_kernel(dtype, fast.SUM, 3, 0, hint)]
        return tuple((SOURCE, name) for name in found)


def kernel(dtype: str, runs: str) -> str:
    """Return the name expression for runs that lie so: gpubench::sum::Runs."""
    return fast.instance("rows", dtype, f"gpubench::sum::Runs::{runs}")


def run_kernel(dtype: str, common: Struct, dims: int, loads: int, first_out: bool) -> str:
    """Return the name expression for one run an output.

    dims: kept ones at most. loads: 0 for turns. first_out: the hint to the L2 cache.
    """
    return fast.instance("rows_run", dtype, common.cpp, dims, loads, str(first_out).lower())


def build_run(problem: Problem[Any], shape: Merged, threads: int, parts: int, hold: bool) -> Plan | Refused:
    """Return the plan for one run an output by `parts` blocks: if they can hold it, with all of it at once."""
    dtype = problem.case.dtype
    vectors = shape.terms // shape.vector
    if len(shape.reduced) != 1 or vectors + fast.LOADS * threads * parts >= 2**32:
        return Refused("more vectors than the kernel counts")
    if not fast.fits(parts, shape.outputs * parts + tuning.WARP_ROWS, *(dim.size for dim in shape.kept)):
        return Refused("more outputs than the kernel counts")
    run = _run_of(shape, threads, parts, hold)
    rows = min(tuning.WARP_ROWS, 2 * fast.LOADS // run.loads, shape.outputs) if run.common is WARPS else 1
    turns = ceil_div(vectors, fast.LOADS * threads * parts)
    bound = fast.accuracy(dtype, turns, 3 + shape.vector.bit_length() + 10, parts)
    notes = {"threads": threads, "parts": parts, "held": run.loads, "rows": rows}
    first_out = (tuning.HINT_FROM if run.loads else 0) <= shape.bytes < fast.PLAIN_FROM
    return fast.one_launch(
        (SOURCE, run_kernel(dtype, run.common, run.dims, run.loads, first_out)),
        ceil_div(shape.outputs * parts, rows),
        threads * rows,
        RUN[run.common].value(items=shape.terms, parts=divider(parts), sum=run.outputs),
        bound,
        notes,
        words=fast.word_bytes(dtype) * parts * shape.outputs if parts > 1 else 0,
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Which instance takes one run an output: `common` says who has an output, `outputs` is what it holds."""

    common: Struct
    dims: int
    loads: int
    outputs: tuple[Any, ...]


def _run_of(shape: Merged, threads: int, parts: int, hold: bool) -> Run:
    """Return the instance for blocks of so many threads: by turns, or with all of an output on its way at once."""
    plain, vectors = fast.is_plain(shape), shape.terms // shape.vector
    loads = next((loads for loads in HELD if loads * threads * parts >= vectors), 0) if hold else 0
    if plain and not shape.kept:
        head = min(-shape.offset % shape.vector, shape.terms)
        ends = ((head, (shape.terms - head) // shape.vector),)
        if parts == 1 and (threads, loads) in _ONE_BLOCK:
            return Run(ONE_BLOCK[threads // tuning.WARP], 1, loads, ends)
        return Run(EVERYTHING, 1, loads, ends)
    if loads and plain and parts == 1 and threads == tuning.WARP:
        return Run(WARPS, fast.dims_of(shape.kept, DIMS), loads, (fast.outputs_of(shape.kept), shape.outputs))
    if loads and plain and parts == 1:
        return Run(fast.PLAIN, fast.dims_of(shape.kept, DIMS), loads, fast.plain(shape, shape.kept))
    return Run(fast.SUM, fast.KEPT_DIMS, 0, fast.common(shape, shape.kept))


def run_dims(shape: Merged) -> tuple[Dim, Dim, Dim]:
    """Return the dims of a run, of a round of runs and of rounds, those that there are not of size 1."""
    run, inner, outer = padded(shape.reduced[:RUNS], RUNS)
    return run, inner, outer


def runs_of(shape: Merged) -> int:
    """Return the runs of an output."""
    _, inner, outer = run_dims(shape)
    return inner.size * outer.size


def is_ragged(shape: Merged) -> bool:
    """Say whether runs begin or end off the grid of vectors."""
    return not shape.on_grid(run_dims(shape)[0].size, *(dim.x for dim in shape.dims[1:]))


def vectors_of(shape: Merged) -> int:
    """Return the vectors that a run may touch."""
    return ceil_div(run_dims(shape)[0].size + (shape.vector - 1 if is_ragged(shape) else 0), shape.vector)


def build(problem: Problem[Any], shape: Merged, threads: int, parts: int) -> Plan | Refused:
    """Return the plan with `parts` blocks of `threads` an output (256 at most for runs at any alignment)."""
    run, inner, outer = run_dims(shape)
    dtype = problem.case.dtype
    vectors = vectors_of(shape)
    every = vectors * inner.size * outer.size
    runs = "ragged" if is_ragged(shape) else "whole"
    threads = min(threads, 256) if runs == "ragged" else threads
    turn = threads * parts
    if every + turn >= 2**32 or not fast.fits(parts, shape.outputs * parts, *(dim.size for dim in shape.kept)):
        return Refused("more vectors than the kernel counts")
    if runs == "ragged" and run.size >= 2**30:
        return Refused("longer runs than the kernel counts")
    turn_runs, turn_vectors = divmod(turn, vectors)
    turn_outer, turn_inner = divmod(turn_runs, inner.size)
    packed = SHAPE.value(
        sum=fast.common(shape, shape.kept),
        parts=divider(parts),
        items=run.size,
        step=inner.x,
        other_step=outer.x,
        vectors=vectors,
        inner=inner.size,
        all=every,
        turn=turn,
        turn_vectors=turn_vectors,
        turn_inner=turn_inner,
        turn_outer=turn_outer,
    )
    turns = ceil_div(ceil_div(every, turn), fast.LOADS)
    bound = fast.accuracy(dtype, turns, 3 + shape.vector.bit_length() + 10, parts)
    words = fast.word_bytes(dtype) * parts * shape.outputs if parts > 1 else 0
    notes = {"threads": threads, "parts": parts}
    name = kernel(dtype, runs)
    return fast.one_launch((SOURCE, name), shape.outputs * parts, threads, packed, bound, notes, words=words)
