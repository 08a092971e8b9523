"""The reference of a case, worked out once and kept for all contenders when there is room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpubench.operators.base import Array, Reference

Block = tuple[slice, "Array", "Array | None"]


class KeptReference:
    """Gives the same blocks as the reference inside; keeps them while together they stay under `room` bytes."""

    def __init__(self, inner: Reference, room: int) -> None:
        self._inner = inner
        self._room = room
        self._kept: list[Block] | None = None

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, from memory from the second time on."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Block] = []
        size = 0
        for block in self._inner.blocks():
            _, value, magnitude = block
            size += value.nbytes + (0 if magnitude is None else magnitude.nbytes)
            if size <= self._room:
                kept.append(block)
            else:
                kept.clear()
            yield block
        if size <= self._room:
            self._kept = kept

    def work_out(self) -> None:
        """Work all blocks out now, so that they are there later; give up where they would not be kept."""
        if self._kept is not None:
            return
        kept: list[Block] = []
        size = 0
        for block in self._inner.blocks():
            _, value, magnitude = block
            size += value.nbytes + (0 if magnitude is None else magnitude.nbytes)
            if size > self._room:
                return
            kept.append(block)
        self._kept = kept
