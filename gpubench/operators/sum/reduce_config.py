"""The host side of reduce_sum/seeds/reduce_config.cu: PyTorch's reduction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import (
    Accuracy,
    Argument,
    DeviceInfo,
    Json,
    Launch,
    Memset,
    Plan,
    Pointer,
    Problem,
    Refused,
    Value,
    Workspace,
)
from gpubench.operators.choosing import Dispatch
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import MAX_ITERATOR_DIMS, int64, offset_calculator
from gpubench.operators.sum.iterator import Dim, ReduceIterator, reduce_iterator
from gpubench.operators.sum.reduce_rule import (
    ACCUMULATORS,
    Element,
    ReduceConfig,
    ShapeBlock,
    configure,
    height_first,
    width_first,
)

SOURCE = "reduce_sum/seeds/reduce_config.cu"
MOST_PARTS = 4096
ALIGNMENT = 256
"""Bytes to which the parts of the workspace are aligned, as an allocator would."""


@dataclass(eq=False, slots=True)
class ReduceConfigured:
    """Takes every shape, dtype and layout. `shape_block`: the order in which a block grows."""

    name: str = "reduce_config"
    summary: str = "block shaped by the tensor: x on the fastest dim, vectors, terms split over lanes, warps and blocks"
    origin: str = (
        "PyTorch 2.6 Reduce.cuh; at most 25 dims after merging, 32-bit offsets (several launches beyond), a memset "
        "before splits over blocks"
    )
    shape_block: ShapeBlock = height_first

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """One launch for each part that 32 bits reach, each after a memset of semaphores where blocks share outputs.

        A sum of nothing is a memset of y. Refuses more dims than the offset calculator holds, and
        more than 4096 launches.
        """
        x, y = problem.operand("x"), problem.operand("y")
        accumulator = dtypes.dtype(y.dtype).accumulator
        y_bytes = y.view.size * dtypes.dtype(y.dtype).itemsize
        if x.view.size == 0:
            steps = (Memset(Pointer("y"), y_bytes),) if y_bytes else ()
            return Plan(self.name, steps, Accuracy(1, accumulator))
        whole = reduce_iterator(problem)
        if len(whole.dims) > MAX_ITERATOR_DIMS:
            return Refused(f"{len(whole.dims)} dims are left after merging; {MAX_ITERATOR_DIMS} are the most")
        parts = list(itertools.islice(whole.parts(), MOST_PARTS + 1))
        if len(parts) > MOST_PARTS:
            return Refused(f"more than {MOST_PARTS} launches of what 32 bits reach")
        configs = [configure(part, _element(problem, part), device, self.shape_block) for part in parts]
        room = _Room(problem, parts, configs)
        launches: list[Launch | Memset] = []
        for part, config in zip(parts, configs, strict=True):
            if config.semaphore_bytes:
                launches.append(Memset(Workspace(room.semaphores), config.semaphore_bytes))
            launches.append(_launch(problem, part, config, room))
        accuracy = Accuracy(sum(map(longest_path, configs)), accumulator)
        return Plan(self.name, tuple(launches), accuracy, room.size, notes=_notes(parts, configs))

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One instance for each output vector."""
        return tuple((SOURCE, kernel(dtype, sum_dtype(dtype), vector)) for vector in (1, 2, 4))


def kernel(x: str, y: str, vector: int) -> str:
    """Return the name expression for these dtypes and so many outputs a thread."""
    return f"gpubench::sum::reduce_config<{dtypes.dtype(x).cpp}, {dtypes.dtype(y).cpp}, {vector}>"


