"""Which dims a sum keeps and which it reduces."""

from __future__ import annotations

from gpubench.layout import View

Part = tuple[tuple[int, ...], tuple[int, ...]]
"""The sizes and the strides of some dims of a view."""


def kept_dims(dims: int, reduced: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of 0 to dims - 1 that are not reduced, in order."""
    return tuple(dim for dim in range(dims) if dim not in reduced)


def split(view: View, reduced: tuple[int, ...]) -> tuple[Part, Part]:
    """Return (sizes, strides) of the kept dims, then of the reduced ones."""
    kept = kept_dims(len(view.shape), reduced)
    return _part(view, kept), _part(view, reduced)


def _part(view: View, dims: tuple[int, ...]) -> Part:
    return tuple(view.shape[dim] for dim in dims), tuple(view.strides[dim] for dim in dims)
