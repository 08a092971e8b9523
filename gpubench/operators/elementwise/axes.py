"""How the dims are split for tiles: along y's rows, across them, and the rest."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpubench import dtypes
from gpubench.operators.elementwise import tuning
from gpubench.operators.elementwise.merged import Input, Merged
from gpubench.operators.geometry.merged import Dim
from gpubench.operators.geometry.vectors import VECTOR_BYTES


@dataclass(frozen=True, slots=True)
class Axes:
    """The dims split: along y's rows, across them, and the rest.

    turned: the operands that lie across the rows. braided: those, where they have all rows as one run.
    """

    along: tuple[Dim, ...]
    across: tuple[Dim, ...]
    outer: tuple[Dim, ...]
    turned: tuple[int, ...] = ()
    braided: tuple[int, ...] = ()


def across_dim(shape: Merged, one: Input) -> int | None:
    """Return the dim along which an operand's elements lie closest, where that is not y's fastest; else None.

    None, too, for an operand that is small beside the others.
    """
    first = one.step(shape.dims[0])
    if first in (0, 1) or tuning.is_small(shape, one):
        return None
    moving = [number for number, dim in enumerate(shape.dims) if one.step(dim) > 0 and dim.size > 1]
    best = min(moving, key=lambda number: one.step(shape.dims[number]))
    return best if best != 0 else None


def split(shape: Merged) -> Axes:
    """Split the dims: the largest operand that lies across decides which dim is across the rows."""
    wishes = {operand.number: across_dim(shape, operand) for operand in shape.inputs}
    by_size = sorted(shape.inputs, key=lambda operand: -operand.extent * dtypes.dtype(operand.dtype).itemsize)
    chosen = next((wishes[operand.number] for operand in by_size if wishes[operand.number] is not None), None)
    if chosen is None:
        return _rows(shape)
    turned = tuple(number for number, dim in wishes.items() if dim == chosen)
    few = tuning.BRAIDED_ROWS // len(turned)
    if chosen == 1 and all(_is_braided(shape, operand, few) for operand in shape.inputs if operand.number in turned):
        return dataclasses.replace(_axes(shape, [0], [1]), braided=turned)
    others = [operand for operand in shape.inputs if operand.number not in turned]
    along = _run_along(shape, chosen, turned, others)
    if math.prod(shape.dims[dim].size for dim in along) * shape.output_itemsize <= tuning.SHORT_ALONG:
        large = [other for other in others if not tuning.is_small(shape, other)]
        tiny = shape.dims[chosen].size * min(shape.itemsizes(turned)) < VECTOR_BYTES
        along = _run_along(shape, chosen, turned, large, 1 if tiny else tuning.LONG_ROW)
    across = [chosen]
    distance = _distances(shape, chosen, turned)
    while True:
        free = [n for n in range(len(shape.dims)) if n not in along and n not in across]
        found = next((n for n in free if all(shape.dims[n].steps[t] == distance[t] for t in turned)), None)
        if found is None:
            break
        across.append(found)
        distance = {number: far * shape.dims[found].size for number, far in distance.items()}
    return _axes(shape, along, across, turned)


def _distances(shape: Merged, across: int, turned: tuple[int, ...]) -> dict[int, int]:
    """Return the elements of operands that a dim, along which they lie side by side, takes."""
    dim = shape.dims[across]
    return {number: dim.steps[number] * dim.size for number in turned}


def _run_along(
    shape: Merged, across: int, turned: tuple[int, ...], others: Sequence[Input], long_row: int = tuning.LONG_ROW
) -> list[int]:
    """Return the dims before this one that rows of tiles go over: as far as the other operands go on as they begin.

    Not over a dim that makes a short run of the turned ones longer, if rows have `long_row` elements before.
    """
    distance, short = _distances(shape, across, turned), shape.dims[across].size < tuning.SHORT_RUN
    along = [0]
    while along[-1] + 1 < across and all(goes_on(shape, other, shape.dims[along[-1] + 1]) for other in others):
        following = shape.dims[along[-1] + 1]
        long = math.prod(shape.dims[dim].size for dim in along) >= long_row
        if short and long and all(following.steps[number] == distance[number] for number in turned):
            break  # rather a longer run of the operand
        along.append(along[-1] + 1)
    return along


def _is_braided(shape: Merged, one: Input, few: int) -> bool:
    """Say whether an operand has y's rows, at most so many, as one run.

    Not where the elements across are whole vectors, which are turned as well in fewer registers, but for 6, 10 or 14 of
    8 bytes: of 6 x 1048578 float64 32.9 us, turned 54.2, of 14 x 14 x 30000 33.4 and 37.5; of 8 34.9, turned 31.9.
    """
    along, across = shape.dims[:2]
    itemsize = dtypes.dtype(one.dtype).itemsize
    whole = across.size * itemsize % 16 == 0
    odd_pairs = itemsize == 8 and across.size > 4 and across.size % 4 == 2
    return (
        across.size <= few
        and (not whole or odd_pairs)
        and one.step(across) == 1
        and one.step(along) == across.size
        and shape.on_grid(one, *(one.step(dim) for dim in shape.dims[2:]))
        and along.size >= tuning.BRAIDED_VECTORS * shape.vector
    )


def goes_on(shape: Merged, one: Input, dim: Dim) -> bool:
    """Say whether an operand lies along one dim more as it does along the first."""
    first, here = one.step(shape.dims[0]), one.step(dim)
    return here == dim.steps[0] if first == 1 else first == 0 and here == 0


def _rows(shape: Merged) -> Axes:
    """Split where nothing lies across: rows along the first dim, across them what some operand's rows share."""
    others = range(1, len(shape.dims))
    along = [operand for operand in shape.inputs if operand.step(shape.dims[0]) == 1]
    common = [dim for dim in others if any(operand.step(shape.dims[dim]) == 0 for operand in along)]
    across = [max(common or others, key=lambda dim: shape.dims[dim].size)] if others else []
    return _axes(shape, [0], across)


def _axes(shape: Merged, along: list[int], across: list[int], turned: tuple[int, ...] = ()) -> Axes:
    outer = [number for number in range(len(shape.dims)) if number not in along and number not in across]
    first, second, third = (tuple(shape.dims[n] for n in numbers) for numbers in (along, across, outer))
    return Axes(first, second, third, turned)
