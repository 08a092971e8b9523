"""The host rule of reduce_sum/rows.cu: a block, or several, for each output."""

from __future__ import annotations

from collections.abc import Sequence
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


HELD_SHAPE = Struct("gpubench::sum::HeldShape", SOURCE, items="u4", sum=fast.PLAIN)
ALL_SHAPE = Struct("gpubench::sum::AllShape", SOURCE, **dict.fromkeys(("items", "head", "vectors"), "u4"))
HELD = (1, 2, 4, 8)
"""Vectors of a thread that has all of them on their way at once: the instances."""


class Rows(fast.Fast):
    """Outputs whose terms are runs of neighbours."""

    name: str = "rows"
    summary: str = "a block or several an output, its runs of terms as one list of vectors"
    origin: str = "after CUB's device reduction, blocks joined in their order; up to 3 reduced and 3 kept dims"

    most_reduced = RUNS

    def planned(self, problem: Problem[Any], shape: Merged, device: DeviceInfo) -> Plan | Refused:
        """Refuses more vectors than are counted."""
        vectors, runs = vectors_of(shape), runs_of(shape)
        if threads := tuning.held(vectors, shape, device):
            return build_held(problem, shape, threads) if shape.kept else build_all(problem, shape, threads, 1)
        threads, parts = tuning.rows(vectors * runs, shape.outputs, runs > 1 and is_ragged(shape), device)
        threads = tuned("ROWS_THREADS", threads)
        everything = build_all(problem, shape, threads, parts)
        return everything if isinstance(everything, Plan) else build(problem, shape, threads, parts)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance for each way that runs lie."""
        held = [fast.instance(name, dtype, loads) for name in ("rows_held", "rows_all") for loads in HELD]
        return tuple((SOURCE, name) for name in (*(kernel(dtype, runs) for runs in ("one", "whole", "ragged")), *held))


def kernel(dtype: str, runs: str) -> str:
    """Return the name expression for runs that lie so: gpubench::sum::Runs."""
    return fast.instance("rows", dtype, f"gpubench::sum::Runs::{runs}")


def build_held(problem: Problem[Any], shape: Merged, threads: int) -> Plan | Refused:
    """Return the plan with a block of `threads` an output, which hold all of its terms at once."""
    dtype = problem.case.dtype
    wanted = max(1, ceil_div(shape.terms // shape.vector, threads))
    loads = next((loads for loads in HELD if loads >= wanted), 0)
    if len(shape.reduced) != 1 or loads == 0 or not fast.is_plain(shape) or not fast.fits(shape.outputs):
        return Refused("not one run an output that a block holds")
    packed = HELD_SHAPE.value(items=shape.terms, sum=fast.plain(shape, shape.kept))
    bound = fast.accuracy(dtype, 1, 3 + shape.vector.bit_length() + 10)
    notes = {"threads": threads, "parts": 1, "held": loads}
    which = (SOURCE, fast.instance("rows_held", dtype, loads))
    return fast.one_launch(which, shape.outputs, threads, packed, bound, notes)


def build_all(problem: Problem[Any], shape: Merged, threads: int, parts: int) -> Plan | Refused:
    """Return the plan of one sum of little, with `parts` blocks that hold all of its terms at once."""
    dtype = problem.case.dtype
    head = min(-shape.offset % shape.vector, shape.terms)
    vectors = (shape.terms - head) // shape.vector
    loads = next((loads for loads in HELD if loads * threads * parts >= vectors), 0)
    if shape.kept or len(shape.reduced) != 1 or loads == 0 or not fast.is_plain(shape) or parts * threads > 2**24:
        return Refused("not one run that all blocks hold at once")
    packed = ALL_SHAPE.value(items=shape.terms, head=head, vectors=vectors)
    bound = fast.accuracy(dtype, 1, 3 + shape.vector.bit_length() + 10, parts)
    words = fast.word_bytes(dtype) * parts if parts > 1 else 0
    notes = {"threads": threads, "parts": parts, "held": loads}
    which = (SOURCE, fast.instance("rows_all", dtype, loads))
    return fast.one_launch(which, parts, threads, packed, bound, notes, words=words)


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
    runs = "one" if inner.size * outer.size == 1 else "ragged" if is_ragged(shape) else "whole"
    threads = min(threads, 256) if runs == "ragged" else threads
    turn = threads * parts
    if every + turn >= 2**32 or not fast.fits(parts, shape.outputs * parts, *(dim.size for dim in shape.kept)):
        return Refused("more vectors than the kernel counts")
    if runs == "ragged" and run.size >= 2**30:
        return Refused("longer runs than the kernel counts")
    turn_runs, turn_vectors = divmod(turn, vectors)
    turn_outer, turn_inner = divmod(turn_runs, inner.size)
    if runs == "one":  # a lane's vectors at once
        turn_vectors = min(fast.LOADS, ceil_div(every, turn))
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
