"""The host rules of cumsum/seeds/sklansky_rows.cu and cumsum/seeds/serial_columns.cu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.model import DeviceInfo, Launch, Plan, Pointer, Problem, Refused, Value
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.pytorch.tensors import cannot_copy, cpp, extent, is_last, prepare
from gpubench.operators.cumsum.pytorch.thread_ratio import FEWEST, MOST, log_threads_x, log_threads_x_unsigned
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int32, int64

THREADS = 512
LARGEST_GRID_X = 2**31 - 1
LARGEST_GRID_Y = 65535
LARGEST_UNSIGNED = 2**32 - 1
SHORT_INDEX_ELEMENTS = 2**31
"""From so many elements on, sklansky_rows counts in 64 bits."""


@dataclass(eq=False, slots=True)
class SklanskyRows:
    """Rows by Sklansky's scan in shared memory. `log_threads`: (rows, length) -> log2 of the threads along a row."""

    name: str = "sklansky_rows"
    summary: str = "last dim: 512 threads as x by y, two values a thread a step, Sklansky sweeps in shared memory"
    origin: str = (
        "PyTorch's tensor_kernel_scan_innermost_dim; copies x first if strided or cast; under 2^32 rows and values"
    )
    log_threads: Callable[[int, int], int] = log_threads_x

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return a copy where needed, then one launch. Refuses what the original refuses."""
        found = extent(problem)
        if not is_last(problem):
            return Refused("the summed dim is not the last; `serial_columns` is for that")
        if max(found.outer, found.length) > LARGEST_UNSIGNED:
            return Refused(f"rows and their length must be under 2^32, found {found.outer} x {found.length}")
        if refused := cannot_copy(problem):
            return refused
        log_x = self.log_threads(found.outer, found.length)
        across = 1 << log_x
        allowed = bound(problem, -(-found.length // (2 * across)) * (log_x + 2))
        if found.elements == 0:
            return Plan(self.name, (), allowed)
        copy = prepare(problem, device)
        down = THREADS // across
        index = "unsigned int" if found.elements < SHORT_INDEX_ELEMENTS else "unsigned long long"
        launch = Launch(
            "cumsum/seeds/sklansky_rows.cu",
            _sklansky(cpp(problem), index),
            (min(LARGEST_GRID_X, -(-found.outer // down)), 1, 1),
            (across, down, 1),
            (copy.x, Pointer("y"), _index(found.outer, index), _index(found.length, index), int32(log_x)),
            shared_bytes=2 * THREADS * _accumulator_bytes(problem),
        )
        notes = {"threads_x": across, "threads_y": down, "index": index}
        return Plan(self.name, (*copy.copies, launch), allowed, copy.workspace_bytes, notes=notes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Both index widths; integers are summed as int64."""
        name = dtypes.dtype(sum_dtype(dtype)).cpp
        source = "cumsum/seeds/sklansky_rows.cu"
        return tuple((source, _sklansky(name, index)) for index in ("unsigned int", "unsigned long long"))


def _sklansky(name: str, index: str) -> str:
    return f"gpubench::cumsum::sklansky_rows<{name}, {index}>"


def _index(value: int, index: str) -> Value:
    return int64(value) if index == "unsigned long long" else Value(value.to_bytes(4, "little"))


def _accumulator_bytes(problem: Problem[Any]) -> int:
    return dtypes.dtype(dtypes.dtype(problem.operand("y").dtype).accumulator).itemsize


@dataclass(eq=False, slots=True)
class SerialColumns:
    """Any dim but the last: one thread walks one column."""

    name: str = "serial_columns"
    summary: str = "any dim but the last: one thread walks one column, neighbouring threads neighbouring columns"
    origin: str = "PyTorch's tensor_kernel_scan_outer_dim; copies x first if strided or cast; under 2^32 in each part"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return a copy where needed, then one launch. Refuses what the original refuses."""
        found = extent(problem)
        if is_last(problem):
            return Refused("the summed dim is the last; `sklansky_rows` and `lookback_1d` are for that")
        if max(found.outer, found.length, found.inner) > LARGEST_UNSIGNED:
            return Refused(f"all parts must be under 2^32, found {found.outer} x {found.length} x {found.inner}")
        if refused := cannot_copy(problem):
            return refused
        allowed = bound(problem, found.length)
        if found.elements == 0:
            return Plan(self.name, (), allowed)
        copy = prepare(problem, device)
        threads = min(THREADS, found.inner)
        launch = Launch(
            "cumsum/seeds/serial_columns.cu",
            f"gpubench::cumsum::serial_columns<{cpp(problem)}>",
            (min(LARGEST_GRID_Y, found.outer), min(LARGEST_GRID_Y, -(-found.inner // threads)), 1),
            (threads, 1, 1),
            (copy.x, Pointer("y"), int64(found.outer), int64(found.length), int64(found.inner)),
        )
        return Plan(self.name, (*copy.copies, launch), allowed, copy.workspace_bytes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """One; integers are summed as int64."""
        name = dtypes.dtype(sum_dtype(dtype)).cpp
        return (("cumsum/seeds/serial_columns.cu", f"gpubench::cumsum::serial_columns<{name}>"),)


SKLANSKY_UNSIGNED = SklanskyRows(
    "sklansky_rows_unsigned",
    "sklansky_rows with the thread rule in unsigned arithmetic: it wraps where rows outnumber values 2^9 times",
    "PyTorch's get_log_num_threads_x_inner_scan as written; limits of sklansky_rows; to measure what the wrap costs",
    log_threads_x_unsigned,
)


def _fixed_x(log_threads: int) -> SklanskyRows:
    across = 1 << log_threads
    return SklanskyRows(
        f"sklansky_rows_x{across}",
        f"sklansky_rows with {across} threads along every row, to measure the block's shape",
        "a probe of PyTorch's tensor_kernel_scan_innermost_dim; limits of sklansky_rows",
        lambda _rows, _length: log_threads,
    )


SKLANSKY_FIXED = tuple(_fixed_x(log_threads) for log_threads in range(FEWEST, MOST + 1))
"""16, 32 ... 512 threads along a row."""
