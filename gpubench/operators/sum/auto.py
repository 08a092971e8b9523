"""The rule behind `gpubench:auto` for `sum`: which kernel reads a problem's terms best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.sum import exchange, tuning
from gpubench.operators.sum.few import TERMS, Few
from gpubench.operators.sum.lanes import Lanes
from gpubench.operators.sum.merged import Merged
from gpubench.operators.sum.naive import Naive
from gpubench.operators.sum.places import Places
from gpubench.operators.sum.reduce_config import ReduceConfigured
from gpubench.operators.sum.rows import Rows, is_ragged, run_dims, runs_of, vectors_of
from gpubench.operators.sum.staged import Staged, group_of, is_flat


def choose(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant in the order of preference that takes the problem."""
    return first_plan(preferred(problem, device), problem, device)


def preferred(problem: Problem[Any], device: DeviceInfo) -> Iterator[Variant]:
    """Yield the variants from best to last."""
    shape = exchange.shape_of(problem)
    if not isinstance(shape, Refused):
        if shape.terms <= TERMS[-1] and _is_for_few(shape):
            yield Few()
        if shape.dims and shape.dims[0].kept:
            yield from _across(shape)
        else:
            yield from _along(shape, device)
        yield from (Places(), Rows())
    yield from (ReduceConfigured(), Naive())


def _is_for_few(shape: Merged) -> bool:
    """Say whether threads that add up a few terms read side by side, or so little that it is no matter."""
    if not shape.dims or shape.bytes < tuning.SMALL:
        return True
    first = shape.dims[0]
    if first.kept:
        return not is_flat(shape) or first.size * shape.itemsize >= tuning.WIDE_LINE
    return first.size < shape.vector


def _along(shape: Merged, device: DeviceInfo) -> Iterator[Variant]:
    """Yield what reads runs of terms."""
    run = run_dims(shape)[0].size * shape.itemsize
    if runs_of(shape) > 1:
        if run < tuning.SHORT_RUN:
            yield Places()
        yield Rows()
        return
    many = shape.outputs >= device.sm_count
    if many and is_ragged(shape) and is_flat(shape) and _is_for_staged(shape, run):
        yield Staged()
    if many and vectors_of(shape) <= tuning.LANES_ROW:
        yield Lanes()
    yield Rows()


def _is_for_staged(shape: Merged, run: int) -> bool:
    """Say whether rows of so many bytes are short, and many."""
    longest = tuning.STAGED_ROW.get(shape.itemsize, tuning.STAGED_ROWS)
    return shape.bytes >= tuning.STAGED_LEAST and run <= longest


def _across(shape: Merged) -> Iterator[Variant]:
    """Yield what reads across the terms."""
    if is_flat(shape) and len(shape.reduced) == 1:
        neighbours, terms = group_of(shape)
        if (
            neighbours * shape.itemsize < tuning.WIDE_LINE
            and neighbours * terms * shape.itemsize <= tuning.STAGED_GROUP
        ):
            yield Staged()
    yield Places()
