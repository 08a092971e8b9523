"""How the dims of a sum become lines of places: what lies side by side, and what comes to lie above it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from gpubench.operators.sum import tuning
from gpubench.operators.sum.merged import NONE, Dim, Merged, padded

MOST_FLAT = 128
"""Vectors of a line in the flat form: four lanes at least share a place."""

MOST_PLACES = 512
"""Vectors of a slice that cannot be cut further: a block has a thread for each."""


@dataclass(frozen=True, slots=True)
class Line:
    """How dims become lines: [groups][together][neighbours] side by side, rounds of terms, and the lines' own dims.

    apart: elements between neighbours. flat: the terms are rows of `neighbours` side by side, of which `together` make
    whole vectors. ragged: terms begin anywhere, and begin alike every `classes` terms.
    """

    neighbours: Dim
    together: int
    groups: Dim
    inner: Dim
    outer: Dim
    kept: tuple[Dim, ...]
    vector: int
    form: Literal["whole", "flat", "ragged"] = "whole"
    classes: int = 1
    apart: int = 1

    @property
    def flat(self) -> bool:
        """Whether rows side by side make lines."""
        return self.form == "flat"

    @property
    def ragged(self) -> bool:
        """Whether terms begin off the vectors' grid."""
        return self.form == "ragged"

    @property
    def items(self) -> int:
        """Elements of a line."""
        return self.neighbours.size * self.together * self.groups.size

    @property
    def rows(self) -> int:
        """Rows that lie above each other in a line's places."""
        return self.inner.size // self.together if self.flat else self.inner.size * self.outer.size

    @property
    def lines(self) -> int:
        """Number of lines."""
        return math.prod(dim.size for dim in self.kept)


@dataclass(frozen=True, slots=True)
class Cut:
    """How lines are shared out: vectors of a slice, lanes that share a place, blocks that share a slice; threads."""

    places: int
    lanes: int
    parts: int
    threads: int


def lines_of(shape: Merged) -> list[Line]:
    """Return every way to form lines of the dims."""
    found: list[Line] = []
    for own, (neighbours, together, groups) in _beginnings(shape.dims):
        rest = shape.dims[own:]
        terms = [dim for dim in rest if not dim.kept]
        kept = tuple(dim for dim in rest if dim.kept)
        if len(terms) > 2:
            continue
        inner, outer = padded(terms, 2)
        line = Line(neighbours, together, groups, inner, outer, kept, 1, apart=shape.apart)
        if shape.apart != 1:
            found += [line] * _slices_whole(line, 1)
            continue
        widest = tuning.narrowed(shape, shape.widest(line.items, *(dim.x for dim in rest)))
        aligned = widest == shape.vector
        found += [replace(line, vector=vector) for vector in dict.fromkeys((widest, 1)) if _slices_whole(line, vector)]
        if own == 1 and inner.x == neighbours.size and outer.size == 1 and not aligned:
            found += _flat(line, shape)
        if line.together == 1 and outer.size == 1 and not aligned and shape.vector > 1:
            classes = shape.vector // math.gcd(inner.x, shape.vector)
            found.append(replace(line, vector=shape.vector, form="ragged", classes=classes))
    return found


def has_vectors(shape: Merged, least: int = 16) -> bool:
    """Say whether some way to form lines reads vectors of so many bytes at least; elements of 16 are always read so."""
    wide = (line.vector > 1 and line.vector * shape.itemsize >= least for line in lines_of(shape))
    return shape.vector == 1 or any(wide)


def _beginnings(dims: tuple[Dim, ...]) -> list[tuple[int, tuple[Dim, int, Dim]]]:
    """Return (how many dims, their roles) for each beginning of the dims that lies side by side as a line."""
    found: list[tuple[int, tuple[Dim, int, Dim]]] = []
    if not dims:
        return found
    first, *others = dims
    if first.kept:
        found.append((1, (first, 1, NONE)))
    elif first.x != 1:
        found.append((0, (NONE, 1, NONE)))
    side_by_side = bool(others) and others[0].x == first.size * first.x
    if first.kept and side_by_side and others[0].kept:
        found.append((2, (first, 1, others[0])))
    if first.kept and side_by_side and not others[0].kept and len(others) > 1:
        second, third = others[0], others[1]
        if third.kept and third.x == second.x * second.size:
            found.append((3, (first, second.size, third)))
    if not first.kept and side_by_side and others[0].kept:
        found.append((2, (NONE, first.size, others[0])))
    return found


def _slices_whole(line: Line, vector: int) -> bool:
    """Say whether slices of whole groups are few vectors, so that a block holds one."""
    return least_places(line, vector) <= MOST_PLACES


def least_places(line: Line, vector: int) -> int:
    """Return the fewest vectors of a slice that holds whole groups."""
    if line.together == 1:
        return 1
    group = line.together * line.neighbours.size
    return group // math.gcd(group, vector)


def _flat(line: Line, shape: Merged) -> list[Line]:
    """Return the flat form, where a line is few vectors: rows that lie side by side, whatever their length."""
    width, vector = line.neighbours.size, shape.vector
    rows = vector // math.gcd(width, vector)
    if width * rows // vector > MOST_FLAT:
        return []
    return [Line(line.neighbours, rows, NONE, line.inner, NONE, line.kept, vector, "flat")]
