"""Fewer dims for the same elements: a kernel that walks a strided tensor pays for every dim."""

from __future__ import annotations

from collections.abc import Sequence


def coalesce(shape: Sequence[int], *strides: Sequence[int]) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Drop dims of size 1 and merge neighbours that every operand walks as one; return (shape, strides of each).

    All operands share `shape`, and the row-major order of its indices is kept. A single element gives no dims.
    """
    kept = [dim for dim, size in enumerate(shape) if size != 1]
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for dim in kept:
        if sizes and all(out[-1] == steps[dim] * shape[dim] for out, steps in zip(merged, strides, strict=True)):
            sizes[-1] *= shape[dim]
            for out, steps in zip(merged, strides, strict=True):
                out[-1] = steps[dim]
        else:
            sizes.append(shape[dim])
            for out, steps in zip(merged, strides, strict=True):
                out.append(steps[dim])
    return tuple(sizes), tuple(tuple(steps) for steps in merged)
