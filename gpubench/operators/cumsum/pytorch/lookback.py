"""The host rules of the one-dimensional scans: lookback_1d.cu and lookback_1d_deterministic.cu of cumsum/seeds/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpubench import dtypes
from gpubench.dtypes import is_exact
from gpubench.model import Argument, DeviceInfo, Launch, Memset, Plan, Pointer, Problem, Refused, Value, Workspace
from gpubench.operators.cumsum.accuracy import bound
from gpubench.operators.cumsum.pytorch.tensors import aligned, cannot_copy, extent, prepare
from gpubench.operators.results import sum_dtype
from gpubench.operators.structs import int64

CHUNK = 2**30
"""Elements of one scan at most: what the original hands to CUB at once."""

THREADS = 128


def items_per_thread(dtype: str) -> int:
    """Return the items of a thread for the output's dtype: CUB's default of 15 four-byte items, 30 at most.

    CUB has better numbers for compute capability 9.0 (24 items of float, for one), but takes them for its own sum
    operator only; PyTorch calls it with the C++ library's, which gets the default.
    """
    return min(30, max(1, 15 * 4 // dtypes.dtype(dtype).itemsize))


DETERMINISTIC_ITEMS = 16
TICKET_BYTES = 256
_WARP = 32


def _not_one_dim(problem: Problem[Any]) -> Refused | None:
    found = extent(problem)
    if found.elements != found.length and found.elements:
        return Refused(f"{found.elements} elements, of which the dim has {found.length}: this scan takes one dim only")
    return cannot_copy(problem)


@dataclass(eq=False, slots=True)
class Lookback1D:
    """One pass with decoupled look-back. `chunk`: elements of one launch; tests make it small."""

    chunk: int = CHUNK
    name: str = "lookback_1d"
    summary: str = "one pass over a 1-D array: tiles in registers, decoupled look-back 32 tiles at a time"
    origin: str = "CUB DeviceScan as PyTorch calls it; one dim, copies x first if strided or cast, chunks of 2^30"

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return a copy where needed, then for each chunk a memset of ticket and tile states, and the scan."""
        if refused := _not_one_dim(problem):
            return refused
        n = extent(problem).elements
        y = problem.operand("y").dtype
        items = items_per_thread(y)
        tile = THREADS * items
        allowed = bound(problem, 2 * items + THREADS // _WARP + 10 + 2 * -(-n // tile))
        if n == 0:
            return Plan(self.name, (), allowed)
        itemsize = _accumulator_bytes(problem)
        chunks = -(-n // self.chunk)
        carries = aligned(chunks * itemsize)
        cleared = aligned(TICKET_BYTES + _state_bytes(y, min(n, self.chunk)))
        copy = prepare(problem, device, carries + cleared)
        steps: list[Launch | Memset] = list(copy.copies)
        for number in range(chunks):
            steps += self._chunk(problem, copy.x, number, min(self.chunk, n - number * self.chunk), carries)
        size = carries + cleared + copy.workspace_bytes
        return Plan(self.name, tuple(steps), allowed, size, repeatable=is_exact(problem.case.dtype))

    def _chunk(
        self, problem: Problem[Any], x: Pointer | Workspace, number: int, n: int, carries: int
    ) -> tuple[Memset, Launch]:
        """Return the memset and the scan of one chunk. Workspace: carries, then ticket, then tile states, then x."""
        y = problem.operand("y")
        itemsize = _accumulator_bytes(problem)
        start = number * self.chunk * dtypes.dtype(y.dtype).itemsize
        blocks = -(-n // (THREADS * items_per_thread(y.dtype)))
        carry_in: Argument = Workspace((number - 1) * itemsize) if number else Value(bytes(8))
        launch = Launch(
            "cumsum/seeds/lookback_1d.cu",
            _lookback(y.dtype),
            (blocks, 1, 1),
            (THREADS, 1, 1),
            (
                moved(x, start),
                Pointer("y", start),
                int64(n),
                Workspace(carries),
                Workspace(carries + TICKET_BYTES),
                carry_in,
                Workspace(number * itemsize),
            ),
            waits_for_blocks=True,
        )
        return Memset(Workspace(carries), TICKET_BYTES + _state_bytes(y.dtype, n)), launch

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Return the one instance; integers are scanned as int64."""
        return (("cumsum/seeds/lookback_1d.cu", _lookback(sum_dtype(dtype))),)


def _lookback(dtype: str) -> str:
    """Return the name expression for the output's dtype."""
    return f"gpubench::cumsum::lookback_1d<{dtypes.dtype(dtype).cpp}, {THREADS}, {items_per_thread(dtype)}>"


def _accumulator_bytes(problem: Problem[Any]) -> int:
    return dtypes.dtype(dtypes.dtype(problem.operand("y").dtype).accumulator).itemsize


def _state_bytes(dtype: str, n: int) -> int:
    """Return the bytes of the tile states of n elements (`gpubench::TileStates`), packed for plain numbers only."""
    tiles = -(-n // (THREADS * items_per_thread(dtype)))
    row = dtypes.dtype(dtype)
    size = dtypes.dtype(row.accumulator).itemsize
    packed = dtype in ("int64", "float32", "float64")
    return tiles * (2 * size if packed else 2 * size + 4)


def moved(x: Pointer | Workspace, nbytes: int) -> Pointer | Workspace:
    """Return the argument so many bytes further on."""
    if isinstance(x, Pointer):
        return Pointer(x.operand, x.byte_offset + nbytes)
    return Workspace(x.byte_offset + nbytes)


@dataclass(eq=False, slots=True)
class Lookback1DDeterministic:
    """Block sums, then a scan that starts from them: the same bits from run to run."""

    name: str = "lookback_1d_deterministic"
    summary: str = "two passes over a 1-D array of floats: block sums, then scans; the same bits each run"
    origin: str = (
        "PyTorch's inclusive_deterministic_scan; one dim, floats and complex, copies x first if strided, two SMs at "
        "most for each thread of a block"
    )

    def plan(self, problem: Problem[Any], device: DeviceInfo) -> Plan | Refused:
        """Return a copy where needed, then the two launches."""
        n = extent(problem).elements
        y = problem.operand("y").dtype
        if dtypes.dtype(y).kind == "integer":
            return Refused("integer sums are the same in any order; the original takes this path for floats only")
        if device.sm_count > 2 * _threads(y):
            return Refused(f"{device.sm_count} SMs are more than the {2 * _threads(y)} block sums that a block adds up")
        if refused := _not_one_dim(problem):
            return refused
        tile = _threads(y) * DETERMINISTIC_ITEMS
        tiles = -(-n // tile)
        tiles_per_block = max(1, -(-tiles // device.sm_count))
        allowed = bound(problem, 2 * DETERMINISTIC_ITEMS + _threads(y) // _WARP + 12 + 2 * tiles_per_block)
        if n == 0:
            return Plan(self.name, (), allowed)
        grid = min(tiles, device.sm_count)
        sums = aligned(grid * _accumulator_bytes(problem))
        copy = prepare(problem, device, sums)
        numbers = (int64(n), int64(tiles_per_block))
        launches = tuple(
            Launch("cumsum/seeds/lookback_1d_deterministic.cu", kernel, (grid, 1, 1), (_threads(y), 1, 1), arguments)
            for (_, kernel), arguments in zip(
                self.instances(y),
                ((copy.x, Workspace(0), *numbers), (copy.x, Pointer("y"), Workspace(0), *numbers)),
                strict=True,
            )
        )
        return Plan(self.name, (*copy.copies, *launches), allowed, sums + copy.workspace_bytes)

    def instances(self, dtype: str) -> Sequence[tuple[str, str]]:
        """Both kernels of a float or complex dtype."""
        row = dtypes.dtype(dtype)
        if row.kind == "integer":
            return ()
        types = f"<{row.cpp}, {_threads(dtype)}, {DETERMINISTIC_ITEMS}>"
        source = "cumsum/seeds/lookback_1d_deterministic.cu"
        return tuple((source, f"gpubench::cumsum::{kernel}{types}") for kernel in ("block_sums", "scan_after_sums"))


def _threads(dtype: str) -> int:
    """Return the threads of a block by the element's size."""
    size = dtypes.dtype(dtype).itemsize
    return 128 if size >= 16 else 256 if size >= 8 else 512
