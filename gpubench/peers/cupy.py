"""CuPy, with the CUB-backed functions that it takes by itself: numpy's API on our buffers and our stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpubench.model import Problem
from gpubench.names import CUPY
from gpubench.peers import functions
from gpubench.peers.base import DeviceOperand, Prepared, attempt, library


def cupy_stream(cupy: Any, stream: int | None) -> Any:
    """Return a stream's handle as CuPy's stream; None is the default one."""
    return cupy.cuda.Stream.null if stream is None else cupy.cuda.ExternalStream(stream)


class CupyPeer:
    """cumsum, sum, index_add (cupyx.scatter_add) and the elementwise functions that are a single call. No bfloat16."""

    name = CUPY
    operators = ("cumsum", "sum", "elementwise", "index_add")

    def load(self) -> None:
        """Import CuPy. MissingExtraError without it."""
        self._cupy = library("cupy", "cupy", "cuda13")

    def offers(self, problem: Problem[Any]) -> str | None:
        """Return why CuPy has nothing for the problem."""
        if any(operand.dtype == "bfloat16" for operand in problem.operands):
            return "CuPy has no bfloat16"
        params = problem.params
        if problem.case.operator == "elementwise":
            return functions.refusal(self.name, problem)
        if problem.case.operator == "index_add" and params.alpha != 1:
            return "cupyx.scatter_add has no factor"
        return None

    def prepare(self, problem: Problem[Any], operands: Mapping[str, DeviceOperand], stream: int | None) -> Prepared:
        """Bind the call."""
        cupy = self._cupy
        on_stream = cupy_stream(cupy, stream)
        given = {name: self._array(operand) for name, operand in operands.items()}
        call = self._call(problem, given)

        def run() -> None:
            with on_stream:
                call()

        attempt(self.name, run)
        return Prepared(run, close=cupy.get_default_memory_pool().free_all_blocks)

    def _array(self, operand: DeviceOperand) -> Any:
        cupy = self._cupy
        interface = operand.__cuda_array_interface__
        memory = cupy.cuda.UnownedMemory(operand.address, max(operand.view.storage, 1) * 16, operand)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        return cupy.ndarray(interface["shape"], interface["typestr"], pointer, strides=interface["strides"])

    def _call(self, problem: Problem[Any], given: Mapping[str, Any]) -> Callable[[], Any]:
        cupy, params = self._cupy, problem.params
        match problem.case.operator:
            case "cumsum":
                x, y = given["x"], given["y"]
                axis = params.dim if len(params.shape) > 1 else None  # CUB scans only where no axis is named
                return lambda: cupy.cumsum(x, axis=axis, dtype=y.dtype, out=_flat(y))
            case "sum":
                x, y = given["x"], given["y"]
                return lambda: cupy.sum(x, axis=tuple(params.dim), dtype=y.dtype, out=y, keepdims=params.keepdim)
            case "index_add":
                scatter_add = library("cupyx", "cupy", "cuda13").scatter_add
                destination = given["destination"].reshape(1) if params.shape == () else given["destination"]
                place = (*(slice(None),) * params.dim, given["index"])
                return lambda: scatter_add(destination, place, given["source"])
            case _:
                return self._elementwise(problem, given)

    def _elementwise(self, problem: Problem[Any], given: Mapping[str, Any]) -> Callable[[], Any]:
        cupy, y = self._cupy, given["y"]
        operands = [given[operand.name] for operand in problem.operands if operand.role == "in"]

        def store(value: Any) -> None:
            cupy.copyto(y, value, casting="unsafe")

        if problem.params.function == "copy":  # which casts, too
            return lambda: store(operands[0])
        call = functions.call_of(self.name, problem)
        assert call is not None  # `offers` came first
        masks = functions.masks_of(problem)
        operands[:masks] = [mask.view(cupy.bool_) for mask in operands[:masks]]
        after, keywords = call.arguments(problem.params.scalars)
        arguments = (*operands, *map(operands[-1].dtype.type, after))
        function = functions.function_of(cupy, call)
        if call.out and cupy.can_cast(cupy.result_type(*operands), y.dtype, "same_kind"):
            return lambda: function(*arguments, **keywords, out=y)
        return lambda: store(function(*arguments, **keywords))


def _flat(y: Any) -> Any:
    """Return a scalar's array as cumsum, which gives a scalar one dim, can write into it."""
    return y.reshape(1) if y.ndim == 0 else y
