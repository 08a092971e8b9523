"""Walks of `cumsum` by tiles whose sums would be stored in pieces: where x had better be copied first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpubench import dtypes
from gpubench.operators.cumsum import walk_tuning
from gpubench.operators.cumsum.walks import Walk
from gpubench.operators.sectors import SECTOR

if TYPE_CHECKING:
    from gpubench.model import Problem


def are_sums_torn(problem: Problem[Any], walk: Walk) -> bool:
    """Tell whether a walk by tiles would store sums in pieces that cut sectors, where much goes to y.

    Blocks that go down long lines fall out of step, so that the L2 cache gives up a sector before the neighbour's piece
    of it comes; of narrow integers y is most of what moves.
    """
    x, y_itemsize = problem.operand("x"), dtypes.dtype(problem.operand("y").dtype).itemsize
    if walk.far is None or walk.staged:
        return False
    if not any(step * y_itemsize % SECTOR for step in (*walk.y_steps[:-1], walk.y_apart, walk.y_row)):
        return False
    kind = dtypes.dtype(x.dtype)
    if _is_long(walk, x.view.size, walk_tuning.TORN.get((kind.kind, kind.itemsize))):
        return True
    side = walk.sizes[-1]
    block = walk.y_row == side  # lines that are neighbours in y, and all of them, follow each other there
    much = x.view.size >= (walk_tuning.TORN_BLOCK if block else walk_tuning.TORN_LEAST)
    return kind.itemsize == 1 and much and (block or side >= walk_tuning.TORN_WIDTH)


def _is_long(walk: Walk, elements: int, torn: walk_tuning.Torn | None) -> bool:
    """Tell whether lines are long, and enough of them, not each contiguous in y nor too many side by side there."""
    if torn is None or walk.y_row == 1:
        return False
    beside = walk_tuning.TORN_BESIDE <= walk.sizes[-1] <= torn.most
    return beside and walk.length >= torn.line and elements >= torn.elements
