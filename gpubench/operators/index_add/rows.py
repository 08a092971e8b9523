"""How many bytes of the destination's memory the named rows touch, in whole sectors."""

from __future__ import annotations

from gpubench.dtypes import dtype
from gpubench.layout import View
from gpubench.model import Operand
from gpubench.operators.index_add.params import Below, IndexAddParams
from gpubench.operators.sectors import SECTOR, picked_sectors, sectors


def row_bytes(params: IndexAddParams, destination: Operand, rows: int) -> int:
    """Return the expected bytes of the sectors that hold `rows` named rows, each drawn as likely as another.

    A row is all elements of one place of the dim: a run of the dims inside it, once for each index of the dims outside.
    """
    view, item = destination.view, dtype(destination.dtype).itemsize
    places = params.shape[params.dim] if params.shape else 1
    if isinstance(params.pattern, Below):
        places = params.pattern.below
    if not rows or not places:
        return 0
    inside = _inside(view, params.dim) if params.shape else View((), (), 0, 1)
    runs = view.size // max(inside.size * (params.shape[params.dim] if params.shape else 1), 1)
    distance = abs(view.strides[params.dim]) * item if params.shape else item
    extent = item * (1 + sum((n - 1) * abs(stride) for n, stride in zip(inside.shape, inside.strides, strict=True)))
    alone = sectors(inside, item)
    if extent > distance or SECTOR * alone < extent:  # rows interleave, or have gaps of their own: each stands alone
        return SECTOR * alone * rows * runs
    return SECTOR * picked_sectors(distance, extent, places, rows) * runs


def _inside(view: View, dim: int) -> View:
    """Return the view of one row's elements that lie closer together than the dim's neighbours."""
    closer = [
        (n, stride)
        for place, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True))
        if place != dim and abs(stride) < abs(view.strides[dim])
    ]
    return View(tuple(n for n, _ in closer), tuple(stride for _, stride in closer), 0, view.storage)
