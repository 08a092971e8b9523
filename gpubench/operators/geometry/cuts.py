"""Work cut into strips, tiles and shares of blocks."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.model import Value
from gpubench.operators.geometry.columns import Columns
from gpubench.operators.structs import Struct

COLUMN_SHAPE = Struct(
    "gpubench::ColumnShape",
    "gpubench/movement/strips.cuh",
    **dict.fromkeys(("length", "inner", "x_outer", "x_row", "strips", "elements"), "i8"),
    **dict.fromkeys(("tiles", "share"), "i4"),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """Columns cut into strips: strips of one outer block, tiles of a strip, blocks that share one."""

    strips: int
    tiles: int
    share: int = 1

    def argument(self, columns: Columns) -> Value:
        """Return the kernel's `ColumnShape`."""
        return COLUMN_SHAPE.value(
            columns, self, x_outer=columns.outer_pitch, x_row=columns.row_pitch, elements=columns.span
        )


def cut_columns(columns: Columns, width: int, rows: int) -> Cut:
    """Cut columns into strips of `width`, and these into tiles of so many rows."""
    return Cut(-(-columns.inner // width), -(-columns.length // rows))


def even_tile(length: int, most: int, workers: int, lines: int = 1) -> int:
    """Return the length of a tile, of at most `most`, with which workers take whole turns over lines of that length.

    As few turns as tiles of full length need; then tiles as short as fills the last turn, too.
    """
    turns = -(-lines * -(-length // most) // workers)
    return -(-length // max(turns * workers // lines, 1))
