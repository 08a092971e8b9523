"""The launch shape of grid-stride kernels, names of instances, and arguments made from views."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench import dtypes
from gpubench.model import DeviceInfo, Refused, Value
from gpubench.operators.coalesce import coalesce
from gpubench.operators.structs import MAX_DIMS, strided

BLOCK_THREADS = 256
BLOCKS_PER_SM = 32


def grid_stride(work: int, device: DeviceInfo, threads: int = BLOCK_THREADS) -> tuple[int, int, int]:
    """Return the grid of a grid-stride loop over `work` items: enough blocks, at most 32 an SM, at least one."""
    return (max(1, min(-(-work // threads), BLOCKS_PER_SM * device.sm_count)), 1, 1)


def template(x: str, y: str, *numbers: object) -> str:
    """Return the template arguments of a kernel: the two types, then numbers."""
    values = [dtypes.dtype(x).cpp, dtypes.dtype(y).cpp, *(str(number).lower() for number in numbers)]
    return "<" + ", ".join(values) + ">"


def walk(shape: Sequence[int], strides: Sequence[int]) -> Value:
    """Pack the coalesced `gpubench::Strided` of one operand."""
    sizes, (steps,) = coalesce(shape, strides)
    return strided(sizes, steps)


def too_many_dims(*operands: tuple[Sequence[int], Sequence[int]]) -> Refused | None:
    """Refuse (shape, strides) that a kernel cannot walk; None when each has at most 8 dims after merging."""
    for shape, strides in operands:
        left = len(coalesce(shape, strides)[0])
        if left > MAX_DIMS:
            return Refused(f"{left} dims are left after merging neighbours; the kernel walks at most {MAX_DIMS}")
    return None
