"""The rule behind `gpubench:auto` for `sum`: which kernel reads a problem's terms best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.constants import tuned
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.few import Few, form_of
from gpubench.operators.sum.lanes import Lanes
from gpubench.operators.sum.lines import lines_of
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
    shape = fast.shape_of(problem)
    if not isinstance(shape, Refused):
        if _is_for_few(shape, problem.case.dtype, device):
            yield Few()
        if shape.dims and shape.dims[0].kept:
            yield from _across(shape)
        else:
            yield from _along(shape, device)
        yield from (Places(), Rows())
    yield from (ReduceConfigured(), Naive())


def _is_for_few(shape: Merged, dtype: str, device: DeviceInfo) -> bool:
    """Say whether threads that add up a few terms read side by side, or so little that it is no matter."""
    if not shape.dims:
        return True
    first, form = shape.dims[0], form_of(shape, dtype)
    if tuning.is_transposed(shape) or tuning.words(shape):
        return True
    many = shape.outputs >= 64 * device.sm_count
    little = shape.bytes < tuning.SMALL and shape.terms <= tuned("FEW_OF_LITTLE", tuning.FEW_OF_LITTLE) // (
        1 if many else 2
    )
    if not first.kept:
        short = first.size < shape.vector or shape.terms <= tuning.FEW_TERMS
        few = shape.terms <= tuned("FEW_TERMS", tuning.FEW_TERMS) * form.run and (form.run > 1 or not is_flat(shape))
        return few or (little and short) or (shape.terms <= tuning.FEW_FLAT and is_ragged(shape))
    if little or tuning.shared(shape, device)[0]:
        return True
    if not tuning.fill_threads(shape.outputs // form.width, device):
        return shape.terms <= tuning.FEW_TERMS and not _is_narrow(shape)
    most = (
        tuned("FEW_ALIGNED", tuning.FEW_ALIGNED)
        if form.width > 1 and not form.across
        else tuning.few_ragged(lines_of(shape))
    )
    return shape.terms <= most and not _is_narrow(shape)


def _is_narrow(shape: Merged) -> bool:
    """Say whether x is small groups of columns, side by side."""
    return is_flat(shape) and shape.dims[0].size * shape.itemsize < tuning.WIDE_LINE


def _along(shape: Merged, device: DeviceInfo) -> Iterator[Variant]:
    """Yield what reads runs of terms."""
    run = run_dims(shape)[0].size * shape.itemsize
    if runs_of(shape) > 1:
        by_runs = tuning.is_little(shape) and shape.outputs <= tuning.FEW_RUNS and not is_ragged(shape)
        if tuning.shared(shape, device)[0]:
            yield Few()
        if run < tuned("SHORT_RUN", tuning.SHORT_RUN) and not by_runs:
            yield Places()
        yield Rows()
        return
    many = shape.outputs >= device.sm_count
    some = shape.outputs >= tuning.LANES_ROWS
    if many and is_ragged(shape) and is_flat(shape) and _is_for_staged(shape, run):
        yield Staged()
    vectors = vectors_of(shape)
    if some and vectors <= tuned("LANES_ROW", tuning.LANES_ROW) and not tuning.held(vectors, shape, device):
        yield Lanes()
    yield Rows()


def _is_for_staged(shape: Merged, run: int) -> bool:
    """Say whether rows of so many bytes are short, and many."""
    longest = tuned("STAGED_ROWS", tuning.STAGED_ROW.get(shape.itemsize, tuning.STAGED_ROWS))
    return shape.bytes >= tuned("STAGED_LEAST", tuning.STAGED_LEAST) and run <= longest


def _across(shape: Merged) -> Iterator[Variant]:
    """Yield what reads across the terms."""
    if is_flat(shape) and len(shape.reduced) == 1:
        neighbours, terms = group_of(shape)
        if neighbours * shape.itemsize < tuning.WIDE_LINE and neighbours * terms * shape.itemsize <= tuned(
            "STAGED_GROUP", tuning.STAGED_GROUP
        ):
            yield Staged()
    yield Places()
