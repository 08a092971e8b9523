"""The host side of conclusions.cu: what the text on PyTorch's index_add proposes, each beside what it would improve."""

from __future__ import annotations

from gpubench.model import DeviceInfo
from gpubench.operators.base import Variant
from gpubench.operators.geometry.rounding import ceil_div, power_of_two
from gpubench.operators.index_add.pytorch import LIMITS, LargeIndex, SmallIndex
from gpubench.operators.index_add.slices import BLOCKS_PER_SM, MAX_TENSOR_DIMS, SMALL_INDICES, THREADS, Blocks, Slices

SOURCE = "index_add/seeds/conclusions.cu"
SMALL_LIMITS = f"up to {SMALL_INDICES} indices, tensors under 2^31 elements; atomics in the dtype, in any order"


def spread(seen: Slices, device: DeviceInfo) -> tuple[Blocks, Blocks]:
    """Return grid and block that hand out the indices too: x along a slice (a power of two), y over the indices.

    The limit is the original's: 8 blocks of 128 threads an SM, divided by the rows of blocks that the indices need.
    """
    across = min(THREADS, power_of_two(seen.slice))
    down = min(THREADS // across, seen.indices)
    rows = ceil_div(seen.indices, down)
    most = max(1, BLOCKS_PER_SM * device.sm_count // rows)
    return (min(ceil_div(seen.slice, across), most), rows, 1), (across, down, 1)


CONCLUSIONS: tuple[Variant, ...] = (
    SmallIndex(
        "small_index_multiplied",
        "small_index with a multiplication and a subtraction in place of each remainder",
        f"PyTorch indexFuncSmallIndex as the text on it proposes to improve it; {SMALL_LIMITS}",
        (SOURCE, "small_index_multiplied"),
    ),
    LargeIndex(
        "large_index_multiplied",
        "large_index with a multiplication and a subtraction in place of each remainder",
        "PyTorch indexFuncLargeIndex as the text on it proposes to improve it; at most "
        f"{MAX_TENSOR_DIMS} dims after merging; {LIMITS}",
        (SOURCE, "large_index_multiplied"),
    ),
    SmallIndex(
        "small_index_spread",
        "small_index with the indices handed out over block y and grid y",
        f"PyTorch indexFuncSmallIndex in another shape of grid and block, which the text asks for; {SMALL_LIMITS}",
        (SOURCE, "small_index_spread"),
        spread,
    ),
)
"""The text's two proposals as variants."""
