"""CUB's device-wide algorithms, through cuda.compute of the package cuda-cccl, built for the operands' dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gpubench.dtypes import dtype
from gpubench.model import Problem
from gpubench.names import CUB
from gpubench.peers import functions
from gpubench.peers.base import DeviceOperand, Prepared, attempt, library

DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


class CubPeer:
    """What CUB has an algorithm for: scans of one line, sums of everything or of the last dims, plain transforms."""

    name = CUB
    operators = ("cumsum", "sum", "elementwise")

    def load(self) -> None:
        """Import cuda.compute. MissingExtraError without it."""
        self._compute = library("cuda.compute", "cuda-cccl", "cub")
        self._cupy = library("cupy", "cupy", "cuda13")

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why CUB has nothing for the problem."""
        if any(operand.dtype not in DTYPES for operand in problem.operands):
            return "cuda.compute names no operation for complex dtypes"
        if any(not operand.view.is_contiguous or operand.view.size == 0 for operand in problem.operands):
            return "CUB takes operands that lie row by row and have elements"
        params = problem.params
        match problem.case.operator:
            case "cumsum":
                line = params.shape[params.dim] if params.shape else 1
                return None if line == math.prod(params.shape) else "CUB scans one line at a time"
            case "sum":
                kept = len(params.shape) - len(params.dim)
                return None if tuple(params.dim) == tuple(range(kept, len(params.shape))) else "CUB sums the last dims"
            case _:
                return _elementwise_refusal(problem)

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Build the algorithm (cuda.compute keeps it for the next round) and its temporary storage."""
        flat = {name: _Flat(operand) for name, operand in operands.items()}
        wider = self._wider(problem, flat["y"])
        if wider is not None:
            flat["y"] = wider
        run = attempt(self.name, lambda: self._run(problem, flat, _Stream(stream or 0)))
        attempt(self.name, run)
        collect = None if wider is None else lambda: self._round_into(operands["y"], wider, stream or 0)
        return Prepared(run, collect, self._cupy.get_default_memory_pool().free_all_blocks)

    def _wider(self, problem: Problem[Any], y: _Flat) -> Any | None:
        """Return memory for sums that are wider than y: a reduction stores what it adds up in, whatever the dtype of
        the output it is given, and would write beyond a narrower one. None where y takes them as they are.
        """
        accumulator = _accumulator(problem)
        if problem.case.operator != "sum" or accumulator == y.dtype:
            return None
        return self._cupy.empty(y.size, accumulator)

    def _round_into(self, y: DeviceOperand, sums: Any, stream: int) -> None:
        """Copy wider sums into y, rounded once, by way of the host."""
        on_stream = self._cupy.cuda.ExternalStream(stream)
        rounded = sums.get(stream=on_stream).astype(dtype(y.dtype).numpy)
        runtime = self._cupy.cuda.runtime
        runtime.memcpyAsync(y.address, rounded.ctypes.data, rounded.nbytes, runtime.memcpyHostToDevice, stream)
        on_stream.synchronize()

    def _run(self, problem: Problem[Any], flat: Mapping[str, Any], on_stream: _Stream) -> Callable[[], None]:
        """Return what enqueues the algorithm once."""
        import numpy

        plus = self._compute.OpKind.PLUS
        zero = numpy.zeros(1, _accumulator(problem))
        x, y = flat.get("x"), flat["y"]
        match problem.case.operator:
            case "cumsum":
                common = {"d_in": x, "d_out": y, "op": plus, "init_value": zero}
                scan = self._compute.make_inclusive_scan(**common)
                return self._with_storage(scan, {**common, "num_items": y.size}, on_stream)
            case "sum":
                return self._sum(x, y, plus, zero, on_stream)
            case _:
                return self._transform(problem, flat, on_stream)

    def _sum(self, x: Any, y: Any, plus: Any, zero: Any, stream: _Stream) -> Callable[[], None]:
        common = {"d_in": x, "d_out": y, "op": plus, "h_init": zero}
        if y.size == 1:
            return self._with_storage(self._compute.make_reduce_into(**common), {**common, "num_items": x.size}, stream)
        ends = self._cupy.arange(y.size + 1, dtype="int64") * (x.size // y.size)
        common |= {"start_offsets_in": ends[:-1], "end_offsets_in": ends[1:]}
        segmented = self._compute.make_segmented_reduce(**common)
        return self._with_storage(segmented, {**common, "num_segments": y.size}, stream)

    def _with_storage(self, algorithm: Any, arguments: dict[str, Any], stream: _Stream) -> Callable[[], None]:
        """Ask for the size of the temporary storage, allocate it, and return the call with everything in place."""
        size = algorithm(temp_storage=None, stream=stream, **arguments)
        storage = self._cupy.empty(max(int(size), 1), "uint8")
        self._cupy.cuda.get_current_stream().synchronize()

        def run() -> None:
            algorithm(temp_storage=storage, stream=stream, **arguments)

        return run

    def _transform(self, problem: Problem[Any], flat: Mapping[str, Any], stream: _Stream) -> Callable[[], None]:
        names = [operand.name for operand in problem.operands if operand.role == "in"]
        call = functions.call_of(self.name, problem)
        assert call is not None  # `offers` came first
        operation = functions.function_of(self._compute.OpKind, call)  # by name: no compiler of Python is needed
        keys = ("d_in",) if len(names) == 1 else ("d_in1", "d_in2")
        arguments = {**dict(zip(keys, (flat[name] for name in names), strict=True)), "d_out": flat["y"]}
        make = self._compute.make_unary_transform if len(names) == 1 else self._compute.make_binary_transform
        transform = make(**arguments, op=operation)
        count = flat["y"].size

        def run() -> None:
            transform(**arguments, op=operation, num_items=count, stream=stream)

        return run


def _accumulator(problem: Problem[Any]) -> Any:
    """Return the numpy dtype that sums of the problem are added up in."""
    return dtype(dtype(problem.operand("y").dtype).accumulator).numpy


def _elementwise_refusal(problem: Problem[Any]) -> str | None:
    if functions.call_of(CUB, problem) is None:
        return f"cuda.compute names no operation for {problem.params.function}"
    if len({operand.view.size for operand in problem.operands}) > 1:
        return "CUB's transforms do not broadcast"
    if len({operand.dtype for operand in problem.operands}) > 1:
        return "CUB's named operations take operands and a result of one dtype"
    return None


class _Flat:
    """An operand as cuda.compute takes it: one line, with the dtype that numpy and ml_dtypes have for it."""

    def __init__(self, operand: DeviceOperand) -> None:
        self.dtype = dtype(operand.dtype).numpy
        self.size = operand.view.size
        self.shape = (self.size,)
        self._operand = operand  # whose memory it is

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self._operand.address, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "version": 3}


class _Stream:
    """A stream's handle, as cuda.compute asks for it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle
