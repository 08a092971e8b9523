"""Some dims of a view by themselves: what a loop over them walks."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpubench.layout import View

Part = tuple[tuple[int, ...], tuple[int, ...]]
"""The sizes and the strides of some dims of a view."""


def kept_dims(dims: int, reduced: Collection[int]) -> tuple[int, ...]:
    """Return the dims of 0 to dims - 1 that are not reduced, in order."""
    return tuple(dim for dim in range(dims) if dim not in reduced)


def part(view: View, dims: Iterable[int]) -> Part:
    """Return (sizes, strides) of these dims."""
    chosen = tuple(dims)
    return tuple(view.shape[dim] for dim in chosen), tuple(view.strides[dim] for dim in chosen)


def without(view: View, *dims: int) -> Part:
    """Return (sizes, strides) of all dims but these; a scalar has none."""
    return part(view, kept_dims(len(view.shape), dims))


def split(view: View, reduced: tuple[int, ...]) -> tuple[Part, Part]:
    """Return (sizes, strides) of the kept dims, then of the reduced ones."""
    return without(view, *reduced), part(view, reduced)
