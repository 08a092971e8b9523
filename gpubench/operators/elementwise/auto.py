"""The rule behind `gpubench:auto` for `elementwise`: which kernel suits how the operands lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Plan, Problem, Refused
from gpubench.operators.base import Variant
from gpubench.operators.choosing import first_plan
from gpubench.operators.constants import tuned
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.axes import Axes, across_dim, split
from gpubench.operators.elementwise.flat import Flat, lie_of
from gpubench.operators.elementwise.merged import Input, Merged, merged
from gpubench.operators.elementwise.naive import Naive
from gpubench.operators.elementwise.near import (
    are_braids_slow,
    has_few_ragged,
    is_near,
    is_ragged_group,
    near_group,
    one_run,
)
from gpubench.operators.elementwise.pytorch.variants import AutoPytorch
from gpubench.operators.elementwise.tiles import Tiles, turned_lie
from gpubench.operators.geometry.axes import axis_size


def choose(problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
    """Return the plan of the first variant in the order of preference that takes the problem."""
    return first_plan(preferred(problem), problem, device)


def preferred(problem: Problem[Any]) -> Iterator[Variant]:
    """Yield the variants from best to last."""
    shape = merged(problem)
    if not isinstance(shape, Refused):
        if _is_for_tiles(shape, problem.params.function):
            yield Tiles()
        yield Flat()
        yield Tiles()
    yield from (AutoPytorch(), Naive())


def _is_for_tiles(shape: Merged, function: str) -> bool:
    """Say whether some operand lies across y's rows, or operands share or fill long rows of whole vectors."""
    if len(shape.dims) == 1:
        return False
    wishes = [(operand, dim) for operand in shape.inputs if (dim := across_dim(shape, operand)) is not None]
    if not wishes:
        return False
    axes = split(shape)
    near = all(is_near(shape, wish) for wish, _ in wishes)
    if axes.braided and (are_braids_slow(shape, axes, function) or (near and has_few_ragged(shape, axes))):
        return False
    if all(is_ragged_group(shape, wish) for wish, _ in wishes):
        return False
    off_grid = any(lie_of(shape, operand) == "off_grid" for operand in shape.inputs)
    near = near and (off_grid or not axes.braided)
    if axis_size(axes.along) * axis_size(axes.across) < (tuning.LEAST_TILE if len(wishes) == 1 else tuning.THREADS):
        return False
    if _writes_scraps(shape, axes):
        return False
    bytes_apart = all(_are_bytes_gathered(shape, axes, wish, dim) for wish, dim in wishes)
    return not bytes_apart and not any(_is_gathered(shape, axes, wish, dim, near) for wish, dim in wishes)


def _writes_scraps(shape: Merged, axes: Axes) -> bool:
    """Say whether tiles would write half a sector here and half a sector there: rows that short, far apart in y.

    Not of bytes, which are gathered a sector each: 2048 x 4096 x 4 of uint8, rows of 4 bytes, 149 us (207 by `flat`).
    """
    short = axis_size(axes.along) * shape.output_itemsize <= tuning.SCRAP
    return short and shape.output_itemsize > 1 and axes.across[0] is not shape.dims[1]


def _is_gathered(shape: Merged, axes: Axes, one: Input, across: int, near: bool) -> bool:
    """Say whether what blocks of y read of an operand lies close enough together, though across y's rows.

    near: whether all operands across the rows have their elements near each other, and are no braids on the grid.
    """
    most = near_group(shape, axes, one) if near else tuning.THREADS * shape.vector
    few = shape.elements <= _gather_elements()
    run = tuned("GATHER_RUN", tuning.GATHER_RUN)
    if _fills_tiles(shape, axes, one):
        run = min(run, tuned("SQUARE_RUN", tuning.SQUARE_RUN))
    return few or _are_close(shape, one, across, run, most)


def _fills_tiles(shape: Merged, axes: Axes, one: Input) -> bool:
    """Say whether whole units of an operand make tiles that are as wide as y's rows are long, and high enough."""
    length, high = axis_size(axes.along), axis_size(axes.across) >= tuning.SHORT_RUN
    whole = length % shape.vector == 0 and length & (length - 1) == 0
    pairs = dtypes.dtype(one.dtype).itemsize == 2 and shape.elements >= tuning.FILLED_PAIRS
    return whole and high and one.number in axes.turned and (pairs or turned_lie(axes, one) == "turned")


def _are_bytes_gathered(shape: Merged, axes: Axes, one: Input, across: int) -> bool:
    """Say the same of bytes that tiles would turn one by one, or of which a line has few."""
    bytes_turned = dtypes.dtype(one.dtype).itemsize == 1 and one.number in axes.turned and not axes.braided
    if bytes_turned and axis_size(axes.across) <= tuning.FEW_BYTES:
        return True
    run = tuning.BYTE_MOST if shape.elements <= tuning.BYTE_LITTLE else tuning.BYTE_ROW
    if bytes_turned and turned_lie(axes, one) == "turned_off_grid" and _are_close(shape, one, across, run, 0):
        return True
    close = _are_close(shape, one, across, tuning.BYTE_RUN, tuning.BYTE_GROUP)
    return close and tuning.are_bytes_ragged(shape, one, across)


def _are_close(shape: Merged, one: Input, across: int, run: int, group: int) -> bool:
    """Say whether its neighbours are so many elements of y apart at most, or such a group of y is one run of it."""
    apart = math.prod(dim.size for dim in shape.dims[:across])
    size = one_run(shape, one, across)
    return apart <= run or (size is not None and size <= group)


def _gather_elements() -> int:
    return tuned("GATHER_ELEMENTS", tuning.GATHER_ELEMENTS)
