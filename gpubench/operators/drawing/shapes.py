"""Random shapes and layouts."""

from __future__ import annotations

import math

from gpubench.errors import ParameterError
from gpubench.model import Json
from gpubench.operators.drawing.numbers import STEPS, Numbers, steps_of
from gpubench.operators.drawing.wishes import Wishes

Shape = tuple[int, ...]
UNITS = (2, 4, 8, 16, 32, 64, 128)
OFFSETS = (1, 2, 3, 5)
GAPS = (2, 3)
ONES = 1 / 16
"""Share of the dims that have size 1."""


def draw_shape(numbers: Numbers, wishes: Wishes) -> Shape:
    """Return a shape within the wishes' dims and elements; elements and each size are as likely in every octave.

    ParameterError where rounding to friendly sizes left the bounds.
    """
    low, high = wishes.elements
    dims = numbers.between(*wishes.dims)
    sizes = [1 if numbers.chance(ONES) else 0 for _ in range(dims)]
    open_ = [dim for dim, size in enumerate(sizes) if size == 0] or [*range(dims)][:1]
    if not open_:
        return ()
    whole = numbers.between(steps_of(low), steps_of(high))
    least = STEPS if whole >= STEPS * len(open_) else 0  # an octave each, so that no further size is 1
    free = whole - least * len(open_)
    cuts = [0, *sorted(numbers.between(0, free) for _ in open_[1:]), free]
    for dim, start, end in zip(open_, cuts, cuts[1:], strict=False):
        size = numbers.within_step(end - start + least)
        sizes[dim] = _friendly(numbers, size) if numbers.chance(wishes.friendly) else size
    return _fitted(sizes, low, high)


def _friendly(numbers: Numbers, size: int) -> int:
    """Return the power of two at or below a size, or a multiple of one of UNITS: each half of the time."""
    unit = numbers.choice([1, *(unit for unit in UNITS if unit <= size)])
    if numbers.chance(0.5) or unit == 1:
        return 1 << (size.bit_length() - 1)
    return size // unit * unit


def _fitted(sizes: list[int], low: int, high: int) -> Shape:
    """Bring the number of elements back within its bounds by changing the largest size."""
    place = sizes.index(max(sizes))
    others = math.prod(sizes) // sizes[place]
    sizes[place] = min(max(sizes[place], -(-low // others)), max(high // others, 1))
    if not low <= math.prod(sizes) <= high:
        raise ParameterError("elements", f"no size brings {sizes} to {low} to {high} elements")
    return tuple(sizes)


def draw_layout(numbers: Numbers, wishes: Wishes, shape: Shape, *, may_overlap: bool = True) -> dict[str, Json]:
    """Return a layout for a shape, as a suite writes it: of a kind that has a meaning for it, else contiguous.

    may_overlap: False for what is written to, which cannot be broadcast.
    """
    dims = len(shape)
    possible = {"contiguous": True, "transposed": dims > 1, "permuted": dims > 1, "misaligned": True}
    possible |= {"stepped": dims > 0, "broadcast": dims > 0 and may_overlap}
    weights = {kind: weight for kind, weight in wishes.layouts.items() if possible[kind]}
    kind = numbers.weighted(weights) if any(weight >= 2**-32 for weight in weights.values()) else "contiguous"
    last = [*range(dims - 2), dims - 1, dims - 2]
    match kind:
        case "transposed":
            return {"permute": last}
        case "permuted":
            return {"permute": numbers.sample(range(dims), dims)}
        case "misaligned":
            return {"offset": numbers.choice(OFFSETS)}
        case "stepped":
            return {"step": numbers.choice(GAPS)}
        case "broadcast":
            return {"expand": [numbers.below(dims)]}
    return {}
