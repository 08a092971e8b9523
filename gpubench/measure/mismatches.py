"""Where an output is wrong: how many elements, a strip over the whole output, and the pattern that they follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpubench.dtypes import dtype
from gpubench.model import Json

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

CELLS = 64
"""Cells of the strip, each an equal share of the output in row-major order."""

SHOWN = 3
"""Mismatches that are kept with their values."""

POISON_FLOAT = 0xFF
"""All bits set is a NaN in every float format."""
POISON_INTEGER = 0xA5
"""No small number in any width: -91, -23131, -1515870811 ..."""


def poison_byte(name: str) -> int:
    """Return the byte that fills an output of this dtype before it is written: no right answer holds it."""
    return POISON_INTEGER if dtype(name).kind == "integer" else POISON_FLOAT


def unwritten(found: Array, name: str) -> int:
    """Return how many of these elements hold nothing but poison."""
    import numpy

    if not found.size:
        return 0
    held = numpy.ascontiguousarray(found).view(numpy.uint8).reshape(found.size, -1)
    return int((held == poison_byte(name)).all(axis=1).sum())


class Tally:
    """The wrong elements of one output of this shape, added block by block in the order of their places."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._size = math.prod(shape)
        self._row = shape[-1] if shape else 1
        self._cells = [False] * min(CELLS, self._size)
        self.count = 0
        self._unwritten = 0
        self._low, self._high = self._size, -1
        self._step = 0
        self._columns = self._row, -1

    def add(self, wrong: Array, unwritten: int) -> None:
        """Add the places (flat, ascending, behind all added before) of wrong elements; `unwritten`: holding poison."""
        import numpy

        if not wrong.size:
            return
        self._low = min(self._low, int(wrong[0]))
        self._high = int(wrong[-1])
        self._step = math.gcd(self._step, int(numpy.gcd.reduce(wrong - self._low)))
        columns = wrong % self._row
        self._columns = min(self._columns[0], int(columns.min())), max(self._columns[1], int(columns.max()))
        self.count += int(wrong.size)
        self._unwritten += unwritten
        for cell in numpy.unique(wrong * len(self._cells) // self._size):
            self._cells[int(cell)] = True

    def to_json(self) -> dict[str, Json]:
        """Return what the record holds of all mismatches: how many of how many, where in a word, and the strip."""
        return {"count": self.count, "of": self._size, "where": self.where(), "strip": self.strip()}

    def strip(self) -> str:
        """Return a character a cell of the output: `x` where something in it is wrong, else `.`."""
        return "".join("x" if wrong else "." for wrong in self._cells)

    def where(self) -> str:
        """Name the places: `tail`, `every 32nd`, `last row`; `never written` where all of them hold poison."""
        if self._unwritten == self.count:
            return "never written" if self.count == self._size else f"{self._place()}, never written"
        return self._place()

    def _place(self) -> str:
        if self.count == self._size:
            return "all"
        if self.count == 1:
            return "one element"
        if self._high - self._low + 1 == self.count:
            return self._stretch()
        if self._low < self._step and self.count == (self._size - 1 - self._low) // self._step + 1:
            return self._comb()
        return self._columns_of_all_rows() or ("last row" if self._is_last_row() else "scattered")

    def _is_last_row(self) -> bool:
        return 1 < self._row < self._size and self._low >= self._size - self._row

    def _stretch(self) -> str:
        """Name one run of wrong elements."""
        whole_row = self.count == self._row and self._low % self._row == 0 and self._row > 1
        if self._high == self._size - 1:
            return "last row" if whole_row else "tail"
        if self._low == 0:
            return "first row" if whole_row else "head"
        return "one row" if whole_row else "one stretch"

    def _comb(self) -> str:
        """Name wrong elements at equal distances over the whole output."""
        if self._step == self._row:
            names = {0: "first column", self._row - 1: "last column"}
            return names.get(self._low, "one column")
        return f"every {ordinal(self._step)}"

    def _columns_of_all_rows(self) -> str | None:
        """Name the same stretch of every row; None where it is none at either end."""
        first, last = self._columns
        if self._row < 2 or self.count != self._size // self._row * (last - first + 1):
            return None
        if last == self._row - 1:
            return "tail of every row"
        return "head of every row" if first == 0 else "middle of every row"


def ordinal(number: int) -> str:
    """Return 2nd, 3rd, 11th, 32nd."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