def longest_path(config: ReduceConfig) -> int:
    """Return the additions between a term and its output: in the thread, its accumulators, rows, lanes and blocks."""
    lanes = int(math.log2(config.width)) if config.input_mult[0] else 0
    rows = int(math.log2(config.height)) if config.input_mult[1] else 0
    path = -(-config.values_per_thread // ACCUMULATORS) + ACCUMULATORS + lanes + rows + 1
    if config.input_mult[2]:
        workers = config.threads if config.input_mult[0] else config.height
        path += -(-config.blocks_per_output // workers) + lanes + rows
    return path


class _Room:
    """The workspace: totals of blocks that share outputs, their semaphores, sums of 16-bit outputs between parts."""

    def __init__(self, problem: Problem[Any], parts: Sequence[ReduceIterator], configs: Sequence[ReduceConfig]) -> None:
        y = problem.operand("y")
        row = dtypes.dtype(y.dtype)
        self.accumulator_bytes = dtypes.dtype(row.accumulator).itemsize
        self.buffered = len(parts) > 1 and row.accumulator != row.name
        staging = max(config.staging_bytes for config in configs)
        self.staging = 0
        self.semaphores = _aligned(staging)
        self.partial = _aligned(self.semaphores + max(config.semaphore_bytes for config in configs))
        self.size = self.partial + (y.view.size * self.accumulator_bytes if self.buffered else 0)


def _launch(problem: Problem[Any], part: ReduceIterator, config: ReduceConfig, room: _Room) -> Launch:
    x, y = problem.operand("x"), problem.operand("y")
    kept = part.dims[part.reduced :]
    terms = part.dims[: part.reduced]
    nothing = int64(0)  # a null pointer
    partial: Argument = nothing
    if room.buffered:
        partial = Workspace(room.partial + part.y_offset // dtypes.dtype(y.dtype).itemsize * room.accumulator_bytes)
    shares = config.input_mult[2] != 0
    arguments: tuple[Argument, ...] = (
        Pointer("x", part.x_offset),
        Pointer("y", part.y_offset),
        partial,
        Workspace(room.staging) if shares else nothing,
        Workspace(room.semaphores) if shares else nothing,
        config.pack(part),
        _calculator(terms, "x"),
        _calculator(kept, "y", "x"),
    )
    name = kernel(x.dtype, y.dtype, config.output_vector)
    return Launch(SOURCE, name, config.grid, (config.width, config.height, 1), arguments, config.shared_bytes)


def _calculator(dims: Sequence[Dim], *operands: str) -> Value:
    """Return the dims' calculator. One index of a dim is not walked, for its step may be more than 32 bits hold."""
    steps = ([getattr(dim, name) if dim.size > 1 else 0 for dim in dims] for name in operands)
    return offset_calculator([dim.size for dim in dims], *steps)


def _element(problem: Problem[Any], part: ReduceIterator) -> Element:
    x, y = problem.operand("x"), problem.operand("y")
    item = dtypes.dtype(x.dtype).itemsize
    accumulator = dtypes.dtype(dtypes.dtype(y.dtype).accumulator).itemsize
    return Element(item, accumulator, x.view.offset * item + part.x_offset)


def _notes(parts: Sequence[ReduceIterator], configs: Sequence[ReduceConfig]) -> dict[str, Json]:
    """Return the first part's dims and configuration, and how many parts there are."""
    dims = parts[0].dims
    return {
        "iterator": {
            "sizes": [dim.size for dim in dims],
            "x_stride_bytes": [dim.x for dim in dims],
            "y_stride_bytes": [dim.y for dim in dims],
            "reduced_dims": parts[0].reduced,
        },
        "config": configs[0].to_json(),
        "parts": len(parts),
    }


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


WIDTH_FIRST = ReduceConfigured(
    "reduce_config_width_first",
    "reduce_config with a block that grows along x before y, to measure the original's order",
    "a probe of PyTorch 2.6 Reduce.cuh; limits of reduce_config",
    width_first,
)
_REDUCE_CONFIG = ReduceConfigured()
AUTO_PYTORCH = Dispatch(
    "auto_pytorch",
    "PyTorch's dispatch: reduce_config for whatever has terms",
    "PyTorch 2.6 sum_kernel_cuda; limits of reduce_config; integers are converted as they are loaded",
    (_REDUCE_CONFIG,),
    lambda _: _REDUCE_CONFIG,
)
