"""The rule behind `gpubench:auto` for `sum`: which kernel reads a problem's terms best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.constants import tuned
from gpubench.operators.sum import fast, tuning
from gpubench.operators.sum.cuts import RAGGED_LINE
from gpubench.operators.sum.few import Few, form_for, width_of
from gpubench.operators.sum.lanes import Lanes
from gpubench.operators.sum.lines import has_vectors
from gpubench.operators.sum.merged import Merged
from gpubench.operators.sum.naive import Naive
from gpubench.operators.sum.places import Places
from gpubench.operators.sum.reduce_config import ReduceConfigured
from gpubench.operators.sum.rows import Rows, is_ragged, run_dims, runs_of, vectors_of
from gpubench.operators.sum.single_terms import SingleTerms
from gpubench.operators.sum.staged import Staged, is_flat


def choose(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant in the order of preference that takes the problem."""
    return first_plan(preferred(problem, device), problem, device)


def preferred(problem: Problem[Any], device: DeviceInfo) -> Iterator[Variant]:
    """Yield the variants from best to last."""
    shape = fast.shape_of(problem)
    if not isinstance(shape, Refused):
        if shape.terms * shape.multiple == 1 and not _are_bytes_turned(shape):
            yield SingleTerms()
        if _is_for_few(shape, problem.case.dtype, device):
            yield Few()
        if shape.dims and shape.dims[0].kept:
            group = shape.dims[0].size * shape.terms * shape.itemsize
            narrow = (_is_narrow(shape) or _goes_by_bytes(shape)) and len(shape.reduced) == 1
            small = group <= tuned("STAGED_GROUP", tuning.STAGED_GROUP)
            if narrow and small:
                yield Staged()
        else:
            yield from _along(shape, device)
        yield Places()
    yield from (ReduceConfigured(), Naive())


def _are_bytes_turned(shape: Merged) -> bool:
    """Say whether little of bytes is copied in another order: 224 x 762 uint8 4.9 us by tiles, 5.5 as elementwise's."""
    return shape.itemsize == 1 and tuning.is_little(shape) and tuning.is_transposed(shape)


def _is_for_few(shape: Merged, dtype: str, device: DeviceInfo) -> bool:
    """Say whether threads that add up a few terms read side by side, or so little that it is no matter."""
    if not shape.dims or tuning.is_transposed(shape) or tuning.words(shape) or tuning.shared(shape, device)[0]:
        return True
    first, form = shape.dims[0], form_for(shape, dtype, device)
    little = shape.bytes < tuning.LITTLE and shape.terms <= tuning.terms_of_little(shape, device)
    if not first.kept:
        short = first.size < shape.vector or shape.terms <= tuning.FEW_TERMS
        few = shape.terms <= tuned("FEW_TERMS", tuning.FEW_TERMS) and (is_ragged(shape) or not is_flat(shape))
        most = tuning.FEW_RUNS if has_vectors(shape) else tuning.FEW_ALIGNED
        runs = shape.terms <= most and runs_of(shape) > 1 and tuning.fill_threads(shape.outputs, device)
        return few or runs or (little and short)
    if little:
        return True
    most = tuned("FEW_TERMS", tuning.FEW_TERMS)
    width = form.width if form.width == width_of(dtype) else 1  # narrower ones take what threads of single outputs took
    if _is_narrow(shape) and len(shape.reduced) == 1:
        return shape.terms <= most and (shape.itemsize >= 4 or (width > 1 and not form.across))
    if width * shape.itemsize >= 4 and shape.outputs // width >= 256 * device.sm_count:
        apart = tuning.FEW_APART if has_vectors(shape) else tuning.FEW_ELEMENTS
        aligned = (width > 1 and not form.across) or _is_narrow(shape)
        most = tuned("FEW_ALIGNED", tuning.FEW_ALIGNED) if aligned else apart
    return shape.terms <= most


def _is_narrow(shape: Merged) -> bool:
    """Say whether x is small groups of columns, side by side."""
    return is_flat(shape) and shape.dims[0].size * shape.itemsize < tuning.WIDE_LINE


def _goes_by_bytes(shape: Merged) -> bool:
    """Say whether lines of places would be read element by element, each a byte or two: off the grid, and short.

    36 x 31 x 100 x 151 uint8 15.9 us staged, 25.8 by places (20.6 by threads of single outputs).
    """
    line = shape.dims[0].size * shape.itemsize
    return shape.itemsize <= 2 and is_flat(shape) and shape.dims[0].size % 2 == 1 and line < RAGGED_LINE


def _along(shape: Merged, device: DeviceInfo) -> Iterator[Variant]:
    """Yield what reads runs of terms."""
    run, ragged = run_dims(shape)[0].size * shape.itemsize, is_ragged(shape)
    if runs_of(shape) > 1:
        by_runs = tuning.is_little(shape) and not ragged
        by_runs |= shape.bytes <= tuning.SHARED_BYTES and run >= tuning.LITTLE_RUN
        few = shape.outputs < (32 if shape.itemsize <= 2 else 1) * device.sm_count
        least = 16 if tuning.is_little(shape) else tuning.RUNS_VECTOR
        by_runs |= few and run >= tuning.RAGGED_RUN and not has_vectors(shape, least)
        if run < tuned("SHORT_RUN", tuning.SHORT_RUN) and not by_runs:
            yield Places()
    else:
        longest = tuned("STAGED_ROWS", tuning.STAGED_ROW.get(shape.itemsize, tuning.STAGED_ROWS))
        apart = shape.itemsize >= 4 and run % 64 == 0 and run <= 512  # lanes: 158 x 2967 x 16 float64 24 us (32 staged)
        short = run <= longest and shape.bytes >= tuning.LITTLE and not apart
        if short and shape.outputs >= device.sm_count and ragged and is_flat(shape):
            yield Staged()
        vectors = vectors_of(shape)
        if vectors <= tuned("LANES_ROW", tuning.LANES_ROW) and not tuning.held(vectors, shape, device):
            yield Lanes()
    yield Rows()
